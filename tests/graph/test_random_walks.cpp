#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>
#include <wordloom/graph/random_walks.hpp>
#include <wordloom/kernel/fused_kernel.hpp>
#include <wordloom/sampler/shared_negative.hpp>
#include <wordloom/train/trainer.hpp>

#include "catch.hpp"
#include "statistics.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

using Walks = std::vector<std::vector<WordId>>;

Walks walks_of(const RandomWalks& corpus, const Shard& shard = {}) {
  Walks walks;
  for (const auto walk : corpus.sentences(shard)) walks.emplace_back(walk.begin(), walk.end());
  return walks;
}

/// A graph with triangles, a hub, a self-loop and a tail, with or without weights.
Graph test_graph(bool directed, bool weighted,
                 GraphOptions::Duplicates repeated = GraphOptions::Duplicates::merge) {
  std::vector<Graph::Edge> edges{{0, 1, 1}, {1, 2, 2},    {2, 0, 0.5}, {2, 3, 1}, {3, 4, 3},
                                 {4, 2, 1}, {4, 4, 0.7f}, {3, 1, 1},   {1, 4, 2}, {4, 0, 1},
                                 {0, 3, 4}, {5, 0, 1},    {5, 4, 1},   {0, 5, 2}, {1, 0, 1}};
  return Graph::from_edges(
      edges, 6, {.directed = directed, .weighted = weighted, .duplicate_edges = repeated});
}

/// Counts the third nodes of walks by the two before, and compares with equation 2 of node2vec.
void check_second_order(const Graph& graph, double p, double q) {
  const RandomWalks corpus(graph, {.walks_per_node = 4000, .length = 12, .p = p, .q = q});
  std::map<std::pair<WordId, WordId>, std::vector<std::uint64_t>> seen;
  for (const auto walk : corpus.sentences({}))
    for (std::size_t i = 2; i < walk.size(); ++i) {
      auto& counts = seen[{walk[i - 2], walk[i - 1]}];
      counts.resize(graph.node_count());
      ++counts[walk[i]];
    }
  REQUIRE(seen.size() >= graph.edge_count());
  double excess = 0, variance = 0;  // of chi-squared over all pairs
  for (const auto& [edge, counts] : seen) {
    const auto [before, at] = edge;
    std::vector<double> shares(graph.node_count());
    double total = 0;
    const auto row = graph.neighbours(at);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const double weight = graph.is_weighted() ? static_cast<double>(graph.weights(at)[i]) : 1.0;
      const double bias = row[i] == before ? 1 / p : graph.has_edge(before, row[i]) ? 1 : 1 / q;
      shares[row[i]] += weight * bias;
      total += weight * bias;
    }
    for (double& share : shares) share /= total;
    CAPTURE(p, q, before, at, graph.is_directed(), graph.is_weighted());
    const double deviation = chi_squared_deviation(counts, shares);
    CHECK(deviation < 15);
    const auto cells = std::ranges::count_if(shares, [](double share) { return share > 0; });
    excess += deviation * std::sqrt(2 * static_cast<double>(cells - 1));
    variance += 2 * static_cast<double>(cells - 1);
  }
  CAPTURE(p, q, graph.is_directed(), graph.is_weighted());
  CHECK(excess / std::sqrt(variance) < 5);
}

}  // namespace

TEST_CASE("steps of second order have the probabilities of node2vec", "[graph][serial]") {
  for (const bool directed : {false, true})
    for (const bool weighted : {false, true})
      for (const auto& [p, q] :
           {std::pair{0.5, 2.0}, {0.25, 0.25}, {4.0, 1.0}, {1.0, 3.0}, {2.0, 0.5}, {0.1, 1.0}})
        check_second_order(test_graph(directed, weighted), p, q);
  check_second_order(test_graph(false, false, GraphOptions::Duplicates::keep), 0.3, 2);
}

TEST_CASE("steps that are rarely accepted are drawn exactly", "[graph][serial]") {
  check_second_order(test_graph(false, true), 1e-3, 1);  // nearly always back
  check_second_order(test_graph(true, false), 1, 1e4);   // nearly never away
  check_second_order(test_graph(false, false), 1e4, 1e4);
  for (const bool directed : {false, true})
    check_second_order(test_graph(directed, true), 1e4, 1e4);
}

