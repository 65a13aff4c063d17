#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "support.hpp"
#include "train/paired_corpus.hpp"

using namespace wordloom;

namespace {

/// The sentences that samplers were given.
struct Seen {
  std::mutex guard;
  std::vector<std::vector<WordId>> sentences;
};

/// Makes a block of each word with itself and records what it sees.
struct RecordingSampler {
  Seen* seen = nullptr;

  template <class Visit>
  void visit_parameters(Visit&&) const {}

  struct Worker {
    Seen* seen;
    BlockShape max_block() const { return {1, 1}; }
    template <class Sink>
    void sample(std::span<const WordId> sentence, Random&, Sink&& sink) {
      if (seen != nullptr) {
        const std::lock_guard lock(seen->guard);
        seen->sentences.emplace_back(sentence.begin(), sentence.end());
      }
      for (std::size_t i = 0; i < sentence.size(); ++i)
        sink(Block{.inputs = sentence.subspan(i, 1),
                   .outputs = sentence.subspan(i, 1),
                   .positives = 1,
                   .examples = 1});
    }
  };
  Worker start(const Vocabulary&) const { return {seen}; }
};

/// The calls of a WatchedKernel, and the loss that it returns.
struct Watch {
  double loss = 1.0;
  std::vector<float> rates = {};
};

/// A loss and rates to look at instead of an update, of one thread.
struct WatchedKernel {
  Watch* watch = nullptr;

  template <class Visit>
  void visit_parameters(Visit&&) const {}

  struct Worker {
    Watch* watch;
    template <bool with_loss>
    double update(Model&, const Block&, float rate) {
      if (watch->rates.empty() || watch->rates.back() != rate) watch->rates.push_back(rate);
      return with_loss ? watch->loss : 0.0;
    }
  };
  Worker worker(const Model&, BlockShape) const { return {watch}; }
};

struct ThrowingKernel {
  struct Worker {
    template <bool>
    double update(Model&, const Block& block, float) {
      if (block.inputs[0] == 7) throw IoError("word seven");
      return 0.0;
    }
  };
  Worker worker(const Model&, BlockShape) const { return {}; }
};

}  // namespace

TEMPLATE_TEST_CASE("one thread and one seed give the same bits again", "[trainer]",
                   (Trainer<Hogwild, DotKernel>), (Trainer<SharedNegative, DotKernel>),
                   (Trainer<SharedNegative, FusedKernel>),
                   (Trainer<HogwildFixedWindow, FusedKernel>), (Trainer<Cbow, FusedKernel>),
                   (Trainer<HierarchicalSoftmax, DotKernel>)) {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  auto parameters = small();
  TestType trainer(parameters);
  const auto first = trainer.fit(corpus, vocabulary);
  CHECK(same(first, trainer.fit(corpus, vocabulary)));
  parameters.seed = 2;
  CHECK_FALSE(same(first, TestType(parameters).fit(corpus, vocabulary)));
}

namespace {

/// FusedKernel without its halves.
struct WholeUpdates {
  static constexpr BlockFeatures honours = FusedKernel::honours;

  struct Worker {
    FusedKernel::Worker halves;
    template <bool with_loss>
    LossSum update(Model& model, const Block& block, float learning_rate) noexcept {
      return halves.update<with_loss>(model, block, learning_rate);
    }
  };
  Worker worker(const Model& model, BlockShape most) const {
    return {FusedKernel{}.worker(model, most)};
  }
};

}  // namespace

TEMPLATE_TEST_CASE("updates in halves give the bits of whole ones", "[trainer]", SharedNegative,
                   GroupedWindow, SplitSharedNegative, Cbow) {
  static_assert(detail::UpdatesInHalves<FusedKernel::Worker> &&
                !detail::UpdatesInHalves<WholeUpdates::Worker>);
  const Vocabulary vocabulary = small_vocabulary();
  const EncodedCorpus corpus = paired_corpus(vocabulary);
  Trainer<TestType, FusedKernel> halves(small());
  Trainer<TestType, WholeUpdates> whole(small());
  CHECK(same(halves.fit(corpus, vocabulary), whole.fit(corpus, vocabulary)));
  CHECK(halves.report().loss == whole.report().loss);
}

