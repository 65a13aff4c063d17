// The gradients of a character CNN, by finite differences in double precision, and its training.
#if WORDLOOM_HAS_BLAS
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/columns.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/eigen.hpp>
#include <wordloom/encoders.hpp>
#include <wordloom/schedule/schedules.hpp>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "encoder/char_cnn_oracle.hpp"
#include "encoder/gradient_steps.hpp"
#include "encoder/gradients.hpp"
#include "small_models.hpp"
#include "support.hpp"

using namespace wordloom;
using namespace encoder_gradients;

namespace {

constexpr CharCnn narrow{.character_dimension = 5,
                         .min_width = 2,
                         .max_width = 5,
                         .filters = 16,
                         .adam = gradient_shows};
constexpr CharCnn wide{.character_dimension = 3,
                       .min_width = 1,
                       .max_width = 2,
                       .filters = 48,
                       .adam = gradient_shows};
// Words have from 1 to 40 windows of it.
constexpr CharCnn flat{.character_dimension = 4,
                       .min_width = 2,
                       .max_width = 3,
                       .filters = 16,
                       .positions = 5,
                       .adam = gradient_shows};

}  // namespace

TEST_CASE("the gradients of all parameters are those of finite differences", "[encoder]") {
  const Vocabulary vocabulary = various_words();
  REQUIRE(vocabulary.word(11).size() == 40);
  for (const CharCnn& encoder : {narrow, wide, flat}) {
    Model model = large_model(encoder, vocabulary, 8);
    const CharCnnOracle before(model.state);
    const auto expected = gradients(before, vocabulary, model.input);
    encoder.start(model, 2, 1).learn(1);
    REQUIRE(before.parameters().size() == 5 + encoder.max_width - encoder.min_width);
    for (std::size_t i = 0; i < before.parameters().size(); ++i) {
      const auto& [name, matrix] = before.parameters()[i];
      std::vector<float> got = values_of(model, name);
      REQUIRE(got.size() == matrix.values.size());
      for (std::size_t k = 0; k < got.size(); ++k)
        got[k] = static_cast<float>(gradient_of(double{got[k]} - matrix.values[k]));
      INFO(name);
      CHECK(largest(expected[i]) > 0.1);
      CHECK(largest_difference(got, expected[i]) < 1e-3 * largest(expected[i]));
    }
    const CharCnnOracle after(model.state);
    const CharCnnEmbeddings words(std::move(model));
    for (const std::string word : {"a", "", "bananas", "Donaudampfschifffahrtsgesellschaft"})
      CHECK(largest_difference(words.vector(word), after.vector(word)) < 1e-4);
  }
}

TEST_CASE("each batch is a step of its own, with the parameters that the last one left",
          "[encoder]") {
  const Vocabulary vocabulary = various_words();
  CharCnn encoder = wide;
  encoder.batch = 5;  // of 12 words: three batches of four
  Model model = large_model(encoder, vocabulary, 8);
  const RowMatrix targets = model.input.copy();
  CharCnnOracle expected(model.state);
  constexpr double rate = 0.05;
  for (std::size_t batch = 0; batch < 3; ++batch) {
    const auto of_batch = gradients(expected, vocabulary, targets, batch, 3);
    for (std::size_t i = 0; i < of_batch.size(); ++i)
      for (std::size_t k = 0; k < of_batch[i].size(); ++k)
        expected.parameters()[i].matrix.values[k] += rate * step_of(of_batch[i][k]);
  }
  encoder.start(model, 3, 1).learn(rate);
  for (const auto& [name, matrix] : expected.parameters()) {
    INFO(name);
    CHECK(largest_difference(values_of(model, name), matrix.values) < 1e-3 * rate);
  }
  // The input rows are then the vectors of the network.
  for (WordId word = 0; word < vocabulary.size(); ++word)
    CHECK(largest_difference(model.input.row(word), expected.vector(vocabulary.word(word))) < 0.01);
}

namespace {

/// A pair of a word, its positive and its negative output, of a model of so many words.
std::array<RowId, 2> outputs_of(WordId word, WordId positive, std::size_t words) {
  return {static_cast<RowId>(positive % words), static_cast<RowId>((word + 5) % words)};
}

/// A block of each word with the word after it in the vocabulary, or, of columns, in the first of
/// two steps, with its context; and a negative.
template <bool of_columns>
struct PlainPairs {
  static constexpr bool two_steps = of_columns;
  static constexpr Block::Features uses = {.one_side = of_columns};
  template <class Visit>
  void visit_parameters(Visit&&) const {}

