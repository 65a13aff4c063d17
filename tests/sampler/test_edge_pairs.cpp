#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>
#include <wordloom/sampler/edge_pairs.hpp>

#include "catch.hpp"
#include "small_models.hpp"
#include "statistics.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

struct Seen {
  RowId input;
  std::vector<RowId> outputs;
  friend bool operator==(const Seen&, const Seen&) = default;
};

/// Records blocks, each of which must have been announced.
struct RecordingSink {
  std::vector<Seen> blocks = {};
  std::deque<Seen> announced = {};

  void prefetch(std::span<const RowId> inputs, std::span<const RowId> outputs) {
    REQUIRE(inputs.size() == 1);
    announced.push_back({inputs[0], {outputs.begin(), outputs.end()}});
  }
  void operator()(const Block& block) {
    REQUIRE(block.inputs.size() == 1);
    REQUIRE(block.positives == 1);
    REQUIRE(block.examples == 1);
    REQUIRE(block.update == Block::Sides::both);
    REQUIRE_FALSE(block.has_bags());
    REQUIRE(block.weights.empty());
    blocks.push_back({block.inputs[0], {block.outputs.begin(), block.outputs.end()}});
    while (!announced.empty() && announced.front() != blocks.back()) announced.pop_front();
    REQUIRE_FALSE(announced.empty());
  }
};

std::vector<WordId> random_edges(std::size_t edges, std::size_t nodes, Random& random) {
  std::vector<WordId> sentence(2 * edges);
  for (WordId& node : sentence) node = static_cast<WordId>(random.below(nodes));
  return sentence;
}

template <class Policy>
std::vector<Seen> blocks_of(const Policy& policy, const Vocabulary& vocabulary,
                            std::span<const WordId> sentence, std::uint64_t seed = 1) {
  auto worker = policy.start(vocabulary).worker();
  CHECK(worker.max_block().inputs == 1);
  CHECK(worker.max_block().outputs == 1 + policy.targets.negatives);
  RecordingSink sink;
  Random random(seed);
  worker.sample(sentence, random, sink);
  return std::move(sink.blocks);
}

}  // namespace

TEMPLATE_TEST_CASE("each edge is a block of its own, in order", "[edge_pairs]",
                   detail::LineFirstOrder, detail::LineSecondOrder) {
  constexpr bool is_first = std::is_same_v<TestType, detail::LineFirstOrder>;
  const auto vocabulary = zipf_vocabulary(5);
  TestType policy;
  for (const std::size_t negatives : {1u, 5u})
    for (const std::size_t edges : {0u, 1u, 2u, 7u, 8u, 9u, 16u, 17u, 500u}) {
      policy.targets.negatives = negatives;
      Random random(edges);
      const auto sentence = random_edges(edges, 5, random);
      const auto blocks = blocks_of(policy, vocabulary, sentence);
      std::size_t block = 0;
      for (std::size_t i = 0; i < sentence.size(); i += 2) {
        const WordId from = sentence[i], to = sentence[i + 1];
        if (is_first && from == to) continue;
        REQUIRE(block < blocks.size());
        const auto& [input, outputs] = blocks[block++];
        REQUIRE(input == from);
        REQUIRE(outputs.size() == 1 + negatives);
        REQUIRE(outputs[0] == to);
        for (std::size_t k = 1; k < outputs.size(); ++k) {
          REQUIRE(outputs[k] != to);
          if (is_first) REQUIRE(outputs[k] != from);
          REQUIRE(outputs[k] < 5);
        }
      }
      CHECK(block == blocks.size());
    }
}