TEST_CASE("every sentence is trained once in each epoch, whatever the threads", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary, 57);
  std::vector<std::vector<WordId>> expected;
  for (std::size_t i = 0; i < corpus.sentence_count(); ++i)
    for (int epoch = 0; epoch < 3; ++epoch)
      expected.emplace_back(corpus.sentence(i).begin(), corpus.sentence(i).end());
  std::sort(expected.begin(), expected.end());
  for (const std::size_t threads : {1u, 2u, 5u}) {
    Seen seen;
    Trainer trainer(small(threads), RecordingSampler{&seen}, DotKernel{});
    trainer.fit(corpus, vocabulary);
    std::sort(seen.sentences.begin(), seen.sentences.end());
    CHECK(seen.sentences == expected);
    CHECK(trainer.report().tokens == 3 * corpus.token_count());
  }
}

TEST_CASE("the loss reported is the mean of the kernel's losses over examples", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary, 10);
  Watch watch{.loss = 1.25};
  Trainer trainer(small(), RecordingSampler{}, WatchedKernel{&watch});
  trainer.fit(corpus, vocabulary);
  CHECK(trainer.report().loss == Approx(1.25));
  REQUIRE(trainer.report().epoch_losses.size() == 3);
  CHECK(trainer.report().epoch_losses[0] == Approx(1.25));
}

TEST_CASE("the true mean loss starts at log 2 for each target: all scores of a new model are 0",
          "[trainer]") {
  const auto vocabulary = small_vocabulary();
  auto parameters = small();
  parameters.epochs = 1;
  parameters.learning_rate = 1e-9;
  const auto loss = [&](auto trainer) {
    trainer.fit(paired_corpus(vocabulary), vocabulary);
    return trainer.report().loss;
  };
  // An example is a context word for skip-gram, a centre for CBOW: 1 + K targets.
  CHECK(loss(Trainer<SharedNegative, DotKernel>(parameters)) ==
        Approx(6 * std::log(2.0)).epsilon(1e-4));
  CHECK(loss(Trainer<Cbow, DotKernel>(parameters)) == Approx(6 * std::log(2.0)).epsilon(1e-4));
  // Twelve of 20 words, all about as frequent, have 4 nodes on their path, the others 5.
  parameters.node_sample = 0;
  CHECK(loss(Trainer<HierarchicalSoftmax, DotKernel>(parameters)) ==
        Approx(4.4 * std::log(2.0)).epsilon(0.02));
}

TEST_CASE("the learning rate falls from its start to nearly zero", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  Watch watch;
  Trainer(small(), RecordingSampler{}, WatchedKernel{&watch})
      .fit(paired_corpus(vocabulary), vocabulary);
  const auto& rates = watch.rates;
  CHECK(rates.front() == Approx(0.025));
  CHECK(rates.back() < 0.001);
  CHECK(rates.size() > 50);
  CHECK(std::is_sorted(rates.rbegin(), rates.rend()));
  const LinearDecay schedule{.start = 0.1};
  CHECK(schedule.rate(0.0) == Approx(0.1));
  CHECK(schedule.rate(0.25) == Approx(0.075));
  CHECK(schedule.rate(1.0) == Approx(1e-5));
}

TEST_CASE("the callback sees the run and can stop it", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  DefaultTrainer trainer(small(2));
  std::vector<Progress> reports;
  trainer.on_progress(
      [&](const Progress& progress) {
        reports.push_back(progress);
        return true;
      },
      0s);
  trainer.fit(corpus, vocabulary);
  REQUIRE(reports.size() > 3);
  CHECK(std::is_sorted(reports.begin(), reports.end(),
                       [](const auto& a, const auto& b) { return a.tokens < b.tokens; }));
  CHECK(reports.back().fraction() == 1.0);
  CHECK(reports.back().total_tokens == 3 * corpus.token_count());
  CHECK(reports.front().mean_loss > 0);
  CHECK(reports.front().eta_seconds > 0);
  CHECK_FALSE(trainer.report().stopped);

  trainer.on_progress([](const Progress& progress) { return progress.fraction() < 0.4; }, 0s);
  trainer.fit(corpus, vocabulary);
  CHECK(trainer.report().stopped);
  CHECK(trainer.report().tokens < 3 * corpus.token_count());
}

