// The gradients of a character CNN, by finite differences in double precision, and its training.
#if WORDLOOM_HAS_BLAS
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/core/random.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/eigen.hpp>
#include <wordloom/encoder/char_cnn.hpp>
#include <wordloom/model/model.hpp>

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

}  // namespace

TEST_CASE("the gradients of all parameters are those of finite differences", "[encoder]") {
  const Vocabulary vocabulary = various_words();
  REQUIRE(vocabulary.word(11).size() == 40);
  for (const CharCnn& encoder : {narrow, wide}) {
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
