#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/hash.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/corpus/corpus_file.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/graph/edge_list.hpp>
#include <wordloom/graph/graph_file.hpp>
#include <wordloom/graph/graph_rows.hpp>

namespace wordloom::inline WORDLOOM_ABI {

/// An edge between two nodes by number. An edge of weight 0 is none.
struct Edge {
  WordId from = 0, to = 0;
  float weight = 1;

  friend bool operator==(const Edge&, const Edge&) = default;
};

/// An edge between two nodes by name.
struct NamedEdge {
  std::string_view from, to;
  float weight = 1;
};

/// What becomes of edges that stand in the input several times; of an undirected graph, `u v` and
/// `v u` are the same edge.
enum class RepeatedEdges {
  merge,  ///< one edge, whose weight is the sum of theirs where the graph has weights
  keep    ///< all of them
};

/// How edges become a graph.
struct GraphOptions {
  bool directed = false;
  /// Whether edges have weights: the third column of a file. Without, it is not read.
  bool weighted = false;
  RepeatedEdges repeated_edges = RepeatedEdges::merge;
  /// Whether edges from a node to itself are kept.
  bool self_loops = true;
  /// Whether nodes without any edge are kept: those whose only edges are left out (self-loops,
  /// edges of weight 0), those that a Matrix Market file counts, and all of from_edges.
  bool isolated_nodes = false;
  /// Threads that read, up to 65536; 0 = all that the machine offers.
  std::size_t threads = 0;
  /// from_edge_list: the file in which the graph is kept; empty: in memory only.
  std::filesystem::path cache = {};
  /// Called before each piece of a file is read, by one thread at a time; what it throws ends that
  /// and reaches the caller.
  std::function<void()> before_piece = {};
};

/// A graph of up to 2^32 - 2 nodes and 2^40 edges as rows of neighbours: 4 bytes for each entry (an
/// undirected edge has two), 16 with weights, 8 for each node, and the names. Nodes have the ids of
/// a vocabulary: by falling number of edges that lead to them, then in order of their names.
/// Immutable; copies share the rows and are cheap; all members are thread-safe. Spans are valid as
/// long as any copy.
class Graph {
 public:
  /// Reads a file, plain or .gz, with all threads: lines `u v` or `u v weight`, separated by white
  /// space or commas, where further columns are ignored as are empty lines and those that begin
  /// with '#' or '%'; names of nodes are any other bytes. Or a Matrix Market file (coordinate;
  /// real, integer or pattern; general or symmetric), whose nodes are named 1, 2, ...
  ///
  /// With `options.cache` the result is kept in that file and mapped from there next time, as long
  /// as the edge list and the options are the same; another graph there is replaced, any other file
  /// refused. Throws IoError; FormatError with line and column: a missing node, a weight that is
  /// missing, negative or no number; CorpusError when no node is left; InvalidArgument.
  [[nodiscard]] static Graph from_edge_list(const std::filesystem::path& path,
                                            const GraphOptions& options = {}) {
    const auto read = [&] {
      return Graph(
          detail::EdgeListReader(path, options.weighted, options.directed, options.isolated_nodes,
                                 options.threads, options.before_piece)
              .read(),
          options, path);
    };
    if (options.cache.empty()) return read();
    const auto source = detail::CorpusSource::of(path, hash_of(options), 0, {});
    if (auto stored = detail::open_graph_file(options.cache, &source))
      return Graph(std::move(*stored));
    Graph made = read();
    detail::write_graph_file(options.cache, made.stored(), source);
    return made;
  }

  /// Makes a graph of edges between nodes that are numbered from 0 to nodes - 1, which are their
  /// names; ids are by number of edges. Throws InvalidArgument for a node or weight out of range,
  /// CorpusError when no node is left.
  [[nodiscard]] static Graph from_edges(std::span<const Edge> edges, std::size_t nodes,
                                        const GraphOptions& options = {}) {
    detail::EdgeList list;
    for (std::size_t i = 0; i < nodes; ++i) list.names.insert(std::to_string(i));
    list.parts.resize(1);
    for (std::size_t i = 0; i < edges.size(); ++i) {
      for (const WordId node : {edges[i].from, edges[i].to})
        if (node >= nodes)
          throw InvalidArgument("edges[" + std::to_string(i) + "] has node " +
                                std::to_string(node) + ", must be below " + std::to_string(nodes));
      add(list.parts[0], i, edges[i].from, edges[i].to, edges[i].weight, options.weighted);
    }
    return Graph(std::move(list), options, "the list of edges");
  }

