// The kernels on a GPU: words a second, what they compute and move for a word, and the share of the
// device's ceilings, measured in the same run, that this is. With --evaluate FOLDER the scores of
// the same vectors beside it. Returns 77 where there is no device.
#define WORDLOOM_CUDA_ROW_SIZES 4, 10  // to 128, to 320
#include <wordloom/cuda.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>
#include <vector>
#include <wordloom/wordloom.hpp>

#include "support/arguments.hpp"
#include "support/demo_text.hpp"
#include "support/training.hpp"

using namespace wordloom;

namespace {

/// A time measured on the device, seconds.
template <class Launch>
double device_seconds(Launch launch) {
  cudaEvent_t start, stop;
  cuda::check(cudaEventCreate(&start));
  cuda::check(cudaEventCreate(&stop));
  launch();  // warm
  cuda::check(cudaEventRecord(start));
  launch();
  cuda::check(cudaGetLastError());
  cuda::check(cudaEventRecord(stop));
  cuda::check(cudaEventSynchronize(stop));
  float milliseconds = 0;
  cuda::check(cudaEventElapsedTime(&milliseconds, start, stop));
  cuda::check(cudaEventDestroy(start));
  cuda::check(cudaEventDestroy(stop));
  return static_cast<double>(milliseconds) / 1000;
}

__global__ void read_all(const float4* data, std::size_t size, int times, float* sink) {
  float sum = 0;
  for (int t = 0; t < times; ++t)
    for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < size;
         i += std::size_t{gridDim.x} * blockDim.x) {
      const float4 v = __ldcg(data + i);
      sum += v.x + v.y + v.z + v.w;
    }
  if (sum == 1) *sink = sum;  // so that no read is optimised away
}

/// Adds to rows of 128 floats as training does.
__global__ void add_to_rows(float* rows, std::size_t count, int times) {
  const cuda::WarpTeam team(nullptr);
  const float change[4] = {1, 1, 1, 1};
  const std::size_t warps = std::size_t{gridDim.x} * blockDim.x / 32;
  for (int t = 0; t < times; ++t)
    for (std::size_t i = (blockIdx.x * blockDim.x + threadIdx.x) / 32; i < count; i += warps)
      team.add(rows + i * 128, change);
}

__global__ void multiply_add(int times, float factor, float* sink) {
  float sums[16];
  for (int i = 0; i < 16; ++i) sums[i] = static_cast<float>(threadIdx.x + static_cast<unsigned>(i));
  for (int t = 0; t < times; ++t)
#pragma unroll
    for (int i = 0; i < 16; ++i) sums[i] = sums[i] * factor + factor;
  float sum = 0;
  for (int i = 0; i < 16; ++i) sum += sums[i];
  if (sum == 1) *sink = sum;
}

/// The ceilings of the device, a second.
struct Ceilings {
  double memory, second_cache;  // bytes that are read
  double additions;             // bytes that are added to, in the second-level cache
  double operations;            // of fp32

  explicit Ceilings(const cudaDeviceProp& device) {
    const auto grid = static_cast<unsigned>(8 * device.multiProcessorCount);
    cuda::DeviceArray<float> sink(1);
    const auto bandwidth = [&](std::size_t bytes, int times) {
      cuda::DeviceArray<float4> data(bytes / sizeof(float4));
      cuda::check(cudaMemset(data.data(), 0, bytes));
      return static_cast<double>(bytes) * times / device_seconds([&] {
               read_all<<<grid, 256>>>(data.data(), data.size(), times, sink.data());
             });
    };
    memory = bandwidth(std::size_t{2} << 30, 2);
    second_cache = bandwidth(static_cast<std::size_t>(device.l2CacheSize) / 4, 200);
    const auto rows = static_cast<std::size_t>(device.l2CacheSize) / 4 / 512;
    cuda::DeviceArray<float> added(rows * 128);
    cuda::check(cudaMemset(added.data(), 0, rows * 512));
    additions = static_cast<double>(rows) * 512 * 200 /
                device_seconds([&] { add_to_rows<<<grid, 256>>>(added.data(), rows, 200); });
    constexpr int times = 20'000;
    operations = 2.0 * 16 * times * grid * 256 /
                 device_seconds([&] { multiply_add<<<grid, 256>>>(times, 0.999f, sink.data()); });
  }
};

/// The mean work of a word that subsampling keeps: a pair takes D multiply-adds for its score and 2
/// D for its updates.
struct Work {
  double operations, bytes;
};

struct Means {
  double row, context, negatives, minibatch, shared;
};

/// Every row is read from the model and added to it for each pair.
struct PairWork {
  static Work of(const Means& m) {
    const double pairs = m.context * (m.negatives + 1);
    return {6 * m.row * pairs, 8 * m.row * (pairs + m.context)};
  }
};
struct RegisterWork {
  static Work of(const Means& m) {
    const double pairs = m.context * (m.negatives + 1);
    return {6 * m.row * pairs, 8 * m.row * (pairs + m.negatives + 1)};
  }
};
struct RingWork {
  static Work of(const Means& m) {
    const double pairs = m.context * (m.negatives + 1);
    return {6 * m.row * pairs, 8 * m.row * (m.negatives + 2)};
  }
};
struct GemmWork {
  static Work of(const Means& m) {
    const double inputs = std::min<double>(m.minibatch, cuda::GemmTileShape::inputs);
    const double output_tiles = std::ceil(m.shared / cuda::GemmTileShape::outputs);
    return {6 * m.row * (m.context + m.shared),
            8 * m.row * (m.context + 1 + output_tiles + m.shared / inputs)};
  }
};

