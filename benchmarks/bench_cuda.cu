// The kernels on a GPU: words a second, what they compute and move for a word, and the share of the
// device's ceilings, measured in the same run, that this is. With --evaluate FOLDER the scores of
// the same vectors beside it. Returns 77 where there is no device.
#define WORDLOOM_CUDA_ROW_SIZES 4, 10  // to 128, to 320
#include <wordloom/cuda_vanilla.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <vector>
#include <wordloom/wordloom.hpp>

#include "support/arguments.hpp"
#include "support/demo_text.hpp"
#include "support/device_speed.cuh"
#include "support/training.hpp"

namespace wordloom { namespace {

/// The ceilings of the device, a second.
struct Ceilings {
  double memory, second_cache;  // bytes that are read
  double additions;        // bytes of rows at random that are added to, in the second-level cache
  double drawn_additions;  // if the rows are drawn as negatives are, so that some are hot
  double operations;       // of fp32

  explicit Ceilings(const cudaDeviceProp& device) {
    using namespace device_speed;
    const auto grid = static_cast<std::size_t>(8 * device.multiProcessorCount);
    const Zeros<float> sink(1);
    const auto bandwidth = [&](std::size_t bytes, int times) {
      const Zeros<float4> data(bytes / sizeof(float4));
      return static_cast<double>(bytes) * times / seconds_of([&] {
               launch(read_all, grid, 256, 0, nullptr, data.data(), data.size(), times,
                      sink.data());
             });
    };
    memory = bandwidth(std::size_t{2} << 30, 2);
    second_cache = bandwidth(static_cast<std::size_t>(device.l2CacheSize) / 4, 200);
    const auto rows = static_cast<std::size_t>(device.l2CacheSize) / 4 / (4 * row);
    const auto rate_of_additions = [&](double power) {
      const auto ids = draw_rows(rows, std::size_t{6} << 19, power);
      const Zeros<std::uint32_t> on_device(ids.size());
      cuda::check(cudaMemcpy(on_device.data(), ids.data(), 4 * ids.size(), cudaMemcpyHostToDevice));
      const Zeros<float> table(rows * row);
      return static_cast<double>(ids.size()) * 4 * row / seconds_of([&] {
               launch(rows_at_random<RowWork::add>, grid, 256, 0, nullptr, table.data(),
                      on_device.data(), static_cast<std::uint32_t>(ids.size()), sink.data());
             });
    };
    additions = rate_of_additions(0);
    drawn_additions = rate_of_additions(0.75);
    constexpr int times = 20'000;
    operations = 2.0 * 16 * times * static_cast<double>(grid) * 256 / seconds_of([&] {
                   launch(multiply_add, grid, 256, 0, nullptr, times, 0.999f, sink.data());
                 });
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

template <class Run>
void add_row(const std::string& name, const Hyperparameters& parameters, Run run) {
  const std::string row = name + "/D:" + std::to_string(parameters.dimension);
  benchmark::RegisterBenchmark(row.c_str(), run)->UseManualTime()->Unit(benchmark::kMillisecond);
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
    state.counters["of_drawn_additions"] = kept * work.bytes / 2 / input.ceilings.drawn_additions;
    state.counters["of_operations"] = kept * work.operations / input.ceilings.operations;
  };
  add_row(name, parameters, run);
}

/// Columns of the uniform matrix: words_per_second are pairs a second.
template <class Optimizer>
void add_columns(const char* name, const Input& input, Hyperparameters parameters) {
  parameters.window = 2;
  parameters.epochs = 1;
  add_row(name, parameters, [&input, parameters](benchmark::State& state) {
    const auto matrix =
        WordContextMatrix::from(input.corpus, input.vocabulary, {.columns = 256, .window = 2});
    measure(state, input, [&](std::optional<Model>& model) {
      Trainer<UniformMatrix, CudaUniformKernel<Optimizer>> trainer(parameters);
      model.emplace(trainer.new_model(input.vocabulary));
      return trainer.train(matrix, *model);
    });
  });
}

/// Minibatches of `batch` pairs, with Adam.
void add_vanilla(const Input& input, Hyperparameters parameters, std::size_t batch) {
  parameters.learning_rate = 0.001;
  parameters.sentences_in_flight = 0;
  const std::string name = "vanilla,adam/batch:" + std::to_string(batch);
  add_row(name, parameters, [&input, parameters, batch](benchmark::State& state) {
    measure(state, input, [&](std::optional<Model>& model) {
      VanillaGpu<Adam> trainer(parameters, {.batch = batch});
      model.emplace(trainer.new_model(input.vocabulary));
      return trainer.train(input.corpus, *model);
    });
  });
}

void add_all(const Input& input, const Hyperparameters& parameters) {
  add<Hogwild, CudaSentenceKernel, PairWork>("hogwild+cuda-sentence", input, parameters);
  const Hyperparameters fixed = parameters.with_fixed_window();
  add<Hogwild, CudaSentenceKernel, PairWork>("hogwild-fixed+cuda-sentence", input, fixed);
  add<Hogwild, CudaWordKernel, PairWork>("hogwild-fixed+cuda-word", input, fixed);
  add<SharedNegative, CudaRegisterKernel, RegisterWork>("shared-fixed+cuda-register", input, fixed);
  add<SharedNegative, CudaRingBufferKernel, RingWork>("shared+cuda-ring", input, parameters);
  add<SharedNegative, CudaRingBufferKernel, RingWork>("shared-fixed+cuda-ring", input, fixed);
  add<SentenceMinibatch, CudaGemmKernel, GemmWork>("minibatch+cuda-gemm", input, parameters);
  add<SharedNegative, CudaWarpKernel, RingWork>("shared+cuda-warp", input, parameters);
  add<SharedNegative, CudaWarpKernel, RingWork>("shared-fixed+cuda-warp", input, fixed);
  Hyperparameters columns = parameters;
  columns.sentences_in_flight = 0;
  add_columns<Sgd>("uniform,sgd+cuda-uniform", input, columns);
  columns.learning_rate = 0.001;
  add_columns<Adam>("uniform,adam+cuda-uniform", input, columns);
  for (const std::size_t batch : {1024, 65'536}) add_vanilla(input, parameters, batch);
}

int run(int argc, char** argv) {
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
  benchmark::AddCustomContext("drawn_added_bytes_per_second",
                              std::to_string(input.ceilings.drawn_additions));
  benchmark::AddCustomContext("operations_per_second", std::to_string(input.ceilings.operations));
  for (const std::size_t dimension : dimensions) {
    parameters.dimension = dimension;
    parameters.validate();
    add_all(input, parameters);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}}  // namespace wordloom

int main(int argc, char** argv) try {
  return wordloom::run(argc, argv);
} catch (const std::exception& error) {
  std::cerr << "bench_cuda: " << error.what() << '\n';
  return 1;
}