TEST_CASE("negatives of an edge are drawn by count among the other nodes", "[edge_pairs]") {
  // Of the last, the ends of the edge are nearly all: others are then drawn exactly.
  for (const std::vector<std::uint64_t>& counts :
       {std::vector<std::uint64_t>{50, 40, 30, 20, 10, 5},
        {7, 7, 7},
        {1'000'000'000, 900'000'000, 4, 3, 1}})
    for (const auto& [from, to] : {std::pair<WordId, WordId>{0, 1}, {1, 0}, {2, 0}, {1, 2}}) {
      INFO("edge " << from << ", " << to << " of " << counts.size() << " nodes");
      std::vector<WordId> sentence;
      for (int i = 0; i < 20'000; ++i) sentence.insert(sentence.end(), {from, to});
      std::vector<std::uint64_t> got(counts.size());
      std::vector<double> shares(counts.size());
      double sum = 0;
      for (std::size_t i = 0; i < counts.size(); ++i)
        if (i != from && i != to) sum += shares[i] = std::pow(static_cast<double>(counts[i]), 0.75);
      for (double& share : shares) share /= sum;
      for (const Seen& block :
           blocks_of(detail::LineFirstOrder{}, vocabulary_of_counts(counts), sentence))
        for (std::size_t k = 1; k < block.outputs.size(); ++k) ++got[block.outputs[k]];
      // Tables are exact to 2^-32.
      for (std::size_t i = 0; i < shares.size(); ++i)
        if (shares[i] * 1e5 < 1) got[i] = 0, shares[i] = 0;
      CHECK(chi_squared_deviation(got, shares) < 5);
    }
}

TEST_CASE("workers of a run of edges make equal blocks from equal random numbers", "[edge_pairs]") {
  const auto vocabulary = zipf_vocabulary(50);
  Random random(3);
  const auto sentence = random_edges(300, 50, random);
  CHECK(blocks_of(detail::LineFirstOrder{}, vocabulary, sentence) ==
        blocks_of(detail::LineFirstOrder{}, vocabulary, sentence));
  CHECK(blocks_of(detail::LineFirstOrder{}, vocabulary, sentence) !=
        blocks_of(detail::LineFirstOrder{}, vocabulary, sentence, 2));
  CHECK(blocks_of(detail::LineSecondOrder{}, vocabulary, sentence) ==
        blocks_of(detail::LineSecondOrder{}, vocabulary, sentence));
}

TEST_CASE("rows of edges are scored as often as expected_updates says", "[edge_pairs]") {
  // No node is so frequent that it is often drawn for its own negative.
  std::vector<std::uint64_t> counts;
  for (std::size_t i = 0; i < 400; ++i) counts.push_back(3000 - 6 * i);
  const auto vocabulary = vocabulary_of_counts(counts);
  const detail::AliasTable nodes(std::vector<double>(counts.begin(), counts.end()));
  const auto check = [&](const auto& policy, bool one_matrix) {
    const auto run = policy.start(vocabulary);
    constexpr std::size_t edges = 1'000'000;
    Random random(8);
    std::vector<WordId> sentence(2 * edges);
    for (WordId& node : sentence) node = nodes.draw(random);
    std::vector<double> input(counts.size()), output(one_matrix ? 0 : counts.size());
    auto worker = run.worker();
    worker.sample(sentence, random, [&](const Block& block) {
      input[block.inputs[0]] += static_cast<double>(block.outputs.size());
      for (const RowId row : block.outputs) ++(one_matrix ? input : output)[row];
    });
    const detail::ExpectedUpdates expected = run.expected_updates(WordRates(vocabulary, 0));
    const auto compare = [&](const std::vector<double>& got, const std::vector<float>& wanted) {
      REQUIRE(wanted.size() == got.size());
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < got.size(); ++i) {
        const double updates = static_cast<double>(wanted[i]) * 2 * edges;
        wrong += std::abs(got[i] - updates) > 0.02 * updates + 15 * std::sqrt(updates);
      }
      CHECK(wrong == 0);
    };
    compare(input, expected.input);
    compare(output, expected.output);
  };
  check(detail::LineFirstOrder{{.negatives = 3}}, true);
  check(detail::LineSecondOrder{{.negatives = 3}}, false);
}

TEST_CASE("edge samplers take their parameters from the hyperparameters", "[edge_pairs]") {
  const Hyperparameters parameters{.negatives = 7, .negative_exponent = 0.5};
  CHECK(detail::LineFirstOrder::from(parameters).targets.negatives == 7);
  CHECK(detail::LineFirstOrder::from(parameters).targets.exponent == 0.5);
  CHECK(detail::LineSecondOrder::from(parameters).targets.negatives == 7);
  CHECK_THROWS_AS(validate_parameters(detail::LineFirstOrder{{.negatives = 0}}), InvalidArgument);
}

TEST_CASE("sentences and graphs without edges to train are refused", "[edge_pairs]") {
  const auto vocabulary = zipf_vocabulary(4);
  const std::vector<WordId> odd{0, 1, 2};
  CHECK(contains(
      message_of<InvalidArgument>([&] { blocks_of(detail::LineSecondOrder{}, vocabulary, odd); }),
      "two words for each, this one has 3"));
  CHECK(contains(message_of<CorpusError>([] {
                   detail::LineFirstOrder{}.start(vocabulary_of_counts({2, 1}));
                 }),
                 "at least 3 nodes with edges, got 2"));
  CHECK_THROWS_AS(detail::LineSecondOrder{}.start(vocabulary_of_counts({2})), CorpusError);
}
