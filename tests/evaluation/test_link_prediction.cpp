#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/evaluation/link_prediction.hpp>

#include "catch.hpp"
#include "statistics.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

using Pair = std::pair<WordId, WordId>;

/// Edges between some of the pairs of nodes from `first` to `last` - 1.
void add_random_edges(std::vector<Graph::Edge>& edges, WordId first, WordId last,
                      double probability, Random& random) {
  for (WordId a = first; a < last; ++a)
    for (WordId b = a + 1; b < last; ++b)
      if (random.uniform() < probability)
        edges.push_back({a, b, static_cast<float>(1 + random.below(5))});
}

/// Two components, a node with nothing but an edge to itself, and another such edge.
Graph two_components(bool weighted = false) {
  Random random(3);
  std::vector<Graph::Edge> edges{{50, 50}, {4, 4}};
  add_random_edges(edges, 0, 30, 0.25, random);
  add_random_edges(edges, 30, 50, 0.3, random);
  return Graph::from_edges(edges, 51, {.weighted = weighted});
}

/// The lowest node that can be reached from each.
std::vector<WordId> components(const Graph& graph) {
  std::vector<WordId> lowest(graph.node_count());
  for (WordId node = 0; node < lowest.size(); ++node) lowest[node] = node;
  for (std::size_t round = 0; round < lowest.size(); ++round)
    for (WordId node = 0; node < lowest.size(); ++node)
      for (const WordId other : graph.neighbours(node))
        lowest[node] = std::min(lowest[node], lowest[other]);
  return lowest;
}

/// Pairs as a set, each of which must be rising and occur once.
std::set<Pair> distinct(const std::vector<Graph::Edge>& edges) {
  std::set<Pair> result;
  for (const Graph::Edge& edge : edges) {
    CHECK(edge.from < edge.to);
    CHECK(result.emplace(edge.from, edge.to).second);
  }
  return result;
}

/// A vector for each node of the graph, by `vector(number of the node's name)`.
template <class Vector>
Embeddings embed(const Graph& graph, Vector&& vector) {
  WordList names;
  RowMatrix vectors(graph.node_count(), vector(0u).size());
  for (WordId node = 0; node < graph.node_count(); ++node) {
    // Not in the order of the graph.
    const auto name = graph.vocabulary().word(static_cast<WordId>(graph.node_count() - 1 - node));
    const std::vector<float> row = vector(static_cast<unsigned>(std::stoul(std::string(name))));
    std::copy(row.begin(), row.end(), vectors.row(node).begin());
    names.append(name);
  }
  return {std::move(names), std::move(vectors)};
}

std::map<std::string, double> aucs(const LinkReport& report) {
  std::map<std::string, double> result;
  for (const auto& [score, auc] : report.rows) result[score] = auc;
  REQUIRE(result.size() == report.rows.size());
  return result;
}

}  // namespace

TEST_CASE("the area under the curve is the share of pairs in the right order", "[evaluation]") {
  using Scores = std::vector<double>;
  CHECK(detail::area_under_curve(Scores{3, 4}, Scores{1, 2}) == 1.0);
  CHECK(detail::area_under_curve(Scores{1, 2}, Scores{3, 4, 5}) == 0.0);
  CHECK(detail::area_under_curve(Scores{2, 3}, Scores{1, 2.5}) == 0.75);
  CHECK(detail::area_under_curve(Scores{1, 2}, Scores{1, 0}) == 0.875);  // a tie counts half
  CHECK(detail::area_under_curve(Scores{1, 1, 1}, Scores{1}) == 0.5);
  CHECK(detail::area_under_curve(Scores{INFINITY}, Scores{-INFINITY}) == 1.0);
  CHECK(std::isnan(detail::area_under_curve({}, Scores{1})));
  CHECK(std::isnan(detail::area_under_curve(Scores{1}, {})));
  CHECK(std::isnan(detail::area_under_curve(Scores{1, NAN}, Scores{1})));
  Random random(2);
  Scores positive, negative;
  for (int i = 0; i < 40; ++i) positive.push_back(static_cast<double>(random.below(20)) + 3);
  for (int i = 0; i < 70; ++i) negative.push_back(static_cast<double>(random.below(20)));
  double sum = 0;
  for (const double x : positive)
    for (const double y : negative) sum += x > y ? 1 : x == y ? 0.5 : 0;
  CHECK(detail::area_under_curve(positive, negative) == Approx(sum / (40 * 70)));
}