TEST_CASE("callbacks of epochs see the model while no thread trains", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  for (const std::size_t threads : {1u, 3u}) {
    DefaultTrainer trainer(small(threads));
    std::vector<Progress> epochs;
    std::vector<float> last;
    std::size_t seen = 0;
    const auto is_still = [](const Model& model) {
      const std::vector<float> before(model.input.row(0).begin(), model.input.row(0).end());
      std::this_thread::sleep_for(1ms);
      return std::ranges::equal(before, model.input.row(0));
    };
    bool still = true;
    trainer.on_progress(
        [&](const Progress&, const Model& model) {  // returns nothing
          if (++seen % 16 == 1) still = still && is_still(model);
        },
        0s);
    trainer.on_epoch([&](const Progress& progress, const Model& model) {
      epochs.push_back(progress);
      still = still && is_still(model);
      last.assign(model.input.row(0).begin(), model.input.row(0).end());
      return true;
    });
    const Embeddings words = trainer.fit(corpus, vocabulary);
    CHECK(still);
    CHECK(seen > 3);
    REQUIRE(epochs.size() == 3);
    for (std::size_t epoch = 0; epoch < 3; ++epoch) {
      CHECK(epochs[epoch].epoch == epoch);
      CHECK(epochs[epoch].tokens == (epoch + 1) * corpus.token_count());
      CHECK(epochs[epoch].mean_loss == trainer.report().epoch_losses[epoch]);
    }
    CHECK(std::ranges::equal(last, words.vector(std::size_t{0})));

    epochs.clear();
    trainer.on_epoch([&](const Progress& progress) {
      epochs.push_back(progress);
      return progress.epoch != 1;
    });
    trainer.fit(corpus, vocabulary);
    CHECK(epochs.size() == 2);
    CHECK(trainer.report().stopped);
    CHECK(trainer.report().tokens == 2 * corpus.token_count());

    trainer.on_epoch([](const Progress&) { throw UnknownWord("enough"); });
    CHECK_THROWS_AS(trainer.fit(corpus, vocabulary), UnknownWord);
    trainer.on_epoch(std::function<bool(const Progress&)>());  // none
    CHECK_NOTHROW(trainer.fit(corpus, vocabulary));
  }
}

TEST_CASE("a callback stops threads that wait for the end of an epoch", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  for (int run = 0; run < 30; ++run) {
    DefaultTrainer trainer(small(3));
    std::size_t epochs = 0;
    trainer.on_epoch([&](const Progress&) { ++epochs; });
    // At the end of the second epoch, in which one thread or two have nothing left to do.
    trainer.on_progress([](const Progress& progress) { return progress.fraction() < 0.66; }, 0s);
    trainer.fit(corpus, vocabulary);
    CHECK(trainer.report().stopped);
    CHECK(epochs <= 2);
  }
}

TEST_CASE("what a callback or a policy throws in a worker reaches the caller", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  for (const std::size_t threads : {1u, 3u}) {
    DefaultTrainer trainer(small(threads));
    trainer.on_progress([](const Progress&) -> bool { throw UnknownWord("enough"); }, 0s);
    CHECK_THROWS_AS(trainer.fit(corpus, vocabulary), UnknownWord);
    Trainer<RecordingSampler, ThrowingKernel> throwing(small(threads));
    CHECK(message_of<IoError>([&] { throwing.fit(corpus, vocabulary); }) == "word seven");
  }
}

TEST_CASE("a loss that is not finite stops training and says where", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  Watch watch{.loss = std::numeric_limits<double>::quiet_NaN()};
  Trainer trainer(small(), RecordingSampler{}, WatchedKernel{&watch});
  const auto message = message_of<TrainingError>([&] { trainer.fit(corpus, vocabulary); });
  CHECK(contains(message, "loss is nan in epoch 1 of 3"));
  CHECK(contains(message, "of 12000"));
  CHECK(contains(message, "learning rate 0.025"));

  // A real divergence: vectors that are already enormous.
  DefaultTrainer real(small());
  Model model = real.new_model(vocabulary);
  for (std::size_t i = 0; i < model.rows(); ++i) {
    std::fill(model.input.row(i).begin(), model.input.row(i).end(), 1e30f);
    std::fill(model.output.row(i).begin(), model.output.row(i).end(), 1e30f);
  }
  CHECK_THROWS_AS(real.fit(corpus, model), TrainingError);
}

