// What devices may be like and do, by the name of a case: see the tests of CMakeLists.txt. Returns
// 1 when a case does not hold. Usage: emulated_edges CASE
#include <chrono>
#include <thread>

/// Other threads get on between the choice of a kernel's attributes and its launch.
template <class Kernel>
cudaError_t set_attribute_and_sleep(Kernel* kernel, cudaFuncAttribute attribute, int value) {
  const cudaError_t status = cudaFuncSetAttribute(kernel, attribute, value);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return status;
}
#define cudaFuncSetAttribute set_attribute_and_sleep

#define WORDLOOM_CUDA_ROW_SIZES 1, 10
#include <wordloom/nccl.hpp>

#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/cuda/detail/host_kernel.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "small_models.hpp"

using namespace wordloom;

namespace {

constexpr std::size_t words = 300;

void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

/// Returns the message of the exception that `work` throws.
template <class Exception, class Work>
std::string message_of(Work work) {
  try {
    work();
  } catch (const Exception& error) {
    std::printf("%s\n", error.what());
    return error.what();
  }
  throw std::runtime_error("nothing was thrown");
}
void require_part(const std::string& message, const std::string& part) {
  require(message.find(part) != std::string::npos, "'" + message + "' lacks '" + part + "'");
}

detail::SentenceBatch a_batch(std::uint64_t seed, std::size_t sentences, std::size_t length) {
  detail::SentenceBatch batch;
  Random random(seed);
  std::vector<WordId> sentence(length);
  for (std::size_t i = 0; i < sentences; ++i) {
    for (WordId& word : sentence) word = static_cast<WordId>(random.below(words));
    batch.add(sentence, 1000);
  }
  return batch;
}

/// A model, and how to train it by CudaWarpKernel.
struct Task {
  Hyperparameters parameters;
  Vocabulary vocabulary = zipf_vocabulary(words, 10'000);
  SharedNegative sampler = SharedNegative::from(parameters);
  Model model = random_model(vocabulary, parameters.dimension);

  explicit Task(const Hyperparameters& given) : parameters(given) {}
  auto start() const { return CudaWarpKernel::from(parameters).start(sampler, parameters, model); }

  /// Trains all batches twice by a run; those that it keeps are given empty the second time.
  template <class Run>
  Model train(Run& run, const std::vector<detail::SentenceBatch>& batches) const {
    for (std::size_t epoch = 0; epoch < 2; ++epoch)
      for (std::size_t i = 0; i < batches.size(); ++i) {
        detail::SentenceBatch batch = run.keeps(i) ? detail::SentenceBatch() : batches[i];
        batch.index = i;
        batch.keep = true;
        run.submit(batch, epoch, 0.05, 0.05);
        run.wait();
      }
    Model result = random_model(vocabulary, parameters.dimension);
    run.download(result);
    return result;
  }
  /// Returns the same from the host, by the arithmetic that the kernel has for rows of 32 R floats.
  template <class Scheme, int R>
  Model train_on_host(const std::vector<detail::SentenceBatch>& batches) const {
    const auto run =
        cuda::HostKernel<Scheme, R, cuda::HostTeam<32>, cuda::OneByOne, SharedNegative>().start(
            sampler, parameters, model);
    return train(*run, batches);
  }
};

double difference(const Model& a, const Model& b) {
  double worst = 0;
  for (const auto matrix : {&Model::input, &Model::output})
    for (std::size_t i = 0; i < (a.*matrix).rows(); ++i)
      for (std::size_t d = 0; d < a.dimension(); ++d) {
        const double one = std::abs((a.*matrix).row(i)[d] - (b.*matrix).row(i)[d]);
        if (one > worst || std::isnan(one)) worst = one;
      }
  return worst;
}

/// One sentence in flight: whatever the order of warps, every run has the same bits.
void same_bits() {
  const Task task({.dimension = 32, .window = 5, .sentences_in_flight = 1});
  const std::vector batches{a_batch(1, 12, 40)};
  const auto train = [&] { return task.train(*task.start(), batches); };
  const Model first = train();
  for (int i = 0; i < 4; ++i) require(same_matrices(first, train()), "runs differ");
}

/// More batches than a device has room for: those that do not fit are copied each time.
void streamed() {
  const Task task({.dimension = 32, .window = 5, .sentences_in_flight = 1});
  std::vector<detail::SentenceBatch> batches;
  for (std::uint64_t i = 0; i < 6; ++i) batches.push_back(a_batch(i, 20, 50));
  const auto run = task.start();
  const Model trained = task.train(*run, batches);
  require(run->keeps(0) && !run->keeps(5), "the device keeps none or all batches");
  const Model expected = task.train_on_host<cuda::WarpScheme<11>, 1>(batches);
  require(difference(trained, expected) < 1e-5, "device and host differ");
}

/// A window whose rows fill a block's shared memory.
void large_window() {
  const Task task({.dimension = 300, .window = 20, .sentences_in_flight = 1});
  const std::vector batches{a_batch(1, 4, 60)};
  const Model expected = task.train_on_host<cuda::SharedWarpScheme, 10>(batches);
  require(difference(task.train(*task.start(), batches), expected) < 1e-5,
          "device and host differ");
}

/// The same where it does not fit: known before a corpus is read.
void too_large_window() {
  const Task task({.dimension = 300, .window = 20});
  const std::string message = message_of<DeviceError>(
      [&] { CudaWarpKernel::from(task.parameters).check(task.sampler, task.parameters); });
  require_part(message, "need 104960 bytes of shared memory, a block of this device has 101376");
  require_part(message, "choose a smaller dimension or window");
  // Fewer warps in a block take less.
  const Task smaller({.dimension = 300, .window = 8, .sentences_in_flight = 8});
  const Model trained = smaller.train(*smaller.start(), {a_batch(1, 8, 20)});
  require(difference(trained, trained) == 0, "not a number");
}

/// GroupedWindow where no kernel has such groups, or rows are too long for its registers.
void other_groups() {
  for (const Hyperparameters& parameters :
       {Hyperparameters{.dimension = 32, .window = 6},
        Hyperparameters{.dimension = 32, .minibatch = 4, .shared_negatives = 8},
        Hyperparameters{.dimension = 129}})
    require_part(
        message_of<InvalidArgument>([&] {
          CudaWarpKernel::from(parameters).check(GroupedWindow::from(parameters), parameters);
        }),
        "kernels for a GPU train GroupedWindow in up to 128 dimensions, with a window of 5");
  CudaWarpKernel().check(GroupedWindow(), {.dimension = 32});
}

/// Two threads train by the same kernel, with windows that need more and less shared memory.
void windows_at_once() {
  const auto train = [](std::size_t window) {
    const Task task({.dimension = 300, .window = window, .sentences_in_flight = 1});
    const auto run = task.start();
    for (std::size_t i = 0; i < 30; ++i) {
      run->submit(a_batch(i, 1, 3), i, 0.05, 0.05);
      run->wait();
    }
  };
  std::exception_ptr failure;
  std::jthread other([&] {
    try {
      train(6);
    } catch (...) {
      failure = std::current_exception();
    }
  });
  train(20);
  other.join();
  if (failure) std::rethrow_exception(failure);
}

/// Short sentences, so that an epoch has several batches.
struct ShortSentences {
  Vocabulary vocabulary = zipf_vocabulary(words, 10'000);
  EncodedCorpus corpus =
      EncodedCorpus::from_sentences(random_sentences(150, 10, words), vocabulary);
};
const ShortSentences& text() {
  static const ShortSentences sentences;
  return sentences;
}
/// Trains by ranks, with the policies that `sync` makes, and requires that their vectors agree.
/// `callback` is called with the rank while it trains.
template <class MakeSync>
void train_ranks(
    std::size_t size, std::size_t first_device, MakeSync sync,
    std::function<void(std::size_t)> callback = [](std::size_t) {}) {
  std::vector<std::optional<Embeddings>> of_ranks(size);
  ThreadRanks::run(size, [&](ThreadRanks self) {
    const std::size_t rank = self.rank();
    auto policy = sync(self, SyncOptions{.interval = 150});
    Trainer<SharedNegative, CudaWarpKernel, decltype(policy), RankScaledDecay> trainer(
        {.dimension = 32, .device = cuda::device_of_rank(first_device, rank)}, std::move(policy));
    trainer.on_progress([&](const Progress&) { callback(rank); }, std::chrono::seconds(0));
    of_ranks[rank] = trainer.fit(text().corpus, text().vocabulary);
  });
  for (const auto& vectors : of_ranks)
    for (std::size_t i = 0; i < text().vocabulary.size(); ++i)
      require(std::ranges::equal(vectors->vector(i), of_ranks[0]->vector(i)), "ranks differ");
}
Allreduce<NcclRanks<ThreadRanks>> by_nccl(ThreadRanks self, SyncOptions options) {
  return Allreduce<NcclRanks<ThreadRanks>>(NcclRanks<ThreadRanks>(self, self.rank()), options);
}

/// Ranks of which one is on a device that is not the first, by way of the host.
void staged_on_two_devices() {
  train_ranks(2, 1, [](ThreadRanks self, SyncOptions options) {
    return Allreduce<StagedRanks<ThreadRanks>>(StagedRanks<ThreadRanks>(self), options);
  });
}

/// Ranks that train on one device and then on another.
void staged_on_another_device() {
  ThreadRanks::run(2, [](ThreadRanks self) {
    using Sync = Allreduce<StagedRanks<ThreadRanks>>;
    Trainer<SharedNegative, CudaWarpKernel, Sync, RankScaledDecay> trainer(
        {.dimension = 32}, Sync(StagedRanks<ThreadRanks>(self), {.interval = 150}));
    for (trainer.kernel().device = 0; trainer.kernel().device < 2; ++trainer.kernel().device)
      trainer.fit(text().corpus, text().vocabulary);
  });
}

/// Ranks of NCCL, whose batches come while sums are in flight that wait for a slower rank.
void nccl_on_three_devices() {
  train_ranks(3, 0, by_nccl, [](std::size_t rank) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10 * rank));
  });
}