TEST_CASE("a split of links holds out a share and keeps connected nodes connected",
          "[evaluation]") {
  const Graph graph = two_components();
  std::size_t links = 0;
  for (WordId node = 0; node < graph.node_count(); ++node)
    for (const WordId other : graph.neighbours(node)) links += other > node;
  REQUIRE(links + 2 == graph.edge_count());
  for (const double share : {0.1, 0.5}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const auto split = LinkSplit::of(graph, {.share = share, .seed = seed});
      const auto test = distinct(split.test_links), train = distinct(split.train_links);
      const auto no_test = distinct(split.test_non_links);
      const auto no_train = distinct(split.train_non_links);
      CHECK(test.size() ==
            static_cast<std::size_t>(std::llround(share * static_cast<double>(links))));
      CHECK(train.size() == std::min(test.size(), links - test.size()));
      CHECK(no_test.size() == test.size());
      CHECK(no_train.size() == train.size());
      CHECK(split.train.node_count() == graph.node_count());
      CHECK(split.train.vocabulary().words() == graph.vocabulary().words());
      CHECK(split.train.edge_count() == graph.edge_count() - test.size());
      CHECK(components(split.train) == components(graph));
      for (WordId node = 0; node < graph.node_count(); ++node)
        CHECK(split.train.has_edge(node, node) == graph.has_edge(node, node));
      for (const auto& [a, b] : test) {
        CHECK(graph.has_edge(a, b));
        CHECK_FALSE(split.train.has_edge(a, b));
        CHECK_FALSE(split.train.has_edge(b, a));
      }
      for (const auto& [a, b] : train) CHECK(split.train.has_edge(a, b));
      for (const auto& [a, b] : no_test) {
        CHECK_FALSE(graph.has_edge(a, b));
        CHECK_FALSE(no_train.contains({a, b}));
      }
      for (const auto& [a, b] : no_train) CHECK_FALSE(graph.has_edge(a, b));
    }
  }
}

TEST_CASE("a split of links is a function of the seed", "[evaluation]") {
  const Graph graph = two_components(true);
  const auto one = LinkSplit::of(graph), same = LinkSplit::of(graph);
  CHECK(one.test_links == same.test_links);
  CHECK(one.train_links == same.train_links);
  CHECK(one.test_non_links == same.test_non_links);
  CHECK(one.train_non_links == same.train_non_links);
  const auto other = LinkSplit::of(graph, {.seed = 2});
  CHECK(distinct(one.test_links) != distinct(other.test_links));
  CHECK(distinct(one.test_non_links) != distinct(other.test_non_links));
  for (const auto& links : {one.test_links, one.train_links})
    for (const Graph::Edge& link : links) {
      const auto row = graph.neighbours(link.from);
      const auto at = std::lower_bound(row.begin(), row.end(), link.to) - row.begin();
      CHECK(link.weight == graph.weights(link.from)[static_cast<std::size_t>(at)]);
    }
}

