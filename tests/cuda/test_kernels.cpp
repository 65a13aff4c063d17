// The run of a kernel on a device, by HostKernel: what reaches it and what it refuses.
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <thread>
#include <vector>
#include <wordloom/cuda/detail/host_kernel.hpp>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "small_models.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

using Sentences = std::vector<std::vector<WordId>>;

/// Records the sentences of each epoch instead of training them.
struct RecordingScheme {
  static inline std::map<std::size_t, Sentences> seen;

  static constexpr std::size_t floats_of_own(const cuda::Sampling&, std::size_t) { return 0; }
  template <class Task>
  static void train(const Task& task) {
    const auto& [words, size, random, rate, with_loss] = task.sentence;
    seen[random.epoch].emplace_back(words, words + size);
  }
};

/// Several batches an epoch, more than HostKernel keeps.
struct SmallBatches : cuda::OneByOne {
  static constexpr std::size_t batch_words = 500;
};
using RecordingKernel = cuda::HostKernel<RecordingScheme, 1, cuda::HostTeam<32>, SmallBatches>;

/// Random sentences, a function of the seed and, unless they repeat, of the epoch.
template <bool repeats_>
struct RandomCorpus {
  static constexpr bool repeats = repeats_;

  std::uint64_t token_count() const { return 3000; }
  Sentences sentences(const Shard& shard) const {
    Random random(shard.seed, repeats ? 0 : shard.epoch, 0);
    Sentences result(300, std::vector<WordId>(10));
    for (auto& sentence : result)
      for (WordId& word : sentence) word = static_cast<WordId>(random.below(20));
    return result;
  }
};

}  // namespace

TEMPLATE_TEST_CASE("the sentences of every epoch reach a kernel on a device", "[cuda]",
                   RandomCorpus<false>, RandomCorpus<true>) {
  RecordingScheme::seen.clear();
  Trainer<SharedNegative, RecordingKernel> trainer({.dimension = 16, .subsample = 0, .epochs = 3});
  const TestType corpus;
  trainer.fit(corpus, zipf_vocabulary(20));
  CHECK(RecordingScheme::seen.size() == 3);
  for (std::size_t epoch = 0; epoch < 3; ++epoch)
    CHECK(RecordingScheme::seen[epoch] == corpus.sentences({.epoch = epoch}));
  CHECK((RecordingScheme::seen[0] == RecordingScheme::seen[1]) == TestType::repeats);
}

namespace {

/// A machine with slow copies of matrices.
struct SlowMachine : cuda::HostMachine {
  using Queue = SlowMachine;
  static constexpr std::chrono::milliseconds delay{20};

  template <class... Arguments>
  static void begin_copy_of_rows(Arguments... arguments) {
    std::this_thread::sleep_for(delay);
    cuda::HostMachine::begin_copy_of_rows(arguments...);
  }
  struct Slot : HostMachine::Slot {
    const float* fetched() const {
      std::this_thread::sleep_for(delay);
      return HostMachine::Slot::fetched();
    }
  };
};
using SlowKernel =
    cuda::BatchKernel<SlowMachine,
                      cuda::HostMethod<RecordingScheme, 1, cuda::HostTeam<32>, SmallBatches>>;

}  // namespace

TEST_CASE("the reported seconds leave out copies of the model, the sentences are those in flight",
          "[cuda]") {
  Trainer<SharedNegative, SlowKernel> trainer(
      {.dimension = 16, .subsample = 0, .epochs = 3, .sentences_in_flight = 7});
  Model model = trainer.new_model(zipf_vocabulary(20));
  const auto start = std::chrono::steady_clock::now();
  const TrainReport report = trainer.train(RandomCorpus<true>(), model);
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - start;
  CHECK(all.count() - report.seconds >= 0.001 * 4 * SlowMachine::delay.count());  // both matrices
  CHECK(report.epoch_seconds.size() == 3);
  CHECK(report.sentences_in_flight == 7);
}

TEST_CASE("a resumed run reports the seconds of the epochs that it ended", "[cuda]") {
  const TemporaryFolder folder;
  const auto make = [&] {
    return Trainer<SharedNegative, RecordingKernel>({.dimension = 16, .subsample = 0, .epochs = 3});
  };
  auto first = make();
  first.checkpoint_to(folder / "state", std::chrono::hours(1));
  first.on_epoch([](const Progress& now) { return now.epoch < 1; });
  const auto vocabulary = zipf_vocabulary(20);
  Model model = first.new_model(vocabulary);
  const TrainReport stopped = first.train(RandomCorpus<true>(), model);
  CHECK(std::isfinite(stopped.epoch_seconds[1]));
  CHECK(std::isnan(stopped.epoch_seconds[2]));
  auto rest = make();
  const TrainReport resumed = rest.resume_training(RandomCorpus<true>(), model, folder / "state");
  CHECK(std::isnan(resumed.epoch_seconds[0]));
  CHECK(std::isnan(resumed.epoch_seconds[1]));
  CHECK(resumed.epoch_seconds[2] >= 0);
}

TEST_CASE("a kernel on a device takes its parameters from the sampler policy", "[cuda]") {
  const SentenceMinibatch minibatch{
      .window = {7}, .targets = {.negatives = 3}, .minibatch = 12, .shared_negatives = 0};
  const cuda::Sampling sampling = cuda::sampling_of(minibatch);
  CHECK(sampling.max_reach == 7);
  CHECK_FALSE(sampling.fixed_window);
  CHECK(sampling.per_window == 3);
  CHECK(sampling.minibatch == 12);
  CHECK(sampling.shared == minibatch.shared());
  const auto fixed = cuda::sampling_of(SharedNegative{.window = Window::fixed(3)});
  CHECK(fixed.max_reach == 3);
  CHECK(fixed.fixed_window);
  // Only samplers that a device can draw are trained.
  CHECK(RecordingKernel::trains<Hogwild>);
  CHECK_FALSE(RecordingKernel::trains<HierarchicalSoftmax>);
}

TEST_CASE(
    "the sentences in flight of a kernel on a device are in its fingerprint, the device is not",
    "[cuda]") {
  const auto fingerprint = [](const Hyperparameters& parameters) {
    detail::MethodRecord record;
    detail::add_parameters(record, RecordingKernel::from(parameters));
    return record.hash().value();
  };
  CHECK(fingerprint({.device = 1}) == fingerprint({}));
  CHECK(fingerprint({.sentences_in_flight = 7}) != fingerprint({}));
}

TEST_CASE("a kernel on a device refuses models that it cannot train", "[cuda]") {
  const auto start = [](const Model::Shape& shape) {
    const Model model(zipf_vocabulary(20), shape);
    RecordingKernel().start(SharedNegative(), {.dimension = shape.dimension}, model);
  };
  CHECK_NOTHROW(start({.dimension = 32}));
  CHECK(contains(message_of<InvalidArgument>([&] { start({.dimension = 16, .input_rows = 25}); }),
                 "20 rows of the input; that matrix has 25"));
  CHECK(contains(message_of<InvalidArgument>([&] { start({.dimension = 16, .output_rows = 19}); }),
                 "20 rows of the output; that matrix has 19"));
  CHECK(contains(message_of<InvalidArgument>([&] { start({.dimension = 33}); }), "to 32"));
}
