#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/graph/edge_samples.hpp>

#include "catch.hpp"
#include "statistics.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

using Pair = std::pair<WordId, WordId>;
using Sentences = std::vector<std::vector<WordId>>;

/// Some nodes have many neighbours, one has a self-loop, and an edge comes twice.
const std::vector<Graph::Edge> small_edges{{0, 1, 1.5f}, {0, 2, 0.25f}, {0, 3, 4}, {0, 4, 1},
                                           {1, 2, 2},    {3, 4, 0.5f},  {4, 5, 3}, {5, 5, 2},
                                           {2, 0, 1},    {5, 0, 7}};

Graph small_graph(bool directed, bool weighted,
                  GraphOptions::Duplicates duplicate_edges = GraphOptions::Duplicates::merge) {
  return Graph::from_edges(
      small_edges, 6,
      {.directed = directed, .weighted = weighted, .duplicate_edges = duplicate_edges});
}

Sentences sentences_of(const EdgeSamples& samples, const Shard& shard) {
  Sentences all;
  for (const auto sentence : samples.sentences(shard))
    all.emplace_back(sentence.begin(), sentence.end());
  return all;
}

/// The share of each entry of the rows, from the input rather than from the rows.
std::map<Pair, double> expected_shares(const Graph& graph, bool merges) {
  std::map<Pair, double> weights;
  std::set<Pair> seen;
  for (const auto& [from, to, weight] : small_edges) {
    const WordId a = *graph.vocabulary().find(std::to_string(from)),
                 b = *graph.vocabulary().find(std::to_string(to));
    const auto add = [&, weight = weight](WordId x, WordId y) {
      if (!graph.is_weighted() && merges && !seen.insert({x, y}).second) return;
      weights[{x, y}] += graph.is_weighted() ? static_cast<double>(weight) : 1.0;
    };
    add(a, b);
    if (!graph.is_directed() && a != b) add(b, a);
  }
  double sum = 0;
  for (const auto& [pair, weight] : weights) sum += weight;
  for (auto& [pair, weight] : weights) weight /= sum;
  return weights;
}

}  // namespace