TEST_CASE("links and pairs without one are drawn with equal probabilities", "[evaluation]") {
  // A ring of 12 nodes: each link may be held out, 54 pairs have none.
  std::vector<Graph::Edge> edges;
  for (WordId node = 0; node < 12; ++node) edges.push_back({node, (node + 1) % 12});
  const Graph graph = Graph::from_edges(edges, 12);
  std::map<Pair, std::uint64_t> held_out, absent_test, absent_train;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    const auto split = LinkSplit::of(graph, {.share = 0.08, .seed = seed});
    REQUIRE(split.test_links.size() == 1);
    ++held_out[{split.test_links[0].from, split.test_links[0].to}];
    ++absent_test[{split.test_non_links[0].from, split.test_non_links[0].to}];
    ++absent_train[{split.train_non_links[0].from, split.train_non_links[0].to}];
  }
  const auto deviation = [](const std::map<Pair, std::uint64_t>& drawn) {
    std::vector<std::uint64_t> counts;
    for (const auto& [pair, count] : drawn) counts.push_back(count);
    return chi_squared_deviation(
        counts, std::vector<double>(counts.size(), 1.0 / static_cast<double>(counts.size())));
  };
  CHECK(held_out.size() == 12);
  CHECK(std::abs(deviation(held_out)) < 4);
  CHECK(absent_test.size() == 54);
  CHECK(std::abs(deviation(absent_test)) < 4);
  CHECK(absent_train.size() == 54);
  CHECK(std::abs(deviation(absent_train)) < 4);
}

TEST_CASE("an impossible split of links is refused with the reason", "[evaluation]") {
  const auto message = [](const Graph& graph, double share) {
    return message_of<InvalidArgument>(
        [&] { static_cast<void>(LinkSplit::of(graph, {.share = share})); });
  };
  std::vector<Graph::Edge> ring;
  for (WordId node = 0; node < 20; ++node) ring.push_back({node, (node + 1) % 20});
  const Graph graph = Graph::from_edges(ring, 20);
  for (const double share : {0.0, 1.0, -0.5, static_cast<double>(NAN)})
    CHECK(contains(message(graph, share), "must be above 0 and below 1"));
  CHECK(LinkSplit::of(graph, {.share = 0.05}).test_links.size() == 1);
  CHECK(
      contains(message(graph, 0.1),
               "holds out 2 links, but only 1 of 20 can be: the others keep the nodes connected"));
  CHECK(contains(message(graph, 0.01), "holds out none of 20 links"));
  const std::vector<Graph::Edge> path{{0, 1}, {1, 2}};
  CHECK(contains(message(Graph::from_edges(path, 3), 0.5), "none of 2 links can be held out"));
  CHECK(contains(message(Graph::from_edges(ring, 20, {.directed = true}), 0.05), "is directed"));
  std::vector<Graph::Edge> clique;
  Random random(1);
  add_random_edges(clique, 0, 8, 2.0, random);
  clique.pop_back();
  CHECK(contains(message(Graph::from_edges(clique, 8), 0.2),
                 "too dense: 1 pairs of nodes have no edge, at least 20 are needed"));
}

TEST_CASE("dot product and cosine find links planted in the vectors", "[evaluation]") {
  // Two dense groups; the vector's direction is the group's, its length is the node's.
  std::vector<Graph::Edge> edges;
  Random random(6);
  add_random_edges(edges, 0, 25, 0.4, random);
  add_random_edges(edges, 25, 50, 0.4, random);
  const Graph graph = Graph::from_edges(edges, 50);
  const auto split = LinkSplit::of(graph, {.share = 0.3});
  const auto vectors = embed(graph, [](unsigned node) {
    return std::vector<float>{node < 25 ? 1.0f : 0.0f, node < 25 ? 0.0f : 1.0f};
  });
  // Pairs within a group without a link are tied with links.
  double within = 0;
  for (const Graph::Edge& pair : split.test_non_links) {
    const auto group = [&](WordId node) {
      return std::stoul(std::string(graph.vocabulary().word(node))) < 25;
    };
    within += group(pair.from) == group(pair.to);
  }
  within /= static_cast<double>(split.test_non_links.size());
  REQUIRE(within > 0.0);
  const auto report = LinkReport::of_similarity(vectors, split);
  CHECK(report.used == split.test_links.size() + split.test_non_links.size());
  CHECK(report.left_out == 0);
  auto found = aucs(report);
  REQUIRE(found.size() == 2);
  CHECK(found["dot product"] == Approx(1 - within / 2));
  CHECK(found["cosine"] == Approx(1 - within / 2));
  // Of negative lengths, the dot product of one group stays, cosines too.
  const auto longer = embed(graph, [](unsigned node) {
    const float length = node % 2 == 0 ? 1.0f : 100.0f;
    return std::vector<float>{node < 25 ? length : 0.1f * length,
                              node < 25 ? 0.1f * length : length};
  });
  found = aucs(LinkReport::of_similarity(longer, split));
  CHECK(found["cosine"] == Approx(1 - within / 2).margin(0.02));
  CHECK(found["dot product"] < found["cosine"] - 0.05);
}