TEST_CASE("steps of first order have the probabilities of the weights", "[graph]") {
  for (const bool directed : {false, true})
    for (const bool weighted : {false, true}) {
      const Graph graph = test_graph(directed, weighted);
      const RandomWalks corpus(graph, {.walks_per_node = 3000, .length = 10});
      std::vector<std::vector<std::uint64_t>> seen(6, std::vector<std::uint64_t>(6));
      for (const auto walk : corpus.sentences({.seed = 7}))
        for (std::size_t i = 1; i < walk.size(); ++i) ++seen[walk[i - 1]][walk[i]];
      for (WordId node = 0; node < 6; ++node) {
        std::vector<double> shares(6);
        double total = 0;
        for (std::size_t i = 0; i < graph.neighbours(node).size(); ++i)
          total += shares[graph.neighbours(node)[i]] =
              weighted ? static_cast<double>(graph.weights(node)[i]) : 1.0;
        for (double& share : shares) share /= total;
        CHECK(chi_squared_deviation(seen[node], shares) < 10);
      }
    }
}

TEST_CASE("each node starts its number of walks, in another order each time", "[graph]") {
  const Graph graph = test_graph(false, false);
  const RandomWalks corpus(graph, {.walks_per_node = 7, .length = 9, .p = 0.5});
  const auto walks = walks_of(corpus);
  REQUIRE(walks.size() == 42);
  CHECK(corpus.token_count() == 42 * 9);
  std::set<std::vector<WordId>> orders;
  for (std::size_t round = 0; round < 7; ++round) {
    std::vector<WordId> starts;
    for (std::size_t i = 0; i < 6; ++i) {
      CHECK(walks[round * 6 + i].size() == 9);
      starts.push_back(walks[round * 6 + i][0]);
    }
    orders.insert(starts);
    std::sort(starts.begin(), starts.end());
    CHECK(starts == std::vector<WordId>{0, 1, 2, 3, 4, 5});
  }
  CHECK(orders.size() > 4);
  for (const auto& walk : walks)
    for (std::size_t i = 1; i < walk.size(); ++i) CHECK(graph.has_edge(walk[i - 1], walk[i]));
}

TEST_CASE("walks do not depend on the number of shards", "[graph]") {
  const RandomWalks corpus(test_graph(false, true), {.walks_per_node = 40, .length = 7, .q = 2});
  const auto sorted = [](Walks walks) {
    std::sort(walks.begin(), walks.end());
    return walks;
  };
  const Shard whole{.epoch = 2, .seed = 9};
  const auto all = walks_of(corpus, whole);
  CHECK(walks_of(corpus, whole) == all);
  for (const std::size_t count : {2u, 3u, 8u}) {
    Walks joined;
    std::vector<std::set<WordId>> starts(count);
    for (std::size_t i = 0; i < count; ++i)
      for (auto& walk : walks_of(corpus, {.index = i, .count = count, .epoch = 2, .seed = 9})) {
        starts[i].insert(walk[0]);
        joined.push_back(std::move(walk));
      }
    CHECK(sorted(joined) == sorted(all));
    std::size_t nodes = 0;
    for (const auto& own : starts) nodes += own.size();
    CHECK(nodes == 6);  // each node belongs to one shard
  }
  CHECK(sorted(walks_of(corpus, {.epoch = 2, .seed = 10})) != sorted(all));
  CHECK(sorted(walks_of(corpus, {.epoch = 3, .seed = 9})) != sorted(all));
}

TEST_CASE("epochs repeat the same walks on request", "[graph]") {
  const RandomWalks same(test_graph(false, false), {.length = 20, .new_each_epoch = false});
  CHECK(walks_of(same, {.epoch = 4}) == walks_of(same, {.epoch = 0}));
  const RandomWalks other(test_graph(false, false), {.length = 20});
  CHECK(walks_of(other, {.epoch = 0}) == walks_of(same, {.epoch = 0}));
  CHECK(same.fingerprint() != other.fingerprint());
}

TEST_CASE("a walk ends at a node without neighbours", "[graph]") {
  const std::vector<Graph::Edge> edges{{0, 1}, {1, 2}, {2, 3}};
  const Graph chain = Graph::from_edges(edges, 4, {.directed = true});
  const RandomWalks corpus(chain, {.walks_per_node = 2, .length = 80, .q = 2});
  CHECK(corpus.token_count() == 2 * (4 + 3 + 2 + 1));
  std::map<std::size_t, int> lengths;
  for (const auto& walk : walks_of(corpus)) ++lengths[walk.size()];
  CHECK(lengths == std::map<std::size_t, int>{{1, 2}, {2, 2}, {3, 2}, {4, 2}});
  const Graph lonely = chain.without(edges);
  CHECK(RandomWalks(lonely).token_count() == 40);
  CHECK(walks_of(RandomWalks(lonely)).size() == 40);
}

