// The kernels on a device, one sentence at a time, against the same arithmetic on the host. Returns
// 77 (skipped) where there is no device. Usage: test_kernels_device [KERNEL], all without.
#define WORDLOOM_CUDA_ROW_SIZES 1, 2, 4, 10
#include <wordloom/cuda.hpp>

#include <wordloom/cuda/detail/host_kernel.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "small_models.hpp"

using namespace wordloom;

namespace {

constexpr std::size_t words = 300;
// The host's arithmetic is compared with double precision in test_schemes.cpp, test_targets.cpp and
// test_bidmach.cpp.
#ifdef WORDLOOM_EMULATED_CUDA
constexpr double tolerance = 1e-5;
#else
constexpr double tolerance = 1e-3;  // the device's exponentials are approximate
#endif

/// Sentences of many lengths; the loss is measured on the first, which is a long one.
detail::SentenceBatch some_sentences(std::uint64_t seed, std::size_t longest) {
  detail::SentenceBatch batch;
  Random random(seed);
  for (const std::size_t length : {std::size_t{48}, std::size_t{0}, std::size_t{1}, std::size_t{2},
                                   std::size_t{5}, std::size_t{6}, std::size_t{11}, longest}) {
    std::vector<WordId> sentence;
    // Words occur again near each other.
    for (std::size_t i = 0; i < length; ++i)
      sentence.push_back(static_cast<WordId>(random.below(i % 3 == 0 ? 10 : words)));
    batch.add(sentence, 1000);
  }
  return batch;
}

/// Begins a run, after which the model may change, and changes it. One place for left_out.
template <class Kernel, class Sampler>
[[gnu::noinline]] auto start(const Sampler& sampler, const Hyperparameters& parameters,
                             Model& model) {
  auto run = Kernel::from(parameters).start(sampler, parameters, model);
  for (RowMatrix* matrix : {&model.input, &model.output})
    for (std::size_t i = 0; i < matrix->rows(); ++i) std::ranges::fill(matrix->row(i), 1.0f);
  return run;
}

/// Waits for the first batch in flight and returns its loss. One place for left_out.
template <class Run>
[[gnu::noinline]] double loss_of_next(Run& run) {
  return run.wait().loss;
}

/// Ends a run, and returns true: `release` has one call, and not as the last, for left_out.
template <class Run>
[[gnu::noinline]] void release(std::unique_ptr<Run>& run) {
  run.reset();
}
template <class Run>
[[gnu::noinline]] bool end(std::unique_ptr<Run>& run) {
  release(run);
  return run == nullptr;
}

/// Trains a batch that stays on the device, then two at a time that do not: one of another place,
/// one that may not be kept, and then a larger one. Returns the loss.
template <class Run>
double train(Run& run, double rate) {
  detail::SentenceBatch batch = some_sentences(3, 80), other = some_sentences(4, 150);
  detail::SentenceBatch larger = some_sentences(5, 220);
  run.submit(batch, 0, rate, rate);
  double loss = loss_of_next(run);
  // One more that stays on the device, smaller: only its own array is new.
  detail::SentenceBatch second = some_sentences(7, 50);
  second.index = 1;
  run.submit(second, 0, rate, rate);
  loss += loss_of_next(run);
  batch.index = 7;
  other.keep = larger.keep = false;
  run.submit(batch, 1, rate, rate);
  run.submit(other, 2, rate, rate);
  loss += loss_of_next(run);
  run.submit(larger, 3, rate, rate);
  loss += loss_of_next(run);
  return loss + loss_of_next(run);
}

int failures = 0;
std::string_view only;  // the first word of the names to compare; empty: all

template <class Sampler, class Kernel, class HostKernel>
void compare_with(std::string_view name, Hyperparameters parameters) {
  if (!only.empty() && name.substr(0, name.find(',')) != only) return;
  const Vocabulary vocabulary = zipf_vocabulary(words, 10'000);
  const auto sampler = Sampler::from(parameters);
  const std::size_t outputs = sampler.targets.start(vocabulary).output_rows();
  Model expected = random_model(vocabulary, parameters.dimension, outputs);
  const auto on_host = HostKernel().start(sampler, parameters, expected);
  const double rate = parameters.learning_rate;
  const double loss = train(*on_host, rate);
  on_host->download(expected);
  // Compares the device with so many sentences in flight: the largest difference of a number, and
  // the square of all differences as a share of the square of what training changed. NaN for NaN.
  struct Difference {
    double worst, share;
  };
  const auto difference = [&](std::size_t in_flight) {
    parameters.sentences_in_flight = in_flight;
    const Model before = random_model(vocabulary, parameters.dimension, outputs);
    Model got = random_model(vocabulary, parameters.dimension, outputs);
    auto on_device = start<Kernel>(sampler, parameters, got);
    double worst = std::abs(loss - train(*on_device, rate)) / loss, differences = 0, changes = 0;
    on_device->download(got);
    for (const auto matrix : {&Model::input, &Model::output})
      for (std::size_t i = 0; i < (got.*matrix).rows(); ++i)
        for (std::size_t d = 0; d < parameters.dimension; ++d) {
          const float a = (got.*matrix).row(i)[d], b = (expected.*matrix).row(i)[d];
          const double one = std::abs(a - b);
          if (one > worst || std::isnan(one)) worst = one;
          differences += one * one;
          changes += std::pow(b - (before.*matrix).row(i)[d], 2);
        }
    end(on_device);
    return Difference{worst, differences / changes};
  };
  {  // A run may end with work in flight.
    Model model = random_model(vocabulary, parameters.dimension, outputs);
    auto unfinished = start<Kernel>(sampler, parameters, model);
    unfinished->submit(some_sentences(6, 80), 0, 0.05, 0.05);
    end(unfinished);
  }
  // With eight in flight, blocks are full and changes cross.
  const Difference one = difference(1), eight = difference(8);
  const bool good = loss > 1 && one.worst < tolerance && eight.share < 0.5;
  failures += good ? 0 : 1;
  std::printf(
      "%.*s D=%zu window=%zu: device and host differ by %.2g, eight in flight by %.2g (%.2g): %s\n",
      static_cast<int>(name.size()), name.data(), parameters.dimension, parameters.window,
      one.worst, eight.share, eight.worst, good ? "good" : "WRONG");
}

template <class Sampler, class Kernel, class Scheme, int R, class Team>
void compare(std::string_view name, const Hyperparameters& parameters) {
  compare_with<Sampler, Kernel, cuda::HostKernel<Scheme, R, Team, cuda::OneByOne, Sampler>>(
      name, parameters);
}

/// CudaWarpKernel with the switch WORDLOOM_CUDA_HOT_OUTPUTS.
struct HotMethod : cuda::CudaMethod {
  template <int R, class Use>
  static void with_launch(const cuda::Sampling&, Use use) {
    use(cuda::WarpLaunch<cuda::WarpScheme<11, 16, 4>, R>());
  }
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc > 1) only = argv[1];
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
    return Hyperparameters{
        .dimension = dimension, .window = window, .subsample = 1e-2, .learning_rate = 0.05};
  };
  compare<Hogwild, CudaSentenceKernel, cuda::SentenceScheme, 1, HostTeam<128>>("sentence",
                                                                               parameters(100, 5));
  compare<Hogwild, CudaWordKernel, cuda::SentenceScheme, 1, HostTeam<64>>("word",
                                                                          parameters(64, 5));
  compare<Cbow, CudaWordKernel, cuda::CbowScheme, 1, HostTeam<64>>("word, cbow", parameters(64, 3));
  compare<Cbow, CudaSentenceKernel, cuda::CbowScheme, 1, HostTeam<64>>("cbow", parameters(64, 5));
  compare<BasicCbow<HuffmanPathAndNegatives>, CudaSentenceKernel, cuda::CbowScheme, 1,
          HostTeam<128>>("cbow, tree and negatives", parameters(100, 2));
  compare<BasicHogwild<HuffmanPath>, CudaSentenceKernel,
          cuda::BasicSentenceScheme<cuda::AnyTargets>, 1, HostTeam<64>>("sentence, tree",
                                                                        parameters(64, 3));
  compare<SharedNegative, CudaRegisterKernel, cuda::RegisterScheme, 1, HostTeam<128>>(
      "register", parameters(128, 5).with_fixed_window());
  compare<HierarchicalSoftmax, CudaRegisterKernel, cuda::BasicRegisterScheme<cuda::AnyTargets>, 1,
          HostTeam<64>>("register, tree", parameters(64, 5));
  compare<SharedNegative, CudaRingBufferKernel, cuda::RingBufferScheme, 1, HostTeam<64>>(
      "ring", parameters(64, 5));
  compare<Hogwild, CudaRingBufferKernel, cuda::PairRingScheme, 1, HostTeam<32>>(
      "ring, pairs", parameters(20, 3).with_fixed_window());
  compare<SentenceMinibatch, CudaRingBufferKernel, cuda::MinibatchRingScheme, 1, HostTeam<64>>(
      "ring, minibatches", parameters(64, 20));  // where a tile takes the place of rows in the ring
  compare<SharedNegative, CudaWarpKernel, WarpScheme<7>, 4, HostTeam<32>>(
      "warp", parameters(128, 5).with_fixed_window());
  compare<SharedNegative, CudaWarpKernel, WarpScheme<11>, 4, HostTeam<32>>("warp",
                                                                           parameters(128, 5));
  compare<SharedNegative, CudaWarpKernel, WarpScheme<11>, 1, HostTeam<32>>("warp",
                                                                           parameters(20, 5));
  compare<SharedNegative, cuda::CudaKernel<HotMethod, SharedNegative>, WarpScheme<11>, 2,
          HostTeam<32>>("warp, hot outputs", parameters(64, 5));
  compare<SharedNegative, CudaWarpKernel, SharedWarpScheme, 10, HostTeam<32>>("warp",
                                                                              parameters(300, 8));
  compare<GroupedWindow, CudaWarpKernel, cuda::GroupedWarpScheme<3, 2, 7>, 2, HostTeam<32>>(
      "warp, grouped", parameters(64, 5));
  compare<SentenceMinibatch, CudaGemmKernel, cuda::GemmScheme, 4, cuda::HostWarps<4>>(
      "gemm", parameters(128, 5));
  compare<SentenceMinibatch, CudaGemmKernel, cuda::GemmScheme, 1, cuda::HostWarps<4>>(
      "gemm", parameters(20, 8).with_fixed_window());
  compare<SharedNegative, CudaWombatKernel, cuda::WombatScheme<cuda::WordTargets>, 1, HostTeam<32>>(
      "wombat", parameters(20, 8));
  using BidMachSteps =
      cuda::HostMethods<cuda::HostMethod<cuda::BidMachPositives, 1, HostTeam<64>, cuda::OneByOne>,
                        cuda::HostMethod<cuda::BidMachNegatives, 2, HostTeam<32>, cuda::OneByOne>>;
  Hyperparameters of_bidmach = parameters(64, 5);
  of_bidmach.learning_rate = 0.005;  // of the most frequent word
  compare_with<SharedNegative, CudaBidMachKernel,
               cuda::BatchKernel<cuda::HostMachine, BidMachSteps, SharedNegative>>("bidmach",
                                                                                   of_bidmach);
  return failures == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::printf("failed: %s\n", error.what());
  return 1;
}