TEST_CASE("pairs without vectors are counted, not scored", "[evaluation]") {
  const Graph graph = two_components();
  const auto split = LinkSplit::of(graph, {.share = 0.4});
  const auto known = [&](WordId node) { return node % 5 != 0; };
  WordList names;
  for (WordId node = 0; node < graph.node_count(); ++node)
    if (known(node)) names.append(graph.vocabulary().word(node));
  const std::size_t count = names.size();
  RowMatrix vectors(count, 2);
  for (std::size_t i = 0; i < count; ++i) vectors.row(i)[0] = static_cast<float>(i);
  const Embeddings some(std::move(names), std::move(vectors));
  std::size_t left_out = 0, tested = 0;
  const auto is_known = [&](const Graph::Edge& pair) { return known(pair.from) && known(pair.to); };
  for (const auto* pairs :
       {&split.test_links, &split.test_non_links, &split.train_links, &split.train_non_links})
    for (const Graph::Edge& pair : *pairs) {
      left_out += !is_known(pair);
      tested += is_known(pair) && (pairs == &split.test_links || pairs == &split.test_non_links);
    }
  REQUIRE(left_out > 0);
  const auto report = LinkReport::of_similarity(some, split);
  CHECK(report.left_out == left_out);
  CHECK(report.used == tested);
  std::ostringstream table;
  table << report;
  CHECK(contains(table.str(), "link prediction                     AUC\ndot product"));
  CHECK(contains(table.str(), std::to_string(tested) + " pairs tested, " +
                                  std::to_string(left_out) + " left out without a vector"));
  const Embeddings stranger(WordList::from(std::vector<std::string>{"x"}), RowMatrix(1, 2));
  CHECK(contains(message_of<InvalidArgument>(
                     [&] { static_cast<void>(LinkReport::of_similarity(stranger, split)); }),
                 "has vectors at both ends"));
}

#if WORDLOOM_HAS_LIBLINEAR

TEST_CASE("the classifier of each operator finds links planted for it", "[evaluation]") {
  // Two complete groups: every pair within has a link, and no other.
  std::vector<Graph::Edge> edges;
  Random random(6);
  add_random_edges(edges, 0, 20, 2.0, random);
  add_random_edges(edges, 20, 40, 2.0, random);
  const Graph graph = Graph::from_edges(edges, 40);
  const auto split = LinkSplit::of(graph, {.share = 0.2});
  const auto vectors = embed(graph, [](unsigned node) {
    return std::vector<float>{node < 20 ? 1.0f : -1.0f, 0.01f * static_cast<float>(node % 7)};
  });
  const auto report = evaluate_links(vectors, split);
  CHECK(report.used == 4 * 38);
  auto found = aucs(report);
  REQUIRE(found.size() == 6);
  for (const char* name : {"dot product", "cosine", "Hadamard", "weighted L1", "weighted L2"})
    CHECK(found[name] == 1.0);
  // The mean of a pair between the groups lies between those within: no plane parts them.
  CHECK(found["average"] < 0.8);
  CHECK(std::isnan(report.micro_f1));
  // It finds links that have more than their share of some nodes.
  std::vector<Graph::Edge> star;
  for (WordId hub = 0; hub < 4; ++hub)
    for (WordId node = hub + 1; node < 80; ++node) star.push_back({hub, node});
  const Graph hubs = Graph::from_edges(star, 80);
  const auto hub_vectors = embed(hubs, [](unsigned node) {
    return std::vector<float>{node < 4 ? 1.0f : 0.0f, 0.5f};
  });
  const auto of_hubs =
      evaluate_links(hub_vectors, LinkSplit::of(hubs, {.share = 0.5}), {.concatenates = true});
  CHECK(of_hubs.micro_f1 == 1);
  found = aucs(of_hubs);
  CHECK(found["average"] == 1.0);
  CHECK(found["weighted L1"] > 0.9);  // not links between two hubs
  CHECK(found["Hadamard"] < 0.6);     // those only
}

