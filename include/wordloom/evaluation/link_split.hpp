#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <wordloom/core/detail/finite.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/graph/detail/joined_nodes.hpp>
#include <wordloom/graph/graph.hpp>

/// Edges held out of a graph before its nodes are embedded, to be predicted (Grover and Leskovec
/// 2016, "node2vec", section 4.4).
namespace wordloom { inline namespace WORDLOOM_ABI {

/// A graph without some of its links, and pairs of nodes to train a classifier on and to test it. A
/// link is an edge between two different nodes, `from` < `to`.
struct LinkSplit {
  /// The parameters of a split.
  struct Options {
    /// The share of the links that is held out; above 0 and below 1.
    double share = 0.5;
    std::uint64_t seed = 1;
  };

  /// The graph to embed: all nodes with their ids, without the held-out links. Nodes that were
  /// connected by a path still are.
  Graph train;
  std::vector<Graph::Edge> train_links;      // links of `train`, as many as test_links or all
  std::vector<Graph::Edge> test_links;       // held out
  std::vector<Graph::Edge> train_non_links;  // as many as train_links
  std::vector<Graph::Edge> test_non_links;   // as many as test_links

  /// Holds out a share of the links at random but keeps a random spanning forest, draws as many
  /// pairs of nodes without an edge in the whole graph for the test, and as many remaining links
  /// and pairs without an edge for training. Deterministic. Throws InvalidArgument for a directed
  /// graph, a share out of bounds or one that leaves too few links to connect the nodes, and for a
  /// graph that is too dense for the pairs.
  [[nodiscard]] static LinkSplit of(const Graph& graph, const Options& options);
  [[nodiscard]] static LinkSplit of(const Graph& graph);
};

inline LinkSplit LinkSplit::of(const Graph& graph) { return of(graph, Options()); }

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

/// Returns each link of an undirected graph once.
inline std::vector<Graph::Edge> links_of(const Graph& graph) {
  std::vector<Graph::Edge> links;
  for (WordId node = 0; node < graph.node_count(); ++node) {
    const auto row = graph.neighbours(node);
    const auto weights = graph.weights(node);
    for (std::size_t i = 0; i < row.size(); ++i)
      if (row[i] > node && (i == 0 || row[i] != row[i - 1]))
        links.push_back({node, row[i], weights.empty() ? 1.0f : weights[i]});
  }
  return links;
}

/// Returns `count` different pairs of nodes without an edge, in random order; all sets of pairs are
/// equally probable. `links`: the number of pairs with an edge.
inline std::vector<Graph::Edge> draw_non_links(const Graph& graph, std::size_t links,
                                               std::size_t count, Random& random) {
  const std::uint64_t nodes = graph.node_count();
  const std::uint64_t non_links = nodes * (nodes - 1) / 2 - links;
  // At least half of them remain undrawn, so that a draw succeeds after a few tries.
  if (non_links / 2 < count)
    throw InvalidArgument{"the graph is too dense: ",
                          non_links,
                          " pairs of nodes have no edge, at least ",
                          2 * count,
                          " are needed to draw ",
                          count,
                          " of them"};
  std::vector<Graph::Edge> drawn;
  const auto less = [](const Graph::Edge& a, const Graph::Edge& b) {
    return std::pair(a.from, a.to) < std::pair(b.from, b.to);
  };
  while (drawn.size() < count) {
    while (drawn.size() < count) {
      const auto a = static_cast<WordId>(random.below(nodes));
      const auto b = static_cast<WordId>(random.below(nodes));
      if (a != b && !graph.has_edge(a, b)) drawn.push_back({(std::min)(a, b), (std::max)(a, b)});
    }
    std::sort(drawn.begin(), drawn.end(), less);
    drawn.erase(std::unique(drawn.begin(), drawn.end()), drawn.end());
  }
  std::shuffle(drawn.begin(), drawn.end(), random);
  return drawn;
}

}  // namespace detail

WORDLOOM_FUNCTION LinkSplit LinkSplit::of(const Graph& graph, const Options& options) {
  if (graph.is_directed())
    throw InvalidArgument("links are predicted in undirected graphs, this graph is directed");
  if (detail::is_nan(options.share) || !(options.share > 0 && options.share < 1))
    throw InvalidArgument{"the share of links held out is ", options.share,
                          ", must be above 0 and below 1"};
  Random random(options.seed);
  auto links = detail::links_of(graph);
  const auto all = static_cast<double>(links.size());
  const auto held_out = static_cast<std::size_t>(std::llround(options.share * all));
  std::shuffle(links.begin(), links.end(), random);
  detail::JoinedNodes nodes(graph.node_count());
  std::size_t free = 0;  // links outside the forest, which are moved to the front
  for (Graph::Edge& link : links)
    if (!nodes.join(link.from, link.to)) std::swap(links[free++], link);
  if (free == 0)
    throw InvalidArgument{"none of ", links.size(),
                          " links can be held out: each is the only way between two nodes"};
  if (held_out == 0)
    throw InvalidArgument{"a share of ", options.share, " holds out none of ", links.size(),
                          " links: choose a larger one"};
  if (held_out > free)
    throw InvalidArgument{
        "a share of ", options.share,       " holds out ",
        held_out,      " links, but only ", free,
        " of ",        links.size(),        " can be: the others keep the nodes connected"};
  const auto end = links.begin() + static_cast<std::ptrdiff_t>(held_out);
  std::vector<Graph::Edge> test(links.begin(), end);
  std::shuffle(end, links.end(), random);
  const std::size_t trained = (std::min)(held_out, links.size() - held_out);
  std::vector<Graph::Edge> train(end, end + static_cast<std::ptrdiff_t>(trained));
  auto absent = detail::draw_non_links(graph, links.size(), held_out + trained, random);
  std::vector<Graph::Edge> test_absent(absent.begin() + static_cast<std::ptrdiff_t>(trained),
                                       absent.end());
  absent.resize(trained);
  return {graph.without(test), std::move(train), std::move(test), std::move(absent),
          std::move(test_absent)};
}

#endif

[[deprecated("use LinkSplit::of")]] inline LinkSplit split_links(
    const Graph& graph, const LinkSplit::Options& options = {}) {
  return LinkSplit::of(graph, options);
}

}}  // namespace wordloom::WORDLOOM_ABI
