#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

Vocabulary small_vocabulary(std::size_t size = 20) {
  std::vector<std::pair<std::string, std::uint64_t>> counts;
  for (std::size_t i = 0; i < size; ++i) counts.emplace_back("w" + std::to_string(i), 1000 - i);
  return Vocabulary::from_counts(counts);
}

/// Sentences in which word 2k stands beside 2k + 1.
EncodedCorpus paired_corpus(const Vocabulary& vocabulary, std::size_t sentences = 400) {
  std::vector<std::vector<WordId>> text(sentences);
  Random random(3);
  for (auto& sentence : text) {
    const auto pair = static_cast<WordId>(2 * random.below(vocabulary.size() / 2));
    for (int i = 0; i < 10; ++i) sentence.push_back(pair + static_cast<WordId>(random.below(2)));
  }
  return EncodedCorpus::from_sentences(text, vocabulary);
}

Hyperparameters small(std::size_t threads = 1) {
  return {.dimension = 16, .subsample = 0, .epochs = 3, .threads = threads};
}

bool same(const Embeddings& a, const Embeddings& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!std::equal(a.vector(i).begin(), a.vector(i).end(), b.vector(i).begin())) return false;
  return true;
}

/// Makes a block of each word with itself and counts what it sees.
struct Seen {
  std::mutex guard;
  std::vector<std::vector<WordId>> sentences;
};
Seen* seen = nullptr;

class RecordingSampler {
 public:
  using Produces = Block;
  RecordingSampler(const Hyperparameters&, const Vocabulary&) {}
  BlockShape max_block() const { return {1, 1}; }
  template <class Sink>
  void sample(std::span<const WordId> sentence, Random&, Sink&& sink) {
    if (seen != nullptr) {
      const std::lock_guard lock(seen->guard);
      seen->sentences.emplace_back(sentence.begin(), sentence.end());
    }
    for (std::size_t i = 0; i < sentence.size(); ++i)
      sink(Block{sentence.subspan(i, 1), sentence.subspan(i, 1), 1, {}});
  }
};

/// A loss and rates to look at instead of an update.
class CountingKernel {
 public:
  using Consumes = Block;
  static inline std::atomic<double> next_loss{1.0};
  static inline std::vector<float> rates;
  CountingKernel(const Hyperparameters&, BlockShape) {}
  template <bool with_loss>
  double update(Model&, const Block&, float rate) {
    if (rates.empty() || rates.back() != rate) rates.push_back(rate);
    return with_loss ? next_loss.load() : 0.0;
  }
};

class ThrowingKernel {
 public:
  using Consumes = Block;
  ThrowingKernel(const Hyperparameters&, BlockShape) {}
  template <bool>
  double update(Model&, const Block& block, float) {
    if (block.inputs[0] == 7) throw IoError("word seven");
    return 0.0;
  }
};

}  // namespace

TEMPLATE_TEST_CASE("one thread and one seed give the same bits again", "[trainer]",
                   (Trainer<Hogwild, DotKernel>), (Trainer<SharedNegative, DotKernel>),
                   (Trainer<SharedNegative, FusedKernel<>>),
                   (Trainer<HogwildFixedWindow, FusedKernel<>>)) {
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
class WholeUpdates {
 public:
  using Consumes = Block;
  WholeUpdates(const Hyperparameters& parameters, BlockShape most) : kernel_(parameters, most) {}
  template <bool with_loss>
  LossSum update(Model& model, const Block& block, float learning_rate) noexcept {
    return kernel_.update<with_loss>(model, block, learning_rate);
  }

 private:
  FusedKernel<> kernel_;
};

}  // namespace

TEMPLATE_TEST_CASE("updates in halves give the bits of whole ones", "[trainer]", SharedNegative,
                   GroupedWindow, SplitSharedNegative) {
  static_assert(detail::UpdatesInHalves<FusedKernel<>> && !detail::UpdatesInHalves<WholeUpdates>);
  const Vocabulary vocabulary = small_vocabulary();
  const EncodedCorpus corpus = paired_corpus(vocabulary);
  Trainer<TestType, FusedKernel<>> halves(small());
  Trainer<TestType, WholeUpdates> whole(small());
  CHECK(same(halves.fit(corpus, vocabulary), whole.fit(corpus, vocabulary)));
  CHECK(halves.report().loss == whole.report().loss);
}