TEST_CASE("walk options out of bounds are refused", "[graph]") {
  const auto refusal = [](const RandomWalks::Options& options) {
    return message_of<InvalidArgument>([&] { RandomWalks(test_graph(false, false), options); });
  };
  CHECK(contains(refusal({.walks_per_node = 0}), "walks_per_node is 0"));
  CHECK(contains(refusal({.length = 0}), "length is 0"));
  CHECK(contains(refusal({.p = 0}), "p is 0"));
  CHECK(contains(refusal({.q = -1}), "q is -1"));
  CHECK(contains(refusal({.q = std::nan("")}), "q is nan"));
}

TEST_CASE("walks are written as text", "[graph]") {
  TemporaryFolder folder;
  const std::vector<Graph::NamedEdge> edges{{"ann", "bob"}, {"bob", "cem"}};
  const RandomWalks corpus(Graph::from_edges(edges), {.walks_per_node = 2, .length = 4});
  corpus.save(folder / "walks");
  std::istringstream lines(read_file(folder / "walks"));
  const auto walks = walks_of(corpus);
  std::string line;
  std::size_t i = 0;
  for (; std::getline(lines, line); ++i) {
    std::string expected;
    for (const WordId node : walks.at(i))
      expected += std::string(expected.empty() ? "" : " ") +
                  std::string(corpus.graph().vocabulary().word(node));
    CHECK(line == expected);
  }
  CHECK(i == 6);
}

TEST_CASE("a random order has each number once", "[graph]") {
  for (const std::uint64_t count : {1u, 2u, 3u, 4u, 5u, 16u, 17u, 1000u, 4097u}) {
    const detail::RandomOrder order(count, Random(count)), same(count, Random(count)),
        other(count, Random(count + 1));
    std::vector<bool> seen(count);
    std::uint64_t moved = 0, different = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      REQUIRE(order[i] < count);
      CHECK_FALSE(seen[order[i]]);
      seen[order[i]] = true;
      CHECK(order[i] == same[i]);
      moved += order[i] != i;
      different += order[i] != other[i];
    }
    if (count >= 16) CHECK(moved > count / 2);
    if (count >= 16) CHECK(different > count / 2);
  }
}

TEST_CASE("near nodes get near vectors, and a run can be resumed", "[graph]") {
  // Two cliques that one edge joins.
  std::vector<Graph::Edge> edges{{0, 12}};
  for (WordId clique : {0u, 12u})
    for (WordId i = 0; i < 12; ++i)
      for (WordId j = 0; j < i; ++j) edges.push_back({clique + i, clique + j});
  const Graph graph = Graph::from_edges(edges, 24);
  const RandomWalks corpus(graph, {.length = 20, .p = 0.5, .q = 2});
  const Hyperparameters parameters{
      .dimension = 16, .window = 4, .learning_rate = 0.05, .epochs = 6, .threads = 1};
  using Node2VecTrainer = Trainer<SharedNegative, FusedKernel>;
  Node2VecTrainer trainer(parameters);
  const auto vectors = trainer.fit(corpus, graph.vocabulary());
  CHECK(trainer.report().tokens == corpus.token_count() * 6);
  double inside = 0, across = 0;
  for (WordId a = 0; a < 24; ++a)
    for (WordId b = 0; b < a; ++b) {
      const bool same = (std::stoi(std::string(vectors.word(a))) < 12) ==
                        (std::stoi(std::string(vectors.word(b))) < 12);
      (same ? inside : across) += static_cast<double>(vectors.similarity(a, b));
    }
  CHECK(inside / 132 > across / 144 + 0.3);

  // Walks stay whole, whatever is set.
  auto dropping = parameters;
  dropping.subsample = 1e-5;
  const auto whole = Node2VecTrainer(dropping).fit(corpus, graph.vocabulary());
  for (WordId v = 0; v < 24; ++v) CHECK(std::ranges::equal(whole.vector(v), vectors.vector(v)));

  TemporaryFolder folder;
  const auto path = folder / "checkpoint";
  Node2VecTrainer stopped(parameters);
  stopped.checkpoint_to(path);
  stopped.on_progress([](const Progress& progress) { return progress.fraction() < 0.4; },
                      std::chrono::seconds(0));
  stopped.fit(corpus, graph.vocabulary());
  REQUIRE(stopped.report().stopped);
  Node2VecTrainer resumed(parameters);
  const auto again = resumed.resume(corpus, graph.vocabulary(), path);
  for (WordId v = 0; v < 24; ++v) CHECK(std::ranges::equal(again.vector(v), vectors.vector(v)));
  const RandomWalks others(graph, {.length = 20, .p = 0.5, .q = 3});
  Node2VecTrainer wrong(parameters);
  CHECK_THROWS_AS(wrong.resume(others, graph.vocabulary(), path), InvalidArgument);
}
