// Bags of n-grams are trained as plain code in double precision trains them.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/sampler/subwords.hpp>
#include <wordloom/testing/oracle.hpp>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "small_models.hpp"

using namespace wordloom;

namespace {

using Sentences = std::vector<std::vector<WordId>>;

/// The oracle's learning rate stays the same, and so does that of the trainer.
struct ConstantRate {
  double rate(double) const { return 0x1p-7; }
};

/// Trains in double precision as the comment of Subwords says.
class OracleSink {
 public:
  OracleSink(const Model& model, const detail::SubwordTable& table, std::size_t slots)
      : model_(model), table_(table) {
    for (std::size_t slot = slots; slot-- > 0;)
      free_.push_back(static_cast<RowId>(model.input.rows() + slot));
    model_.input.values.resize((model.input.rows() + slots) * model.dimension());
  }

  void operator()(const Block& block) {
    std::vector<RowId> rows;
    for (const WordId word : block.inputs) rows.push_back(row_of(word, rows));
    Block composed = block;
    composed.inputs = rows;
    oracle::update(model_, composed, ConstantRate().rate(0));
  }

  void end_sentences() {
    while (!composed_.empty()) add_change(0);
  }
  const oracle::Model& model() const { return model_; }

 private:
  struct Composed {
    WordId word;
    RowId row;
    std::vector<double> before;
  };

  RowId row_of(WordId word, const std::vector<RowId>& used) {
    const auto bag = table_[word];
    if (bag.size() == 1) return bag[0];
    for (const Composed& known : composed_)
      if (known.word == word) return known.row;
    for (std::size_t i = 0; free_.empty(); ++i)
      if (std::find(used.begin(), used.end(), composed_[i].row) == used.end()) add_change(i);
    Composed& added = composed_.emplace_back(Composed{word, free_.back(), {}});
    free_.pop_back();
    for (std::size_t c = 0; c < model_.input.columns; ++c) {
      double sum = 0;
      for (const RowId row : bag) sum += model_.input.at(row, c);
      added.before.push_back(sum / static_cast<double>(bag.size()));
      model_.input.at(added.row, c) = added.before.back();
    }
    return added.row;
  }

  void add_change(std::size_t i) {
    const Composed& done = composed_[i];
    for (std::size_t c = 0; c < model_.input.columns; ++c)
      for (const RowId row : table_[done.word])
        model_.input.at(row, c) += model_.input.at(done.row, c) - done.before[c];
    free_.push_back(done.row);
    composed_.erase(composed_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  oracle::Model model_;
  detail::SubwordTable table_;
  std::vector<RowId> free_;
  std::vector<Composed> composed_;  // oldest first
};

/// The largest difference from the oracle, in units of the largest number of the row.
double difference(const RowMatrix& got, const oracle::Matrix& want) {
  double worst = 0;
  for (std::size_t i = 0; i < got.rows(); ++i) {
    double most = 0, largest = 1e-3;
    for (std::size_t c = 0; c < got.columns(); ++c) {
      const double apart = std::abs(double{got.row(i)[c]} - want.at(i, c));
      if (!std::isfinite(apart)) return std::numeric_limits<double>::infinity();
      most = std::max(most, apart);
      largest = std::max(largest, std::abs(want.at(i, c)));
    }
    worst = std::max(worst, most / largest);
  }
  return worst;
}

/// Words of one letter, which with minn 4 have no n-gram, and longer ones.
Vocabulary mixed_words() {
  std::vector<std::pair<std::string, std::uint64_t>> words;
  for (std::size_t i = 0; i < 150; ++i)
    words.emplace_back(
        i % 6 == 0 ? std::string(1, static_cast<char>('a' + i / 6)) : "w" + std::to_string(100 + i),
        1000 - i);
  return Vocabulary::from_counts(words);
}

/// A sentence of all words in turn.
Sentences long_sentence(std::size_t size) {
  Sentences sentences(1);
  for (std::size_t i = 0; i < size; ++i) sentences[0].push_back(static_cast<WordId>(i % 150));
  return sentences;
}

template <class Sampler, class Kernel>
void check_training(const Sentences& sentences, const SubwordOptions& options, Window window = {},
                    std::size_t slots = 64) {
  const Vocabulary vocabulary = mixed_words();
  const auto corpus = EncodedCorpus::from_sentences(sentences, vocabulary);
  const Hyperparameters parameters{.dimension = 12,
                                   .window = window.size,
                                   .fixed_window = window.is_fixed,
                                   .subsample = 0,
                                   .epochs = 2,
                                   .threads = 1,
                                   .seed = 6};
  const Subwords<Sampler> sampler{Sampler::from(parameters), options};
  Trainer<Subwords<Sampler>, Kernel, NoSync, ConstantRate> trainer(parameters, sampler);
  Model model = trainer.new_model(vocabulary);
  Random random(5);
  for (RowMatrix* matrix : {&model.input, &model.output})
    for (std::size_t i = 0; i < matrix->rows(); ++i)
      for (float& x : matrix->row(i)) x = static_cast<float>(random.uniform() - 0.5);

  const auto run = sampler.start(vocabulary);
  OracleSink expected(model, run.subword_table(), slots);
  auto worker = run.worker();
  for (std::size_t epoch = 0; epoch < parameters.epochs; ++epoch) {
    Random draws(parameters.seed, 0, epoch);
    // The trainer takes sentences at once until they have 100 words.
    detail::SentenceBuffer some;
    for (std::size_t i = 0; i < sentences.size(); ++i) {
      some.add(sentences[i]);
      if (some.words() < 100 && i + 1 < sentences.size()) continue;
      worker.sample(some.sentences(), draws, expected);
      expected.end_sentences();
      some.clear();
    }
  }
  trainer.train(corpus, model);
  INFO(sentences[0].size() << " words, " << options.buckets << " buckets");
  REQUIRE(model.input.rows() == 150 + options.buckets);
  CHECK(difference(model.input, expected.model().input) < 1e-5);
  CHECK(difference(model.output, expected.model().output) < 1e-5);
}

template <class Sampler, class Kernel>
void check_trainings() {
  const SubwordOptions few{.minn = 4, .maxn = 5, .buckets = 7};
  check_training<Sampler, Kernel>(random_sentences(6, 25, 30), few);
  check_training<Sampler, Kernel>(random_sentences(6, 25, 150), {.buckets = 5000});
  check_training<Sampler, Kernel>(long_sentence(300), few);
  check_training<Sampler, Kernel>(long_sentence(300), {.minn = 1, .maxn = 3, .buckets = 300});
}

}  // namespace

TEMPLATE_TEST_CASE("bags are trained like a plain loop in double precision", "[subwords]",
                   SharedNegative, Hogwild, Cbow, GroupedWindow) {
  check_trainings<TestType, DotKernel>();
  check_trainings<TestType, FusedKernel>();
#if WORDLOOM_HAS_BLAS
  check_trainings<TestType, GemmKernel>();
#endif
}

TEST_CASE("a word that the current block uses keeps its scratch row", "[subwords]") {
  Sentences sentences(1);
  for (std::size_t i = 0; i < 240; ++i)
    sentences[0].push_back(static_cast<WordId>(i % 3 == 0 ? 1 : 2 + i % 148));
  check_training<SharedNegative, FusedKernel>(sentences, {.buckets = 70}, Window::fixed(3));
  // A block of 80 inputs needs more scratch rows than others.
  check_training<SharedNegative, FusedKernel>(long_sentence(140), {.buckets = 700},
                                              Window::fixed(40), 256);
}