/// A callback of the program chooses another device.
void other_device_chosen() {
  train_ranks(2, 0, by_nccl,
              [](std::size_t rank) { cuda::use_device(static_cast<int>(1 - rank)); });
}

/// Two ranks on one device, which NCCL refuses.
void nccl_on_one_device() {
  require_part(message_of<SyncError>([] {
                 ThreadRanks::run(2,
                                  [](ThreadRanks self) { NcclRanks<ThreadRanks> ranks(self, 0); });
               }),
               "NCCL: invalid usage");
}

/// NCCL does not start on the first rank: the others do not wait for it.
void nccl_does_not_start() {
  std::atomic<int> failed = 0;
  ThreadRanks::run(2, [&](ThreadRanks self) {
    require_part(message_of<SyncError>([&] { NcclRanks<ThreadRanks> ranks(self, self.rank()); }),
                 "NCCL: ");
    ++failed;
  });
  require(failed == 2, "a rank did not fail");
}

/// A rank that goes away without a word does not hold up another one's end.
void nccl_rank_dies() {
  std::optional<NcclRanks<ThreadRanks>>* dead = nullptr;
  ThreadRanks::run(2, [&](ThreadRanks self) {
    auto* const ranks = new std::optional<NcclRanks<ThreadRanks>>(std::in_place, self, self.rank());
    if (self.rank() == 0)
      delete ranks;  // waits for the other, for some time
    else
      dead = ranks;
  });
  delete dead;
}