  /// Makes a graph of edges between nodes with names. Throws InvalidArgument for a name that is
  /// empty or holds white space and for a weight out of range, CorpusError when no node is left.
  [[nodiscard]] static Graph from_edges(std::span<const NamedEdge> edges,
                                        const GraphOptions& options = {}) {
    detail::EdgeList list;
    list.parts.resize(1);
    for (std::size_t i = 0; i < edges.size(); ++i) {
      for (const std::string_view name : {edges[i].from, edges[i].to})
        if (!is_word(name)) throw detail::not_a_word(name, "edges", i);
      const WordId from = list.names.insert(edges[i].from), to = list.names.insert(edges[i].to);
      add(list.parts[0], i, from, to, edges[i].weight, options.weighted);
    }
    return Graph(std::move(list), options, "the list of edges");
  }

  /// Maps a graph that `save` has written. Throws IoError, and FormatError with the byte.
  [[nodiscard]] static Graph load(const std::filesystem::path& path) {
    return Graph(std::move(*detail::open_graph_file(path, nullptr)));
  }
  /// Writes the graph, whole or not at all. Throws IoError.
  void save(const std::filesystem::path& path) const {
    detail::write_graph_file(path, stored(), {});
  }

  std::size_t node_count() const noexcept { return rows_.nodes(); }
  /// Returns the number of edges; an undirected one counts once.
  std::uint64_t edge_count() const noexcept { return rows_.edges; }
  /// Returns the number of neighbours of all nodes: an undirected edge has two entries, unless it
  /// leads from a node to itself.
  std::uint64_t entry_count() const noexcept { return rows_.neighbours.size(); }
  bool is_directed() const noexcept { return rows_.directed; }
  bool is_weighted() const noexcept { return weighted_; }

  /// The nodes by name; the count of a node is the number of edges that lead to it, of a weighted
  /// graph in proportion to the sum of their weights, and at least 1.
  const Vocabulary& vocabulary() const& noexcept { return nodes_; }
  void vocabulary() const&& = delete;

  /// Returns the ends of the edges from a node, rising.
  std::span<const WordId> neighbours(WordId node) const& noexcept { return rows_.row(node); }
  void neighbours(WordId) const&& = delete;
  /// Returns their weights in the same order; empty without weights.
  std::span<const float> weights(WordId node) const& noexcept {
    if (!weighted_) return {};
    return rows_.weights.subspan(rows_.begin(node), rows_.ends[node] - rows_.begin(node));
  }
  void weights(WordId) const&& = delete;
  bool has_edge(WordId from, WordId to) const noexcept {
    const auto row = rows_.row(from);
    return std::binary_search(row.begin(), row.end(), to);
  }
  /// Draws a neighbour in proportion to the weights; the node needs one.
  WordId draw_neighbour(WordId node, Random& random) const noexcept {
    const auto row = rows_.row(node);
    const auto place = AliasTable::draw_place(random, row.size());
    if (!weighted_) return row[place.bucket];
    return row[AliasTable::finish(&rows_.aliases[rows_.begin(node)], place)];
  }
  /// Returns how the rows lie in memory: for what walks at full speed.
  const detail::GraphRows& rows() const& noexcept { return rows_; }
  void rows() const&& = delete;

  /// Returns a graph of the same nodes with the same ids and counts, without these edges (by id;
  /// their weights are ignored), in both directions where the graph is undirected.
  [[nodiscard]] Graph without(std::span<const Edge> edges) const {
    std::vector<std::pair<WordId, WordId>> gone;
    for (const Edge& edge : edges) {
      gone.emplace_back(edge.from, edge.to);
      if (!is_directed()) gone.emplace_back(edge.to, edge.from);
    }
    std::sort(gone.begin(), gone.end());
    detail::RowMemory rows;
    for (WordId node = 0; node < node_count(); ++node) {
      const auto row = neighbours(node);
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (std::binary_search(gone.begin(), gone.end(), std::pair(node, row[i]))) continue;
        rows.neighbours.push_back(row[i]);
        if (weighted_) rows.weights.push_back(weights(node)[i]);
      }
      rows.ends.push_back(rows.neighbours.size());
    }
    Graph result = *this;
    result.rows_ = detail::finish_rows(std::move(rows), is_directed(), 1);
    result.fingerprint_ = result.hash();
    return result;
  }