TEST_CASE("words that stand together become alike, with any number of threads", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary, 2000);
  for (const std::size_t threads : {1u, 3u}) {
    auto parameters = small(threads);
    parameters.epochs = 10;
    const auto words = DefaultTrainer(parameters).fit(corpus, vocabulary);
    for (int i = 0; i < 20; i += 2)
      CHECK(words.most_similar("w" + std::to_string(i), 1).front().word ==
            "w" + std::to_string(i + 1));
  }
}

TEST_CASE("fit goes on with a model that exists", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  Model model(vocabulary, 16);
  DefaultTrainer trainer(small());
  const double first = trainer.fit(corpus, model).loss;
  const double second = trainer.fit(corpus, model).loss;
  CHECK(second < first);
  CHECK(model.embeddings().size() == vocabulary.size());
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
    Seen record;
    seen = &record;
    Trainer<RecordingSampler, DotKernel> trainer(small(threads));
    trainer.fit(corpus, vocabulary);
    seen = nullptr;
    std::sort(record.sentences.begin(), record.sentences.end());
    CHECK(record.sentences == expected);
    CHECK(trainer.report().tokens == 3 * corpus.token_count());
  }
}

TEST_CASE("the loss reported is the mean of the kernel's losses over positive pairs", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary, 10);
  CountingKernel::next_loss = 1.25;
  Trainer<RecordingSampler, CountingKernel> trainer(small());
  trainer.fit(corpus, vocabulary);
  CHECK(trainer.report().loss == Approx(1.25));
  REQUIRE(trainer.report().epoch_losses.size() == 3);
  CHECK(trainer.report().epoch_losses[0] == Approx(1.25));
}

TEST_CASE("the true mean loss starts at (1 + K) log 2: all scores of a new model are 0",
          "[trainer]") {
  const auto vocabulary = small_vocabulary();
  auto parameters = small();
  parameters.epochs = 1;
  parameters.learning_rate = 1e-9;
  Trainer<SharedNegative, DotKernel> trainer(parameters);
  trainer.fit(paired_corpus(vocabulary), vocabulary);
  CHECK(trainer.report().loss == Approx(6 * std::log(2.0)).epsilon(1e-4));
}

TEST_CASE("the learning rate falls from its start to nearly zero", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  CountingKernel::rates.clear();
  CountingKernel::next_loss = 1.0;
  Trainer<RecordingSampler, CountingKernel>(small()).fit(paired_corpus(vocabulary), vocabulary);
  const auto& rates = CountingKernel::rates;
  CHECK(rates.front() == Approx(0.025));
  CHECK(rates.back() < 0.001);
  CHECK(rates.size() > 50);
  CHECK(std::is_sorted(rates.rbegin(), rates.rend()));
  const LinearDecay schedule(Hyperparameters{.learning_rate = 0.1});
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
      0.0);
  trainer.fit(corpus, vocabulary);
  REQUIRE(reports.size() > 3);
  CHECK(std::is_sorted(reports.begin(), reports.end(),
                       [](const auto& a, const auto& b) { return a.tokens < b.tokens; }));
  CHECK(reports.back().fraction() == 1.0);
  CHECK(reports.back().total_tokens == 3 * corpus.token_count());
  CHECK(reports.front().mean_loss > 0);
  CHECK(reports.front().eta_seconds > 0);
  CHECK_FALSE(trainer.report().stopped);

  trainer.on_progress([](const Progress& progress) { return progress.fraction() < 0.4; }, 0.0);
  trainer.fit(corpus, vocabulary);
  CHECK(trainer.report().stopped);
  CHECK(trainer.report().tokens < 3 * corpus.token_count());
}

TEST_CASE("what a callback or a policy throws in a worker reaches the caller", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  for (const std::size_t threads : {1u, 3u}) {
    DefaultTrainer trainer(small(threads));
    trainer.on_progress([](const Progress&) -> bool { throw UnknownWord("enough"); }, 0.0);
    CHECK_THROWS_AS(trainer.fit(corpus, vocabulary), UnknownWord);
    Trainer<RecordingSampler, ThrowingKernel> throwing(small(threads));
    CHECK(message_of<IoError>([&] { throwing.fit(corpus, vocabulary); }) == "word seven");
  }
}