TEST_CASE("a corpus, a model and a vocabulary that do not belong together are refused",
          "[trainer]") {
  const auto vocabulary = small_vocabulary(), other = small_vocabulary(30);
  const auto corpus = paired_corpus(vocabulary);
  DefaultTrainer trainer(small());
  CHECK_THROWS_AS(trainer.fit(corpus, other), CorpusError);
  Model narrow(vocabulary, 8);
  CHECK(message_of<InvalidArgument>([&] { trainer.fit(corpus, narrow); }) ==
        "the model's input is 20 x 8, its vocabulary, this sampler and the hyperparameters need "
        "20 x 16");
  Model nameless(20, 16);
  CHECK_THROWS_AS(trainer.fit(corpus, nameless), Error);
  CHECK_THROWS_AS(trainer.fit(EncodedCorpus::from_sentences({}, vocabulary), vocabulary),
                  CorpusError);
  CHECK_THROWS_AS(DefaultTrainer({.dimension = 0}), InvalidArgument);
}

namespace {

/// Makes blocks that are larger than it says.
struct TooLarge {
  BlockShape most = {1, 1};
  bool makes_bags = false;

  template <class Visit>
  void visit_parameters(Visit&&) const {}

  struct Worker {
    BlockShape most;
    bool makes_bags;
    BlockShape max_block() const { return most; }
    template <class Sink>
    void sample(std::span<const WordId> sentence, Random&, Sink&& sink) {
      const std::array ends{static_cast<std::uint32_t>(sentence.size())};
      Block block{.inputs = sentence, .outputs = sentence, .positives = 1, .examples = 1};
      if (makes_bags) block.bag_ends = ends;
      sink(block);
    }
  };
  Worker start(const Vocabulary&) const { return {most, makes_bags}; }
};

/// The calls of a sync policy, of which the repeated ticks are one, and the run it is told of.
struct SyncLog {
  std::vector<std::string> calls;
  std::string cause;
  SyncRun run;
};
class LoggingSync {
 public:
  explicit LoggingSync(SyncLog* log = nullptr) : log_(log) {}
  std::size_t rank() const { return 1; }
  std::size_t size() const { return 2; }
  std::uint64_t start(Model&, SyncRun& run) {
    log_->calls.emplace_back("start");
    log_->run = run;
    return 1000;
  }
  Signal tick(Model&, double, Signal request) {
    if (log_->calls.back() != "tick") log_->calls.emplace_back("tick");
    return request;
  }
  Positions gather(Model&, std::span<const std::uint64_t>) {
    log_->calls.emplace_back("gather");
    return {};
  }
  Signal finish(Model&) {
    log_->calls.emplace_back("finish");
    return Signal::go_on;
  }
  void fail(const std::string& cause) {
    log_->calls.emplace_back("fail");
    log_->cause = cause;
  }

 private:
  SyncLog* log_;
};

}  // namespace

TEST_CASE("a block larger than promised is refused before a kernel sees it", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto refusal = [&](const TooLarge& sampler) {
    return message_of<InvalidArgument>(
        [&] { Trainer(small(), sampler, DotKernel{}).fit(paired_corpus(vocabulary), vocabulary); });
  };
  CHECK(refusal({}) == "the sampler made a block of 10 x 10, more than its max_block() of 1 x 1");
  CHECK(refusal({.most = {10, 9}}) ==
        "the sampler made a block of 10 x 10, more than its max_block() of 10 x 9");
  CHECK(refusal({.most = {1, 10, 9}, .makes_bags = true}) ==
        "the sampler made a block of 1 x 10 with 10 members of bags, more than its max_block() of "
        "1 x 10 with 9 members of bags");
}