  /// Returns a hash of names, edges and weights; the same each time.
  std::uint64_t fingerprint() const noexcept { return fingerprint_; }

 private:
  static void add(detail::EdgeList::Part& part, std::size_t i, WordId from, WordId to, float weight,
                  bool weighted) {
    if (weighted && (!(weight >= 0) || !std::isfinite(weight)))
      throw InvalidArgument("edges[" + std::to_string(i) + "] has a weight of " +
                            std::to_string(weight) + ", must be finite and not negative");
    part.nodes.insert(part.nodes.end(), {from, to});
    if (weighted) part.weights.push_back(weight);
  }

  static std::uint64_t hash_of(const GraphOptions& options) {
    detail::Hash hash;
    for (const bool option :
         {options.directed, options.weighted, options.self_loops, options.isolated_nodes,
          options.repeated_edges == RepeatedEdges::merge})
      hash.add(std::uint64_t{option});
    return hash.value();
  }

  Graph(detail::EdgeList list, const GraphOptions& options, const std::filesystem::path& source)
      : weighted_(options.weighted) {
    const std::size_t threads = resolve_threads(options.threads);
    auto raw = detail::make_rows(
        list.names.size(), list.parts.size(),
        [&](std::size_t i, auto&& use) {
          const detail::EdgeList::Part& part = list.parts[i];
          for (std::size_t e = 0; 2 * e < part.nodes.size(); ++e)
            use(part.nodes[2 * e], part.nodes[2 * e + 1], weighted_ ? part.weights[e] : 1.0f);
        },
        options.directed, weighted_, options.repeated_edges == RepeatedEdges::merge,
        options.self_loops, threads);
    list.parts.clear();
    const std::vector<std::uint64_t> counts = detail::node_counts(raw);
    detail::WordCounter counter;
    for (std::size_t i = 0; i < counts.size(); ++i)
      if (counts[i] > 0 || options.isolated_nodes || raw.ends[i] > raw.begin(i))
        counter.add(list.names[i], std::max<std::uint64_t>(counts[i], 1));
    if (counter.size() == 0) throw CorpusError(source.string() + ": no edges");
    nodes_ = Vocabulary::from_counter(counter, {.min_count = 1}, source);
    counter = {};
    std::vector<WordId> order(nodes_.size());
    std::vector<WordId> numbers;
    detail::resize_for_random_reads(numbers, list.names.size());
    for (WordId i = 0; i < numbers.size(); ++i)
      if (const auto id = nodes_.find(list.names[i])) {
        numbers[i] = *id;
        order[*id] = i;
      }
    list.names = {};
    rows_ = detail::finish_rows(detail::renumber(raw, order, numbers, threads), options.directed,
                                threads);
    fingerprint_ = hash();
  }

  explicit Graph(detail::StoredGraph stored)
      : nodes_(std::move(stored.nodes)),
        rows_(std::move(stored.rows)),
        weighted_(stored.weighted),
        fingerprint_(stored.fingerprint) {}
  detail::StoredGraph stored() const { return {nodes_, rows_, weighted_, fingerprint_}; }

  std::uint64_t hash() const noexcept {
    detail::Hash hash;
    hash.add(nodes_.fingerprint());
    hash.add(std::uint64_t{rows_.directed});
    hash.add(rows_.ends.data(), rows_.ends.size_bytes());
    hash.add(rows_.neighbours.data(), rows_.neighbours.size_bytes());
    hash.add(rows_.weights.data(), rows_.weights.size_bytes());
    return hash.value();
  }

  Vocabulary nodes_;
  detail::GraphRows rows_;
  bool weighted_;
  std::uint64_t fingerprint_ = 0;
};

}  // namespace wordloom::inline WORDLOOM_ABI