  struct Worker {
    std::size_t words;
    Block::Sides step = Block::Sides::both;
    Block::Shape max_block() const { return {.inputs = 1, .outputs = 2}; }
    void begin_step(Block::Sides sides) { step = sides; }
    template <class Sink>
    void sample(std::span<const WordId> text, Random&, Sink&& sink) {
      if (step == Block::Sides::outputs) return;
      for (std::size_t i = 0; i < text.size(); i += of_columns ? 2 : 1) {
        const auto outputs = outputs_of(text[i], of_columns ? text[i + 1] : text[i] + 1, words);
        sink(Block{.inputs = text.subspan(i, 1),
                   .outputs = outputs,
                   .positives = 1,
                   .examples = 1,
                   .update = step});
      }
    }
  };
  Worker start(const Vocabulary& vocabulary) const { return {vocabulary.size()}; }
};

/// The loss of word i of `text` with the positive output `contexts[i]`.
double loss_of_pairs(const CharCnnOracle& network, const Vocabulary& vocabulary,
                     const oracle::Matrix& outputs, std::span<const WordId> text,
                     std::span<const WordId> contexts) {
  double sum = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto vector = network.vector(vocabulary.word(text[i]));
    const auto rows = outputs_of(text[i], contexts[i], vocabulary.size());
    for (std::size_t k = 0; k < 2; ++k) {
      double score = 0;
      for (std::size_t c = 0; c < vector.size(); ++c) score += vector[c] * outputs.at(rows[k], c);
      sum += oracle::negative_log_sigmoid(k == 0 ? score : -score);
    }
  }
  return sum;
}

/// The words, and their contexts, of each step of an encoder.
using Steps = std::vector<std::pair<std::vector<WordId>, std::vector<WordId>>>;

constexpr double encoder_rate = 0.25;

/// A model whose outputs are as large as 1.
Model model_of(const CharCnn& encoder, const Vocabulary& vocabulary) {
  Model model = large_model(encoder, vocabulary, 8);
  Random random(5);
  model.output = random_matrix(vocabulary.size(), 6, random);
  return model;
}

/// Returns the network after steps against the gradients of their losses.
CharCnnOracle after_steps(const CharCnn& encoder, const Vocabulary& vocabulary,
                          const Steps& steps) {
  const Model model = model_of(encoder, vocabulary);
  const oracle::Matrix outputs(model.output);
  CharCnnOracle result(model.state);
  for (const auto& step : steps) {
    const auto gradient = differences(result, [&](const CharCnnOracle& network) {
      return loss_of_pairs(network, vocabulary, outputs, step.first, step.second);
    });
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      CHECK(largest(gradient[i]) > 0.05);
      for (std::size_t k = 0; k < gradient[i].size(); ++k)
        result.parameters()[i].matrix.values[k] += encoder_rate * step_of(gradient[i][k]);
    }
  }
  return result;
}

/// Trains end to end, at a learning rate at which outputs that move hardly do, and checks the
/// network. `accuracy`: of a step.
template <bool of_columns, class Kernel, class Corpus>
void check_end_to_end(CharCnn encoder, const Kernel& kernel, double rate, const Corpus& corpus,
                      const Vocabulary& vocabulary, const CharCnnOracle& expected,
                      double accuracy) {
  encoder.learning_rate = encoder_rate;
  Trainer<Encoded<PlainPairs<of_columns>, CharCnn>, Kernel, NoSync, ConstantRate> trainer(
      {.dimension = 6, .subsample = 0, .learning_rate = rate, .epochs = 1, .threads = 1},
      {.sampler = {}, .encoder = encoder, .end_to_end = true}, kernel, {}, ConstantRate{rate});
  Model model = model_of(encoder, vocabulary);
  trainer.train(corpus, model);
  for (const auto& [name, matrix] : expected.parameters()) {
    INFO(name);
    CHECK(largest_difference(values_of(model, name), matrix.values) < accuracy * encoder_rate);
  }
  // The input rows are then the vectors of the network.
  const CharCnnOracle after(model.state);
  for (WordId word = 0; word < vocabulary.size(); ++word)
    CHECK(largest_difference(model.input.row(word), after.vector(vocabulary.word(word))) < 1e-4);
}

}  // namespace

TEST_CASE("a minibatch of sentences is one step against the gradient of its loss", "[encoder]") {
  const Vocabulary vocabulary = various_words();
  const std::vector<std::vector<WordId>> text{{0, 3, 5, 3}, {7, 11, 2, 3}};
  const auto corpus = EncodedCorpus::from_sentences(text, vocabulary);
  // Vanilla takes all gradients of a batch by the vectors as they are when it begins.
  using Vanilla = WithOptimizer<DotKernel, Adam>;
  for (CharCnn encoder : {narrow, flat}) {
    const auto whole =
        after_steps(encoder, vocabulary, {{{0, 3, 5, 3, 7, 11, 2, 3}, {1, 4, 6, 4, 8, 12, 3, 4}}});
    check_end_to_end<false>(encoder, DotKernel(), 1e-3, corpus, vocabulary, whole, 1e-2);
    check_end_to_end<false>(encoder, Vanilla{.optimizer = {.dense = true}, .batch = 100}, 0.5,
                            corpus, vocabulary, whole, 1e-3);
    // Three words and one of another block, or batches of five pairs.
    const auto in_two = after_steps(encoder, vocabulary,
                                    {{{0, 3, 5, 3, 7}, {1, 4, 6, 4, 8}}, {{11, 2, 3}, {12, 3, 4}}});
    encoder.batch = 3;
    check_end_to_end<false>(encoder, DotKernel(), 1e-3, corpus, vocabulary, in_two, 1e-2);
    check_end_to_end<false>(encoder, Vanilla{.batch = 5}, 1e-3, corpus, vocabulary, in_two, 1e-2);
  }
}