TEST_CASE("edges are drawn in proportion to their weights, in both directions", "[edge_samples]") {
  for (const bool directed : {false, true})
    for (const bool weighted : {false, true})
      for (const GraphOptions::Duplicates repeated :
           {GraphOptions::Duplicates::merge, GraphOptions::Duplicates::keep}) {
        INFO("directed " << directed << ", weighted " << weighted << ", merged "
                         << (repeated == GraphOptions::Duplicates::merge));
        const Graph graph = small_graph(directed, weighted, repeated);
        std::map<Pair, std::uint64_t> counts;
        for (const auto sentence :
             EdgeSamples(graph, {.edges_per_epoch = 400'000}).sentences({.seed = 5}))
          for (std::size_t i = 0; i < sentence.size(); i += 2)
            ++counts[{sentence[i], sentence[i + 1]}];
        std::vector<std::uint64_t> got;
        std::vector<double> shares;
        for (const auto& [pair, share] :
             expected_shares(graph, repeated == GraphOptions::Duplicates::merge)) {
          got.push_back(counts[pair]);
          shares.push_back(share);
        }
        CHECK(counts.size() == shares.size());  // nothing else is drawn
        CHECK(chi_squared_deviation(got, shares) < 5);
      }
}

TEST_CASE("successive edges are independent", "[edge_samples]") {
  const Graph graph = Graph::from_edges(std::vector<Graph::Edge>{{0, 1}, {0, 2}, {1, 2}}, 3);
  std::vector<std::uint64_t> counts(36);
  const auto number = [](WordId from, WordId to) { return 2 * from + to - (to > from); };
  for (const auto sentence :
       EdgeSamples(graph, {.edges_per_epoch = 300'000}).sentences({.epoch = 3}))
    for (std::size_t i = 0; i + 3 < sentence.size(); i += 4)
      ++counts[6 * number(sentence[i], sentence[i + 1]) + number(sentence[i + 2], sentence[i + 3])];
  CHECK(chi_squared_deviation(counts, std::vector<double>(36, 1.0 / 36)) < 5);
}

TEST_CASE("an epoch has the given number of edges, in sentences that many threads can share",
          "[edge_samples]") {
  const Graph graph = small_graph(false, false);
  for (const std::uint64_t edges : {1u, 63u, 64u, 129u, 1000u, 31'999u, 100'001u}) {
    const EdgeSamples samples(graph, {.edges_per_epoch = edges});
    CHECK(samples.token_count() == 2 * edges);
    CHECK(samples.edges_per_epoch() == edges);
    std::uint64_t tokens = 0;
    std::size_t longest = 0, shortest = 2 * edges;
    const auto sentences = sentences_of(samples, {});
    for (const auto& sentence : sentences) {
      tokens += sentence.size();
      longest = std::max(longest, sentence.size());
      shortest = std::min(shortest, sentence.size());
    }
    CHECK(tokens == 2 * edges);
    CHECK(longest <= 2 * EdgeSamples::max_edges);
    CHECK(longest - shortest <= 2);
    CHECK(sentences.size() >= std::min<std::uint64_t>(edges, 63));
  }
  CHECK(EdgeSamples(graph).edges_per_epoch() == graph.entry_count());
  CHECK(EdgeSamples(small_graph(true, true)).token_count() == 2 * small_edges.size());
}

TEST_CASE("shards are disjoint parts of the same edges, however many they are", "[edge_samples]") {
  const EdgeSamples samples(small_graph(false, true), {.edges_per_epoch = 20'000});
  const auto whole = sentences_of(samples, {.epoch = 2, .seed = 9});
  CHECK(std::set(whole.begin(), whole.end()).size() == whole.size());
  for (const std::size_t count : {2u, 3u, 7u, 200u}) {
    Sentences all;
    std::size_t most = 0, least = whole.size();
    for (std::size_t index = 0; index < count; ++index) {
      const auto part =
          sentences_of(samples, {.index = index, .count = count, .epoch = 2, .seed = 9});
      all.insert(all.end(), part.begin(), part.end());
      most = std::max(most, part.size());
      least = std::min(least, part.size());
    }
    CHECK(all == whole);
    CHECK(most - least <= 1);
  }
}

TEST_CASE("edges are a function of seed and epoch, and differ between them", "[edge_samples]") {
  const EdgeSamples samples(small_graph(false, false), {.edges_per_epoch = 5000});
  const auto again = samples;
  std::set<std::vector<WordId>> seen;
  std::size_t sentences = 0;
  for (const std::uint64_t seed : {1u, 2u})
    for (const std::size_t epoch : {0u, 1u, 2u}) {
      const auto drawn = sentences_of(samples, {.epoch = epoch, .seed = seed});
      CHECK(drawn == sentences_of(again, {.epoch = epoch, .seed = seed}));
      seen.insert(drawn.begin(), drawn.end());
      sentences += drawn.size();
    }
  CHECK(seen.size() == sentences);
  // A range may be read several times.
  const auto range = samples.sentences({});
  for (int i = 0; i < 2; ++i) {
    Sentences read;
    for (const auto sentence : range) read.emplace_back(sentence.begin(), sentence.end());
    CHECK(read == sentences_of(samples, {}));
  }
}

TEST_CASE("fingerprints differ between graphs and numbers of edges", "[edge_samples]") {
  const Graph graph = small_graph(false, true);
  const EdgeSamples samples(graph, {.edges_per_epoch = 100});
  CHECK(samples.vocabulary_fingerprint() == graph.vocabulary().fingerprint());
  CHECK(samples.fingerprint() == EdgeSamples(graph, {.edges_per_epoch = 100}).fingerprint());
  CHECK(samples.fingerprint() != EdgeSamples(graph, {.edges_per_epoch = 101}).fingerprint());
  CHECK(samples.fingerprint() !=
        EdgeSamples(small_graph(false, false), {.edges_per_epoch = 100}).fingerprint());
  CHECK(samples.graph().fingerprint() == graph.fingerprint());
}

TEST_CASE("edges that cannot be drawn are refused", "[edge_samples]") {
  const Graph none = Graph::from_edges(std::vector<Graph::Edge>{{0, 0}}, 3,
                                       {.self_loops = false, .isolated_nodes = true});
  CHECK(contains(message_of<CorpusError>([&] { EdgeSamples{none}; }), "no edges to draw"));
  CHECK(contains(message_of<InvalidArgument>([&] {
                   EdgeSamples(small_graph(false, false),
                               {.edges_per_epoch = (std::uint64_t{1} << 60) + 1});
                 }),
                 "edges_per_epoch is 1152921504606846977"));
}