/// A rank fails in the midst of training: all end, and say why.
void nccl_rank_fails() {
  const std::string message = message_of<std::runtime_error>([] {
    train_ranks(2, 0, by_nccl, [](std::size_t rank) {
      if (rank == 1) throw std::runtime_error("the disk is full");
    });
  });
  require_part(message, "the disk is full");
}

/// Launchers may show a process one device or all.
void device_of_rank() {
  std::string devices;
  for (std::size_t rank = 0; rank < 4; ++rank)
    devices += " " + std::to_string(cuda::device_of_rank(1, rank));
  std::printf("devices of ranks:%s\n", devices.c_str());
  for (std::size_t rank = 0; rank < 4; ++rank)
    cuda::use_device(static_cast<int>(cuda::device_of_rank(1, rank)));
}

void no_such_device() {
  require_part(message_of<DeviceError>([] {
                 Trainer<SharedNegative, CudaWarpKernel>({.dimension = 32, .device = 7})
                     .fit(text().corpus, text().vocabulary);
               }),
               "device 7: there are 1 CUDA devices, counted from 0");
}

/// A device that computes NaN.
void diverges() {
  require_part(message_of<TrainingError>([] {
                 Trainer<SharedNegative, CudaWarpKernel>({.dimension = 32})
                     .fit(text().corpus, text().vocabulary);
               }),
               "training diverged");
}

}  // namespace

int main(int argc, char** argv) try {
  const std::map<std::string, void (*)()> cases{
      {"same_bits", same_bits},
      {"streamed", streamed},
      {"large_window", large_window},
      {"too_large_window", too_large_window},
      {"windows_at_once", windows_at_once},
      {"other_device_chosen", other_device_chosen},
      {"staged_on_two_devices", staged_on_two_devices},
      {"staged_on_another_device", staged_on_another_device},
      {"other_groups", other_groups},
      {"nccl_on_three_devices", nccl_on_three_devices},
      {"nccl_on_one_device", nccl_on_one_device},
      {"nccl_does_not_start", nccl_does_not_start},
      {"nccl_rank_dies", nccl_rank_dies},
      {"nccl_rank_fails", nccl_rank_fails},
      {"device_of_rank", device_of_rank},
      {"no_such_device", no_such_device},
      {"diverges", diverges}};
  cases.at(argc > 1 ? argv[1] : "")();
  std::printf("good\n");
  return 0;
} catch (const std::exception& error) {
  std::printf("failed: %s\n", error.what());
  return 1;
}