TEST_CASE("a loss that is not finite stops training and says where", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  CountingKernel::next_loss = std::numeric_limits<double>::quiet_NaN();
  Trainer<RecordingSampler, CountingKernel> trainer(small());
  const auto message = message_of<TrainingError>([&] { trainer.fit(corpus, vocabulary); });
  CHECK(contains(message, "loss is nan in epoch 1 of 3"));
  CHECK(contains(message, "of 12000"));
  CHECK(contains(message, "learning rate 0.025"));
  CountingKernel::next_loss = 1.0;

  // A real divergence: vectors that are already enormous.
  Model model(vocabulary, 16);
  for (std::size_t i = 0; i < model.rows(); ++i) {
    std::fill(model.input.row(i).begin(), model.input.row(i).end(), 1e30f);
    std::fill(model.output.row(i).begin(), model.output.row(i).end(), 1e30f);
  }
  DefaultTrainer real(small());
  CHECK_THROWS_AS(real.fit(corpus, model), TrainingError);
}

TEST_CASE("a corpus, a model and a vocabulary that do not belong together are refused",
          "[trainer]") {
  const auto vocabulary = small_vocabulary(), other = small_vocabulary(30);
  const auto corpus = paired_corpus(vocabulary);
  DefaultTrainer trainer(small());
  CHECK_THROWS_AS(trainer.fit(corpus, other), CorpusError);
  Model narrow(vocabulary, 8);
  CHECK(contains(message_of<InvalidArgument>([&] { trainer.fit(corpus, narrow); }), "20 x 8"));
  Model nameless(20, 16);
  CHECK_THROWS_AS(trainer.fit(corpus, nameless), Error);
  CHECK_THROWS_AS(trainer.fit(EncodedCorpus::from_sentences({}, vocabulary), vocabulary),
                  CorpusError);
  CHECK_THROWS_AS(DefaultTrainer({.dimension = 0}), InvalidArgument);
}

namespace {

class TooLarge {
 public:
  using Produces = Block;
  TooLarge(const Hyperparameters&, const Vocabulary&) {}
  BlockShape max_block() const { return {1, 1}; }
  template <class Sink>
  void sample(std::span<const WordId> sentence, Random&, Sink&& sink) {
    sink(Block{sentence, sentence, 1, {}});
  }
};

struct SyncLog {
  std::vector<std::string> calls;
};
class LoggingSync {
 public:
  explicit LoggingSync(SyncLog* log = nullptr) : log_(log) {}
  std::size_t rank() const { return 1; }
  std::size_t size() const { return 2; }
  void broadcast(Model&) { log_->calls.emplace_back("broadcast"); }
  void tick(Model&, double) {
    if (log_->calls.back() != "tick") log_->calls.emplace_back("tick");
  }
  void finish(Model&) { log_->calls.emplace_back("finish"); }

 private:
  SyncLog* log_;
};

}  // namespace

TEST_CASE("a block larger than promised is refused before a kernel sees it", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  Trainer<TooLarge, DotKernel> trainer(small());
  CHECK(contains(
      message_of<InvalidArgument>([&] { trainer.fit(paired_corpus(vocabulary), vocabulary); }),
      "10 x 10, more than its max_block() of 1 x 1"));
}

TEST_CASE("a rank trains its own part and synchronises from start to end", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary, 100);
  SyncLog log;
  Trainer<SharedNegative, DotKernel, LoggingSync> trainer(small(2), LoggingSync(&log));
  trainer.fit(corpus, vocabulary);
  CHECK(log.calls == std::vector<std::string>{"broadcast", "tick", "finish"});
  CHECK(trainer.report().tokens == 3 * corpus.token_count() / 2);
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
  CHECK(same(trainer.fit(EncodedCorpus::from_text(folder / "text", vocabulary), vocabulary),
             trainer.fit(TextCorpus(folder / "text", vocabulary), vocabulary)));
}
