// Minibatches of pairs on a device against the same arithmetic on the host, which test_vanilla.cpp
// compares with double precision. Returns 77 (skipped) where there is no device. Usage:
// test_vanilla_device [CASE], all without.
#define WORDLOOM_CUDA_ROW_SIZES 1, 10, 16
#include <wordloom/cuda_vanilla.hpp>

#ifdef WORDLOOM_EMULATED_CUDA
#include <wordloom/nccl.hpp>
#endif

#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/cuda/detail/host_kernel.hpp>
#include <wordloom/sync/thread_ranks.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device_cases.hpp"
#include "small_models.hpp"

namespace wordloom { namespace {

template <class Optimizer>
using OnHost =
    cuda::VanillaKernel<cuda::HostMachine, cuda::HostSorter, cuda::CudaMethod::RowSizes, Optimizer>;

/// Sentences of many lengths, in which five words occur again and again; the loss is measured on
/// the first.
detail::SentenceBatch some_sentences(std::uint64_t seed, std::size_t longest) {
  detail::SentenceBatch batch;
  Random random(seed);
  for (const std::size_t length : {std::size_t{48}, std::size_t{0}, std::size_t{1}, longest}) {
    std::vector<WordId> sentence;
    for (std::size_t i = 0; i < length; ++i)
      sentence.push_back(static_cast<WordId>(random.below(i % 3 == 0 ? 5 : words)));
    batch.add(sentence, 1000);
  }
  // So that the second batch needs more memory for its words alone, and the third one for all.
  if (seed % 2 == 0) batch.ends.resize(500 * (seed + 1), batch.ends.back());
  batch.index = seed;
  batch.keep = false;
  return batch;
}

/// Waits for the first batch in flight. One place for leave_out.sh.
template <class Run>
[[gnu::noinline]] double loss_of_next(Run& run) {
  return run.wait().loss;
}

/// Trains batches of rising size by the run of a kernel, two of them in flight at a time, and uses
/// the model at once; the run ends with one more in flight.
template <class Kernel, class Sampler>
Trained train_by_run(const Kernel& kernel, const Sampler& sampler, Hyperparameters parameters) {
  parameters.subsample = 0.05;
  Trained result{random_model(vocabulary(), parameters.dimension), 0};
  auto run = kernel.start(sampler, parameters, result.model);
  // The run has copies.
  for (const auto& [name, matrix] : result.model.matrices())
    for (std::size_t i = 0; i < matrix->rows(); ++i) std::ranges::fill(matrix->row(i), NAN);
  for (std::size_t i = 0; i <= 4; ++i) {
    if (i < 4) run->submit(some_sentences(i, 30 + 60 * i), i, 0.05, 0.04);
    if (i > 0) result.loss += loss_of_next(*run);
  }
  run->flush();
  run->download(result.model);
  Trained copy{random_model(vocabulary(), parameters.dimension), result.loss};
  copy.model.set_matrices(result.model.copy_of_matrices());
  run->submit(some_sentences(9, 400), 5, 0.05, 0.04);
  return copy;
}

template <class Optimizer, class Sampler>
void compare(const std::string& name, std::size_t dimension, std::size_t batch,
             const Sampler& sampler, const Optimizer& optimizer = {}) {
  const Hyperparameters parameters{.dimension = dimension};
  const CudaVanillaKernel<Optimizer> kernel{.optimizer = optimizer, .batch = batch};
  const Trained host =
      train_by_run(OnHost<Optimizer>{.optimizer = optimizer, .batch = batch}, sampler, parameters);
  const Trained device = train_by_run(kernel, sampler, parameters);
  const Trained again = train_by_run(kernel, sampler, parameters);
  const Trained before{random_model(vocabulary(), dimension), host.loss};
  const double differs = difference(host, device);
  std::printf("%s, D=%zu, batch %zu: device and host differ by %.2g\n", name.c_str(), dimension,
              batch, differs);
  report(name, host.loss > 1 && differs < tolerance && difference(before, host) > min_change &&
                   host.model.matrices().size() == device.model.matrices().size());
  report(name + ", the same bits again",
         differs < tolerance && same_matrices(device.model, again.model));
}

#ifdef WORDLOOM_EMULATED_CUDA
/// The host waits for a batch a fixed number of times, whatever the number of its minibatches, and
/// makes one call for each of them.
void count_waits() {
  const Hyperparameters parameters{.dimension = 20, .subsample = 0};
  Model model = random_model(vocabulary(), parameters.dimension);
  auto run = CudaVanillaKernel<Sgd>{.batch = 20}.start(Hogwild{.window = Window::fixed(1)},
                                                       parameters, model);
  const emu::World& world = emu::World::get();
  std::size_t waits = 0, calls[2] = {};
  for (const std::size_t i : {0u, 1u, 1u, 0u, 0u}) {
    const std::size_t before = world.waits, calls_before = world.calls;
    run->submit(some_sentences(1, 60 + 1000 * i), 0, 0.05, 0.04);
    waits = world.waits - before;
    calls[i] = world.calls - calls_before;
    loss_of_next(*run);
  }
  run->flush();
  run->download(model);
  // A copy to memory that is not pinned is waited for twice, unless EMU_PAGEABLE_LATE.
  std::printf("waits of the host for a batch: %zu\n", waits);
  report("waits", waits > 0 && waits <= 2);
  // 2,000 pairs more are 100 minibatches more. Those that begin or end with a batch take more
  // calls.
  std::printf("calls of the host for 10 and for 110 minibatches: %zu, %zu\n", calls[0], calls[1]);
  report("calls", calls[1] - calls[0] >= 99 && calls[1] - calls[0] <= 110);
}

/// Two ranks in one process, each with a device: a call of one must not wait for its device while
/// the other has not begun the sum that the device waits for.
void train_ranks() {
  const auto corpus = EncodedCorpus::from_sentences(random_sentences(60, 20, words), vocabulary());
  const Model before = random_model(vocabulary(), 20);
  std::vector<Model> models;
  for (int rank = 0; rank < 2; ++rank) models.push_back(random_model(vocabulary(), 20));
  ThreadRanks::run(2, [&](ThreadRanks self) {
    Allreduce<NcclRanks<ThreadRanks>> sync(NcclRanks<ThreadRanks>(self, self.rank()),
                                           {.interval = 200});
    Trainer<Hogwild, CudaVanillaKernel<Sgd>, Allreduce<NcclRanks<ThreadRanks>>> trainer(
        {.dimension = 20, .epochs = 2}, Hogwild(), {.batch = 16, .device = self.rank()},
        std::move(sync));
    trainer.train(corpus, models[self.rank()]);
  });
  report("two ranks", same_matrices(models[0], models[1]) && !same_matrices(models[0], before));
}
#endif

/// The device finds numbers that no run that converges has; a trainer then ends with the epoch.
void find_divergence() {
  const Hyperparameters parameters{.dimension = 20, .epochs = 3};
  Model model = random_model(vocabulary(), parameters.dimension);
  const auto largest = [&](Model::Side side) {
    return CudaVanillaKernel<Adam>().start(Hogwild(), parameters, model)->largest(side);
  };
  float expected = 0;
  for (std::size_t i = 0; i < words; ++i)
    for (const float x : model.input.row(i)) expected = std::max(expected, std::abs(x));
  report("largest value", expected > 0 && largest(Model::Side::input) == expected);
  model.input.row(words - 1)[19] = -3000;
  report("largest negative value", largest(Model::Side::input) == 3000);
  model.output.row(words / 2)[0] = NAN;
  report("not a number", std::isnan(largest(Model::Side::output)));
  model.output.row(words / 2)[0] = 0;
  const auto corpus = EncodedCorpus::from_sentences(random_sentences(60, 20, words), vocabulary());
  VanillaGpu<Adam> trainer(parameters, {.batch = 256});
  std::size_t epochs = 0;
  trainer.on_epoch([&](const Progress&, const Model&) { ++epochs; });
  std::string message;
  try {
    trainer.train(corpus, model);
  } catch (const TrainingError& error) {
    message = error.what();
  }
  std::printf("%s\n", message.c_str());
  report("divergence", epochs == 0 && message.starts_with("training diverged: the matrix 'input'"));
}

/// Trains by a trainer, two epochs, of which the second finds its sentences on the device.
Trained train(Hyperparameters parameters, std::size_t batch) {
  const auto corpus = EncodedCorpus::from_sentences(random_sentences(60, 20, words), vocabulary());
  VanillaGpu<Adam> trainer(parameters, {.batch = batch});
  Trained result{random_model(vocabulary(), parameters.dimension), 0};
  result.loss = trainer.train(corpus, result.model).loss;
  return result;
}
/// The same by the host.
Trained train_on_host(Hyperparameters parameters, std::size_t batch) {
  const auto corpus = EncodedCorpus::from_sentences(random_sentences(60, 20, words), vocabulary());
  detail::FixedWindowTrainer<Hogwild, OnHost<Adam>> trainer(parameters, {.batch = batch});
  Trained result{random_model(vocabulary(), parameters.dimension), 0};
  result.loss = trainer.train(corpus, result.model).loss;
  return result;
}

int test() {
  try {
    cuda::use_device(0);
  } catch (const DeviceError& error) {
    std::printf("skipped: %s\n", error.what());
    return 77;
  }
  // One whose steps depend on gradients, also where these are as small as rounding.
  const Adam adam{.beta1 = 0.8, .beta2 = 0.95, .epsilon = 0.01};
  const Hogwild fixed{.window = Window::fixed(3)};
  if (is_wanted("sgd")) {
    compare<Sgd>("sgd", 20, 64, fixed);
    compare<Sgd>("sgd, more entries than rows", 300, 700, fixed);
    compare<Sgd>("sgd, random windows, many negatives", 500, 100,
                 Hogwild{.targets = {.negatives = 30}});
  }
  if (is_wanted("adam")) compare<Adam>("adam", 20, 200, fixed, adam);
  if (is_wanted("adagrad")) compare<AdaGrad>("adagrad", 300, 128, fixed, {.epsilon = 0.01});
  if (is_wanted("single"))
    compare<Adam>("single pairs", 20, 1, Hogwild{.window = Window::fixed(1)}, adam);
  if (is_wanted("largest")) compare<Sgd>("the largest batch", 20, 65536, fixed);
#ifdef WORDLOOM_EMULATED_CUDA
  if (is_wanted("waits")) count_waits();
  if (is_wanted("ranks") && emu::devices() > 1) train_ranks();
#endif
  if (is_wanted("divergence")) find_divergence();
  if (is_wanted("trainer")) {
    const Hyperparameters parameters{.dimension = 20, .learning_rate = 0.01, .epochs = 2};
    const Trained host = train_on_host(parameters, 256), device = train(parameters, 256);
    const double differs = difference(host, device);
    std::printf("trainer: device and host differ by %.2g\n", differs);
    const Trained before{random_model(vocabulary(), parameters.dimension), host.loss};
    report("trainer",
           host.loss > 1 && differs < tolerance && difference(before, host) > min_change);
  }
  return failures == 0 ? 0 : 1;
}

}}  // namespace wordloom

int main(int argc, char** argv) try {
  if (argc > 1) wordloom::only = argv[1];
  return wordloom::test();
} catch (const std::exception& error) {
  std::printf("failed: %s\n", error.what());
  return 1;
}
