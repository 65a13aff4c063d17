#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#include <wordloom/sampler/subwords.hpp>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/thread_ranks.hpp>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "small_models.hpp"
#include "support.hpp"
#include "train/paired_corpus.hpp"

using namespace wordloom;

namespace {

using Sentences = std::vector<std::vector<WordId>>;

Hyperparameters parameters(std::size_t threads = 1) {
  return {.dimension = 12, .subsample = 0.01, .epochs = 3, .threads = threads};
}

/// A trainer of words with subwords in so few buckets that they are shared.
template <class Sampler = SharedNegative, class Kernel = FusedKernel, class... Sync>
auto subword_trainer(const Hyperparameters& with = parameters(), Sync... sync) {
  return Trainer<Subwords<Sampler>, Kernel, Sync...>(
      with, {Sampler::from(with), {.minn = 2, .maxn = 4, .buckets = 500}}, Kernel(),
      std::move(sync)...);
}

bool is_finite(const Model& model) {
  for (const auto& [name, matrix] : model.matrices())
    for (std::size_t i = 0; i < matrix->rows(); ++i)
      for (const float x : matrix->row(i))
        if (!std::isfinite(x)) return false;
  return true;
}

}  // namespace

TEMPLATE_TEST_CASE("without n-grams, subwords train like their sampler, bit for bit", "[subwords]",
                   SharedNegative, Hogwild, GroupedWindow, Cbow) {
  const auto vocabulary = zipf_vocabulary(50);
  const auto corpus = EncodedCorpus::from_sentences(random_sentences(300, 20, 50), vocabulary);
  Trainer<TestType, FusedKernel> plain(parameters());
  Trainer<Subwords<TestType>, FusedKernel> subwords(parameters(),
                                                    {TestType::from(parameters()), {.maxn = 0}});
  const SubwordEmbeddings vectors = subwords.fit(corpus, vocabulary);
  CHECK(same(vectors.in_vocabulary(), plain.fit(corpus, vocabulary)));
  Model one = plain.new_model(vocabulary), other = subwords.new_model(vocabulary);
  CHECK_FALSE(other.subwords.has_value());
  plain.train(corpus, one);
  subwords.train(corpus, other);
  CHECK(same_matrices(one, other));
  CHECK(subwords.report().loss == plain.report().loss);
}

TEST_CASE("one thread and one seed give the same bits, even after an interruption",
          "[subwords][checkpoint]") {
  const TemporaryFolder folder;
  const auto vocabulary = zipf_vocabulary(150);
  const auto corpus = EncodedCorpus::from_sentences(random_sentences(300, 100, 150), vocabulary);
  auto trainer = subword_trainer();
  const SubwordEmbeddings vectors = trainer.fit(corpus, vocabulary);
  Model whole = trainer.new_model(vocabulary);
  trainer.train(corpus, whole);
  CHECK(same_matrix(vectors.input(), whole.input));
  for (const double fraction : {0.0, 0.3, 0.8}) {
    auto first = subword_trainer();
    first.checkpoint_to(folder / "state");
    first.on_progress([&](const Progress& at) { return at.fraction() < fraction; }, 0s);
    first.fit(corpus, vocabulary);
    REQUIRE(first.report().stopped);
    Model resumed = trainer.new_model(vocabulary);
    CHECK(subword_trainer().resume_training(corpus, resumed, folder / "state").loss ==
          Approx(trainer.report().loss));
    CHECK(same_matrices(resumed, whole));
  }
}

namespace {

/// Adds 1/64 to each input of each block, slowly, so that threads train at the same time.
struct CountingKernel {
  static constexpr bool keeps_nothing_by_row = true;
  struct Worker {
    template <bool>
    double update(Model& model, const Block& block, float) {
      std::this_thread::sleep_for(10us);
      for (const RowId row : block.inputs)
        for (std::size_t c = 0; c < model.dimension(); ++c) model.input.row_data(row)[c] += 0x1p-6f;
      return 1.0;
    }
  };
  Worker worker(const Model&, Block::Shape) const { return {}; }
};

}  // namespace