struct Input : TrainingInput {
  Ceilings ceilings;
};

/// The share of the corpus that subsampling keeps.
double kept_share(const Vocabulary& vocabulary, double threshold) {
  const detail::Subsampling subsampling(vocabulary, threshold);
  double kept = 0;
  for (std::size_t i = 0; i < vocabulary.size(); ++i)
    kept += static_cast<double>(vocabulary.counts()[i]) *
            subsampling.keep_probability(static_cast<WordId>(i));
  return kept / static_cast<double>(vocabulary.total_count());
}

template <class Sampler, class Kernel, class WorkOf>
void add(const char* name, const Input& input, const Hyperparameters& parameters) {
  const auto run = [&input, parameters](benchmark::State& state) {
    const double speed = measure_training<Trainer<Sampler, Kernel>>(state, input, parameters);
    const auto sampler = Sampler::from(parameters);
    const auto sampling = cuda::sampling_of(sampler);
    const Work work =
        WorkOf::of({static_cast<double>(parameters.dimension),
                    static_cast<double>(sampler.window.mean_context()),
                    static_cast<double>(sampling.per_window),
                    static_cast<double>(sampling.minibatch), static_cast<double>(sampling.shared)});
    const double kept = speed * kept_share(input.vocabulary, parameters.subsample);
    state.counters["kept_per_second"] = kept;
    state.counters["bytes_of_kept"] = work.bytes;
    state.counters["operations_of_kept"] = work.operations;
    state.counters["of_memory"] = kept * work.bytes / input.ceilings.memory;
    state.counters["of_second_cache"] = kept * work.bytes / input.ceilings.second_cache;
    // Half of the bytes are added to.
    state.counters["of_additions"] = kept * work.bytes / 2 / input.ceilings.additions;
    state.counters["of_operations"] = kept * work.operations / input.ceilings.operations;
  };
  const std::string row = std::string(name) + "/D:" + std::to_string(parameters.dimension);
  benchmark::RegisterBenchmark(row.c_str(), run)->UseManualTime()->Unit(benchmark::kMillisecond);
}

void add_all(const Input& input, const Hyperparameters& parameters) {
  add<Hogwild, CudaSentenceKernel, PairWork>("hogwild+cuda-sentence", input, parameters);
  const Hyperparameters fixed = with_fixed_window(parameters);
  add<Hogwild, CudaSentenceKernel, PairWork>("hogwild-fixed+cuda-sentence", input, fixed);
  add<Hogwild, CudaWordKernel, PairWork>("hogwild-fixed+cuda-word", input, fixed);
  add<SharedNegative, CudaRegisterKernel, RegisterWork>("shared-fixed+cuda-register", input, fixed);
  add<SharedNegative, CudaRingBufferKernel, RingWork>("shared+cuda-ring", input, parameters);
  add<SharedNegative, CudaRingBufferKernel, RingWork>("shared-fixed+cuda-ring", input, fixed);
  add<SentenceMinibatch, CudaGemmKernel, GemmWork>("minibatch+cuda-gemm", input, parameters);
  add<SharedNegative, CudaWarpKernel, RingWork>("shared+cuda-warp", input, parameters);
  add<SharedNegative, CudaWarpKernel, RingWork>("shared-fixed+cuda-warp", input, fixed);
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("Training speed on a GPU");
  std::string corpus, gold;
  std::vector<std::size_t> dimensions{128};
  Hyperparameters parameters{.subsample = 1e-4, .epochs = 1};
  app.add_option("--corpus", corpus, "Text to train on; default: the demo corpus");
  app.add_option("--dimension", dimensions, "Dimensions, several allowed");
  app.add_option("--epochs", parameters.epochs, "Epochs");
  app.add_option("--sample", parameters.subsample, "Subsampling threshold");
  app.add_option("--in-flight", parameters.sentences_in_flight, "Sentences at a time, 0 = default");
  app.add_option("--device", parameters.device, "Which GPU");
  app.add_option("--evaluate", gold,
                 "Folder with similarity/ and analogy/ to score the vectors on");
  try {
    parse_arguments(app, argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  }
  parameters.validate();
  cudaDeviceProp device;
  try {
    device = cuda::use_device(static_cast<int>(parameters.device));
  } catch (const DeviceError& error) {
    std::cout << "skipped: " << error.what() << '\n';
    return 77;
  }
  const BenchmarkText text(corpus, 200'000);
  const auto vocabulary = Vocabulary::from_text(text.path());
  const Input input{{vocabulary, EncodedCorpus::from_text(text.path(), vocabulary), gold},
                    Ceilings(device)};
  benchmark::AddCustomContext("device", device.name);
  benchmark::AddCustomContext("tokens", std::to_string(input.corpus.token_count()));
  benchmark::AddCustomContext("memory_bytes_per_second", std::to_string(input.ceilings.memory));
  benchmark::AddCustomContext("second_cache_bytes_per_second",
                              std::to_string(input.ceilings.second_cache));
  benchmark::AddCustomContext("added_bytes_per_second", std::to_string(input.ceilings.additions));
  benchmark::AddCustomContext("operations_per_second", std::to_string(input.ceilings.operations));
  for (const std::size_t dimension : dimensions) {
    parameters.dimension = dimension;
    parameters.validate();
    add_all(input, parameters);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
} catch (const std::exception& error) {
  std::cerr << "bench_cuda: " << error.what() << '\n';
  return 1;
}