TEST_CASE("a column is one step against the gradient of its loss", "[encoder]") {
  const Vocabulary vocabulary = various_words();
  const auto corpus = EncodedCorpus::from_sentences(random_sentences(40, 9, 12), vocabulary);
  const auto matrix = WordContextMatrix::from(corpus, vocabulary, {.columns = 2});
  Steps columns(2);
  for (std::size_t i = 0; i < 2; ++i) {
    columns[i].first.assign(matrix.words().begin(), matrix.words().end());
    columns[i].second.resize(matrix.words().size());
    matrix.contexts(i, 0, columns[i].second);
  }
  REQUIRE(columns[0].first.size() == 12);
  for (const CharCnn& encoder : {narrow, flat}) {
    const auto expected = after_steps(encoder, vocabulary, columns);
    check_end_to_end<true>(encoder, FusedKernel(), 0.5, matrix, vocabulary, expected, 1e-3);
    check_end_to_end<true>(encoder, WithOptimizer<FusedKernel, Adam>(), 0.5, matrix, vocabulary,
                           expected, 1e-3);
  }
}

TEST_CASE("the embeddings of bytes that no word has keep their bits", "[encoder]") {
  const Vocabulary vocabulary = various_words();
  Model model = large_model(narrow, vocabulary, 8);
  std::set<std::size_t> used;
  for (WordId word = 0; word < vocabulary.size(); ++word)
    for (const std::size_t symbol : CharCnnOracle::symbols_of(vocabulary.word(word)))
      used.insert(symbol);
  const RowMatrix before = model.state_matrix("char_cnn.characters", 258, 5).copy();
  narrow.start(model, 1, 1).learn(0.1);
  const RowMatrix& after = model.state_matrix("char_cnn.characters", 258, 5);
  for (std::size_t symbol = 0; symbol < 258; ++symbol)
    CHECK(std::ranges::equal(before.row(symbol), after.row(symbol)) == !used.contains(symbol));
}

TEST_CASE("the parameters of a new network are matrices of the model's state", "[encoder]") {
  const CharCnn encoder{.character_dimension = 7, .min_width = 3, .max_width = 4, .filters = 32};
  const auto parameters_of = [&](std::uint64_t seed) {
    Model model(zipf_vocabulary(20), 12);
    static_cast<void>(encoder.start(model, 1, seed));
    return model;
  };
  const Model model = parameters_of(5);
  std::set<std::string> shapes;
  for (const auto& [name, matrix] : model.state)
    if (!contains(name, ".adam_"))
      shapes.insert(name + " " + std::to_string(matrix.rows()) + " x " +
                    std::to_string(matrix.columns()));
  CHECK(shapes == std::set<std::string>{"char_cnn.characters 258 x 7", "char_cnn.biases 2 x 32",
                                        "char_cnn.filters.3 21 x 32", "char_cnn.filters.4 28 x 32",
                                        "char_cnn.dense 64 x 12", "char_cnn.dense_bias 1 x 12"});
  CHECK(same_matrices(model, parameters_of(5)));
  CHECK_FALSE(same_matrices(model, parameters_of(6)));
}

TEST_CASE("any number of threads fits the network to the same bits", "[encoder]") {
  // Batches of 150 words, which threads share in parts of 64.
  const CharCnn encoder{
      .character_dimension = 5, .min_width = 2, .max_width = 4, .filters = 32, .batch = 150};
  const auto fitted = [&](std::size_t threads) {
    Model model = large_model(encoder, zipf_vocabulary(400), 3, 12);
    const RowMatrix targets = model.input.copy();
    CharCnn::Run run = encoder.start(model, threads, 1);
    for (int round = 0; round < 3; ++round) {
      eigen_view(model.input) = eigen_view(targets);
      run.learn(0.01);
    }
    return model;
  };
  const Model one = fitted(1);
  for (const std::size_t threads : {2u, 3u, 7u}) CHECK(same_matrices(fitted(threads), one));
}

TEST_CASE("repeated fitting reaches any vectors of a few words", "[encoder]") {
  const CharCnn encoder{.filters = 32, .batch = 16};
  Model model(zipf_vocabulary(30), 8);
  Random random(2);
  const RowMatrix targets = random_matrix(30, 8, random);
  CharCnn::Run run = encoder.start(model, 2, 1);
  const auto error = [&] {
    double sum = 0;
    for (std::size_t word = 0; word < 30; ++word)
      for (std::size_t c = 0; c < 8; ++c)
        sum += std::pow(double{model.input.row(word)[c]} - double{targets.row(word)[c]}, 2);
    return sum;
  };
  run.encode();
  const double at_first = error();
  CHECK(at_first > 30);
  for (int round = 0; round < 200; ++round) {
    eigen_view(model.input) = eigen_view(targets);
    run.learn(0.01);
  }
  INFO("squared error " << at_first << ", then " << error());
  CHECK(error() < 0.01 * at_first);
}
#endif