TEST_CASE("all changes of all threads arrive in all rows of a bag", "[subwords]") {
  // Words w1x0 to w1x9 share n-grams among them alone, and each thread has its own ten.
  const auto vocabulary = vocabulary_of_counts(std::vector<std::uint64_t>(30, 5));
  const SubwordOptions options{.minn = 4, .maxn = 4, .buckets = 100'003};
  const detail::SubwordTable table(vocabulary, options);
  Sentences sentences(90);
  std::vector<double> changes(table.input_rows());
  Random random(2);
  for (std::size_t i = 0; i < sentences.size(); ++i)
    for (std::size_t at = 0; at < 10; ++at) {
      sentences[i].push_back(static_cast<WordId>(i / 30 * 10 + random.below(10)));
      const std::size_t centres = std::min<std::size_t>(9, at + 3) - (at < 3 ? 0 : at - 3);
      for (const RowId row : table[sentences[i].back()])
        changes[row] += 2 * static_cast<double>(centres) / 64;  // in two epochs
    }
  const auto corpus = EncodedCorpus::from_sentences(sentences, vocabulary);
  for (const std::size_t threads : {1u, 3u}) {
    const Hyperparameters with{.dimension = 5, .subsample = 0, .epochs = 2, .threads = threads};
    Trainer<Subwords<SharedNegative>, CountingKernel> trainer(
        with, {{.window = Window::fixed(3)}, options});
    Model model = trainer.new_model(vocabulary);
    const Model before = trainer.new_model(vocabulary);
    trainer.train(corpus, model);
    double worst = 0;
    for (std::size_t row = 0; row < model.rows(); ++row)
      for (std::size_t c = 0; c < with.dimension; ++c)
        worst = std::max(worst, std::abs(double{model.input.row(row)[c]} -
                                         double{before.input.row(row)[c]} - changes[row]));
    CHECK(is_finite(model));
    CHECK(worst < 1e-3);  // a word that is lost is 6 / 64 or more
  }
}

TEST_CASE("threads learn words with subwords, with private rows and without", "[subwords]") {
  const auto vocabulary = small_vocabulary(100);
  const auto corpus = paired_corpus(vocabulary, 4000);
  for (const std::size_t threads : {1u, 4u})
    for (const std::size_t private_rows : {0u, 64u}) {
      Hyperparameters with = small(threads);
      with.private_rows = private_rows;
      auto trainer = subword_trainer(with);
      std::size_t calls = 0;
      bool as_expected = true;
      trainer.on_progress(
          [&](const Progress&, const Model& model) {
            if (calls++ % 16 == 0)
              as_expected = as_expected && model.rows() == 600 && is_finite(model);
          },
          0s);
      Model model = trainer.new_model(vocabulary);
      const TrainReport report = trainer.train(corpus, model);
      CHECK(calls > 3);
      CHECK(as_expected);
      CHECK(is_finite(model));
      CHECK(model.rows() == 600);
      CHECK(report.tokens == 3 * corpus.token_count());
      CHECK(report.epoch_losses[1] < report.epoch_losses[0]);
      CHECK(report.epoch_losses[2] < report.epoch_losses[1]);
      const SubwordEmbeddings vectors(std::move(model));
      std::size_t found = 0;
      for (WordId w = 0; w < 100; ++w)
        found += vectors.most_similar(vocabulary.word(w), 1)[0].word == vocabulary.word(w ^ 1);
      INFO(threads << " threads, " << private_rows << " private rows: " << found);
      CHECK(found > 90);
    }
}

TEST_CASE("ranks train a model with subwords and end with equal models", "[subwords][sync]") {
  const auto vocabulary = small_vocabulary(60);
  const auto corpus = paired_corpus(vocabulary, 1000);
  const auto alone = subword_trainer(small()).fit(corpus, vocabulary);
  const auto train = [&](std::size_t ranks, std::size_t threads) {
    std::vector<std::optional<SubwordEmbeddings>> all(ranks);
    ThreadRanks::run(ranks, [&](ThreadRanks self) {
      Allreduce<ThreadRanks> sync(self, {.overlap = false});
      all[self.rank()].emplace(subword_trainer<SharedNegative, FusedKernel, Allreduce<ThreadRanks>>(
                                   small(threads), std::move(sync))
                                   .fit(corpus, vocabulary));
    });
    return all;
  };
  CHECK(same_matrix(train(1, 1)[0]->input(), alone.input()));
  for (const std::size_t threads : {1u, 2u}) {
    const auto all = train(3, threads);
    for (const auto& one : all) CHECK(same_matrix(one->input(), all[0]->input()));
    CHECK(all[0]->input().rows() == 560);
    CHECK(all[0]->vector("w5x") == all[2]->vector("w5x"));
    double lengths = 0, lengths_alone = 0;
    for (std::size_t i = 0; i < alone.size(); ++i) {
      lengths += 1 / detail::inverse_length(all[0]->vector(i));
      lengths_alone += 1 / detail::inverse_length(alone.vector(i));
    }
    // Two threads of a rank overwrite changes of each other, how many is chance.
    CHECK(lengths == Approx(lengths_alone).epsilon(threads == 1 ? 0.1 : 0.25));
  }
}

TEST_CASE("expected updates of n-grams are those of their words", "[subwords]") {
  const auto vocabulary = zipf_vocabulary(30);
  const WordRates rates(vocabulary, 1e-3);
  const auto run = Subwords<Cbow>{{}, {.minn = 1, .maxn = 2, .buckets = 20}}.start(vocabulary);
  const detail::ExpectedUpdates expected = run.expected_updates(rates);
  const detail::ExpectedUpdates of_words = Cbow().start(vocabulary).expected_updates(rates);
  CHECK(expected.output == of_words.output);
  std::vector<double> sums(50);
  for (WordId w = 0; w < 30; ++w)
    for (const RowId row : run.subword_table()[w]) sums[row] += double{of_words.input[w]};
  REQUIRE(expected.input.size() == 50);
  for (std::size_t row = 0; row < 50; ++row) CHECK(expected.input[row] == Approx(sums[row]));
}

TEST_CASE("a model with subwords different from the sampler's is refused", "[subwords]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary, 10);
  const auto refusal = [&](auto trainer, const Model::Shape& shape) {
    Model model(vocabulary, shape);
    return message_of<InvalidArgument>([&] { trainer.train(corpus, model); });
  };
  const std::string ours = "subwords of minn 2, maxn 4, 500 buckets";
  CHECK(refusal(subword_trainer(small()), {.dimension = 16}) ==
        "the model has no subwords, this sampler " + ours);
  CHECK(refusal(subword_trainer(small()), {.dimension = 16, .input_rows = 520}) ==
        "the model has no subwords, this sampler " + ours);
  for (const SubwordOptions& other : {SubwordOptions{3, 4, 500}, SubwordOptions{2, 5, 500},
                                      SubwordOptions{2, 4, 501}, SubwordOptions{2, 0, 500}})
    CHECK(contains(refusal(subword_trainer(small()),
                           {.dimension = 16, .input_rows = 20 + other.rows(), .subwords = other}),
                   "the model has subwords of minn " + std::to_string(other.minn) + ", maxn " +
                       std::to_string(other.maxn) + ", " + std::to_string(other.buckets) +
                       " buckets, this sampler " + ours));
  const Model::Shape fitting{
      .dimension = 16, .input_rows = 520, .subwords = SubwordOptions{2, 4, 500}};
  CHECK(refusal(Trainer<SharedNegative, FusedKernel>(small()), fitting) ==
        "the model has " + ours + ", this sampler no subwords");
  Model model(vocabulary, fitting);
  subword_trainer(small()).train(corpus, model);
  CHECK(contains(refusal(subword_trainer(parameters()), fitting), "520 x 12"));
  CHECK(contains(
      message_of<InvalidArgument>([&] {
        Trainer<Subwords<SharedNegative>, FusedKernel>(small(), {{}, {.minn = 5, .maxn = 3}});
      }),
      "minn is 5"));
}
