#include <wordloom/sync/expected_pairs.hpp>

#include <cstddef>
#include <vector>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "small_models.hpp"

using namespace wordloom;

namespace {

/// Counts how often each row is paired.
struct Counter {
  std::vector<double> input, output;

  void operator()(const Block& block) {
    for (const WordId i : block.inputs) input[i] += static_cast<double>(block.outputs.size());
    for (const WordId o : block.outputs) output[o] += static_cast<double>(block.inputs.size());
  }
  void prefetch(std::span<const WordId>, std::span<const WordId>) {}
};

}  // namespace

TEST_CASE("rows are paired as often as expected", "[sync]") {
  const auto vocabulary = zipf_vocabulary(200, 100'000);
  const Hyperparameters parameters{.window = 4, .negatives = 3, .subsample = 0.01};
  const detail::ExpectedPairs expected(vocabulary, parameters);
  // Words as the vocabulary counts them, in one long sentence: the ends of sentences do not count.
  const AliasTable words(
      std::vector<double>(vocabulary.counts().begin(), vocabulary.counts().end()));
  Random random(7);
  constexpr std::size_t length = 200'000;
  std::vector<WordId> sentence(length), kept;
  for (WordId& word : sentence) word = words.draw(random);
  Counter counter{std::vector<double>(200), std::vector<double>(200)};
  SharedNegative sampler(parameters, vocabulary);
  const Subsampling subsampling(vocabulary, parameters.subsample);
  sampler.sample(subsampling(sentence, random, kept), random, counter);
  // Among 200 words some stand twice in a block.
  for (const std::size_t row : {0u, 1u, 5u, 20u, 100u}) {
    CHECK(counter.input[row] / length == Approx(expected.input[row]).epsilon(0.05));
    CHECK(counter.output[row] / length == Approx(expected.output[row]).epsilon(0.05));
  }
}

TEST_CASE("the common direction is the mean of rows by their pairs", "[sync]") {
  RowMatrix matrix(3, 2);
  const float rows[3][2] = {{3, 0}, {1, 2}, {0, 4}};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t d = 0; d < 2; ++d) matrix.row(i)[d] = rows[i][d];
  const auto common = detail::common_direction(matrix, {2, 3, 0});  // (9, 6) / 5
  CHECK(common.direction[0] == Approx(9 / std::sqrt(117.0)));
  CHECK(common.direction[1] == Approx(6 / std::sqrt(117.0)));
  // Along it: 27 and 21 by the root of 117.
  CHECK(common.square == Approx((2 * 27 * 27 + 3 * 21 * 21) / 117.0 / 5));
  CHECK(detail::common_direction(RowMatrix(3, 2), {1, 1, 1}).square == 0);
}