TEST_CASE("a rank trains its own part and synchronises from start to end", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary, 100);
  SyncLog log;
  Trainer<SharedNegative, DotKernel, LoggingSync> trainer(small(2), LoggingSync(&log));
  trainer.fit(corpus, vocabulary);
  CHECK(log.calls == std::vector<std::string>{"start", "tick", "finish"});
  CHECK(trainer.report().tokens == 3 * corpus.token_count() / 2);
  CHECK(log.run.input_rows == 20);
  CHECK(log.run.output_rows == 20);
  CHECK(log.run.dimension == 16);
  CHECK(log.run.words_per_epoch == corpus.token_count() / 2);
  CHECK(log.run.epochs == 3);
  CHECK(log.run.rate(0.5) == Approx(0.0125));
  CHECK_FALSE(log.run.resumes);
  CHECK(log.run.expected.input.size() == 20);
  CHECK(log.run.expected.output.size() == 20);
}

namespace {

/// No sentences, of any shard; records which shards were read.
struct EmptyShards {
  static constexpr bool repeats = false;
  std::vector<Shard>* asked;
  std::uint64_t token_count() const { return 100; }
  std::vector<std::span<const WordId>> sentences(const Shard& shard) const {
    asked->push_back(shard);
    return {};
  }
};

}  // namespace

TEST_CASE("the shards of a rank are those of its threads among all threads", "[trainer]") {
  SyncLog log;
  std::vector<Shard> asked;
  auto parameters = small();
  parameters.seed = 8;
  Trainer<SharedNegative, DotKernel, LoggingSync> trainer(parameters, LoggingSync(&log));
  trainer.fit(EmptyShards{&asked}, small_vocabulary());
  REQUIRE(asked.size() == 3);
  for (std::size_t epoch = 0; epoch < 3; ++epoch) {
    CHECK(asked[epoch].index == 1);
    CHECK(asked[epoch].count == 2);
    CHECK(asked[epoch].epoch == epoch);
    CHECK(asked[epoch].seed == 8);
  }
}

TEST_CASE("a sync policy receives the rows of the sampler, and the failure", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary, 100);
  SyncLog log;
  Trainer<HierarchicalSoftmax, DotKernel, LoggingSync> trainer(small(), LoggingSync(&log));
  trainer.on_progress([](const Progress&) -> bool { throw UnknownWord("enough"); }, 0s);
  CHECK_THROWS_AS(trainer.fit(corpus, vocabulary), UnknownWord);
  CHECK(log.calls.back() == "fail");
  CHECK(contains(log.cause, "enough"));
  CHECK(log.run.input_rows == 20);
  CHECK(log.run.output_rows == 19);
  CHECK(log.run.expected.input.size() == 20);
  CHECK(log.run.expected.output.size() == 19);
}

namespace {

/// Cannot start.
struct NeverStarts {
  RecordingSampler::Worker start(const Vocabulary&) const {
    throw InvalidArgument("not with these words");
  }
};

}  // namespace

TEST_CASE("other ranks are notified of a sampler that cannot start", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  SyncLog log;
  Trainer<NeverStarts, DotKernel, LoggingSync> trainer(small(), LoggingSync(&log));
  CHECK_THROWS_AS(trainer.fit(paired_corpus(vocabulary), vocabulary), InvalidArgument);
  CHECK(log.cause == "not with these words");
}

TEST_CASE("a text corpus trains to the bits of the encoded one", "[trainer]") {
  const TemporaryFolder folder;
  std::string text;
  Random random(1);
  for (int i = 0; i < 500; ++i) {
    for (int k = 0; k < 9; ++k) text += "w" + std::to_string(random.below(12)) + " ";
    text += "\n";
  }
  write_file(folder / "text", text);
  const auto vocabulary = Vocabulary::from_text(folder / "text");
  DefaultTrainer trainer(small());
  const auto encoded =
      trainer.fit(EncodedCorpus::from_text(folder / "text", vocabulary), vocabulary);
  const TextCorpus read(folder / "text", vocabulary);
  CHECK(same(trainer.fit(read, vocabulary), encoded));
  CHECK(same(trainer.fit(AnyCorpus(read), vocabulary), encoded));
}