TEST_CASE("random vectors do not predict links", "[evaluation]") {
  std::vector<Graph::Edge> edges;
  Random random(8);
  add_random_edges(edges, 0, 300, 0.1, random);
  const Graph graph = Graph::from_edges(edges, 300);
  const auto vectors = embed(graph, [&](unsigned) {
    std::vector<float> vector(8);
    for (float& x : vector) x = static_cast<float>(random.uniform() - 0.5);
    return vector;
  });
  const auto report = evaluate_links(vectors, LinkSplit::of(graph));
  REQUIRE(report.rows.size() == 6);
  for (const auto& row : report.rows) CHECK(row.auc == Approx(0.5).margin(0.07));
}

TEST_CASE("classifiers of links are trained on the training pairs", "[evaluation]") {
  const Graph graph = two_components();
  const auto split = LinkSplit::of(graph);
  Random random(9);
  const auto vectors = embed(graph, [&](unsigned node) {
    const double group = node < 30 ? 0.2 : -0.2;
    return std::vector<float>{static_cast<float>(group + random.uniform() - 0.5),
                              static_cast<float>(random.uniform())};
  });
  const auto product = [&](const Graph::Edge& pair) {
    const auto x = vectors.vector(graph.vocabulary().word(pair.from));
    const auto y = vectors.vector(graph.vocabulary().word(pair.to));
    return std::vector<float>{x[0] * y[0], x[1] * y[1]};
  };
  detail::FeatureRows features(2);
  for (const Graph::Edge& pair : split.train_links) features.append(product(pair));
  std::vector<std::uint8_t> labels(features.size(), 1);
  for (const Graph::Edge& pair : split.train_non_links) features.append(product(pair));
  labels.resize(features.size());
  const auto classifier = detail::LogisticRegression::fit(features, labels);
  std::vector<double> positive, negative;
  for (const Graph::Edge& pair : split.test_links)
    positive.push_back(classifier.decision(product(pair)));
  for (const Graph::Edge& pair : split.test_non_links)
    negative.push_back(classifier.decision(product(pair)));
  const double expected = detail::area_under_curve(positive, negative);
  REQUIRE(expected < 1.0);
  CHECK(aucs(evaluate_links(vectors, split)).at("Hadamard") == Approx(expected).epsilon(1e-9));
}

TEST_CASE("links score the same for any number of threads", "[evaluation]") {
  const Graph graph = two_components();
  const auto split = LinkSplit::of(graph);
  Random random(4);
  const auto vectors = embed(graph, [&](unsigned node) {
    return std::vector<float>{static_cast<float>(node) / 50, static_cast<float>(random.uniform())};
  });
  const auto one = evaluate_links(vectors, split, {.threads = 1});
  for (const std::size_t threads : {2u, 3u, 16u})
    CHECK(aucs(evaluate_links(vectors, split, {.threads = threads})) == aucs(one));
  const auto similarity = aucs(LinkReport::of_similarity(vectors, split));
  auto found = aucs(one);
  CHECK(found["dot product"] == similarity.at("dot product"));
  CHECK(found["cosine"] == similarity.at("cosine"));
  CHECK_THROWS_AS(evaluate_links(vectors, split, {.classifier = {.tolerance = 0}}),
                  InvalidArgument);
}
#endif
