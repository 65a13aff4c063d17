// The kernels on a device, one sentence at a time, against the same arithmetic on the host. Returns
// 77 (skipped) where no device answers.
#define WORDLOOM_CUDA_ROW_SIZES 1, 2, 4, 10
#include <wordloom/cuda.hpp>

#include <wordloom/cuda/host_kernel.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <utility>
#include <vector>

#include "small_models.hpp"

using namespace wordloom;

namespace {

constexpr std::size_t words = 300;

SentenceBatch some_sentences() {
  SentenceBatch batch;
  Random random(3);
  for (const std::size_t length : {0u, 1u, 2u, 5u, 6u, 10u, 11u, 64u, 500u}) {
    std::vector<WordId> sentence;
    // Words near each other come again.
    for (std::size_t i = 0; i < length; ++i)
      sentence.push_back(static_cast<WordId>(random.below(i % 3 == 0 ? 10 : words)));
    batch.add(sentence, 1000);
  }
  return batch;
}

int failures = 0;

template <class Sampler, class Kernel, class Scheme, int R, class Team>
void compare(const char* name, Hyperparameters parameters) {
  parameters.sentences_in_flight = 1;
  const Vocabulary vocabulary = zipf_vocabulary(words, 10'000);
  const SentenceBatch batch = some_sentences();
  Model expected = random_model(vocabulary, parameters.dimension);
  Model got = random_model(vocabulary, parameters.dimension);
  auto on_host = cuda::HostKernel<Scheme, R, Team>::template make<Sampler>(parameters, expected);
  // Once with a batch that stays on the device, then two at a time that do not.
  const auto train = [&](auto& kernel) {
    SentenceBatch next = batch;
    kernel.begin(next, 0, 0.05, 0.05);
    double loss = kernel.end().loss;
    next.index = 7;
    kernel.begin(next, 1, 0.05, 0.05);
    kernel.begin(next, 2, 0.05, 0.05);
    loss += kernel.end().loss;
    return loss + kernel.end().loss;
  };
  const double host = train(on_host);
  on_host.finish(expected);
  auto kernel = Kernel::template make<Sampler>(parameters, got);
  const double device = train(kernel);
  kernel.finish(got);
  double worst = std::abs(host - device) / std::max(1.0, host);
  for (std::size_t i = 0; i < words; ++i)
    for (std::size_t d = 0; d < parameters.dimension; ++d)
      for (const auto& [a, b] : {std::pair{got.input.row(i)[d], expected.input.row(i)[d]},
                                 std::pair{got.output.row(i)[d], expected.output.row(i)[d]}})
        worst = std::max(worst, static_cast<double>(std::abs(a - b)));
  const bool good = worst < 1e-3;
  failures += good ? 0 : 1;
  std::printf("%s D=%zu window=%zu: device and host differ by %.2g: %s\n", name,
              parameters.dimension, parameters.window, worst, good ? "good" : "WRONG");
}

}  // namespace

int main() try {
  try {
    cuda::use_device(0);
  } catch (const DeviceError& error) {
    std::printf("skipped: %s\n", error.what());
    return 77;
  }
  using cuda::HostTeam;
  using cuda::SharedWarpScheme;
  using cuda::WarpScheme;
  const auto parameters = [](std::size_t dimension, std::size_t window) {
    return Hyperparameters{.dimension = dimension, .window = window, .subsample = 1e-2};
  };
  compare<Hogwild, CudaSentenceKernel, cuda::SentenceScheme, 1, HostTeam<128>>("sentence",
                                                                               parameters(100, 5));
  compare<SharedNegativeFixedWindow, CudaRegisterKernel, cuda::RegisterScheme, 1, HostTeam<128>>(
      "register", parameters(128, 5));
  compare<SharedNegative, CudaRingBufferKernel, cuda::RingBufferScheme, 1, HostTeam<64>>(
      "ring", parameters(64, 5));
  compare<SharedNegativeFixedWindow, CudaWarpKernel, WarpScheme<7>, 4, HostTeam<32>>(
      "warp", parameters(128, 5));
  compare<SharedNegative, CudaWarpKernel, WarpScheme<11>, 4, HostTeam<32>>("warp",
                                                                           parameters(128, 5));
  compare<SharedNegative, CudaWarpKernel, WarpScheme<11>, 1, HostTeam<32>>("warp",
                                                                           parameters(20, 5));
  compare<SharedNegative, CudaWarpKernel, SharedWarpScheme, 10, HostTeam<32>>("warp",
                                                                              parameters(300, 8));
  compare<SentenceMinibatch, CudaGemmKernel, cuda::GemmScheme, 4, cuda::HostWarps<4>>(
      "gemm", parameters(128, 5));
  compare<SentenceMinibatchFixedWindow, CudaGemmKernel, cuda::GemmScheme, 1, cuda::HostWarps<4>>(
      "gemm", parameters(20, 8));
  return failures == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::printf("failed: %s\n", error.what());
  return 1;
}
