#pragma once
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/detail/finite.hpp>
#include <wordloom/core/detail/hash.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/files.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/corpus/detail/corpus_file.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/graph/detail/edge_fields.hpp>
#include <wordloom/graph/detail/edge_list.hpp>
#include <wordloom/graph/detail/graph_file.hpp>
#include <wordloom/graph/detail/graph_rows.hpp>
#include <wordloom/graph/graph_options.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// A graph of up to 2^32 - 2 nodes and 2^40 edges as rows of neighbours: 4 bytes for each entry (an
/// undirected edge has two), 16 with weights, 8 for each node, and the names. Nodes have the ids of
/// a vocabulary: by descending in-degree, then in order of their names. Immutable; copies share the
/// rows and are cheap; all members are thread-safe. Spans are valid as long as any copy.
class Graph {
 public:
  /// The numbers of edges, lines and nodes that were read, merged and dropped to make a graph.
  using Report = detail::GraphReport;

  /// An edge between two nodes by number. An edge of weight 0 is left out.
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

  /// Reads a file, plain or .gz, with all threads: lines `u v` or `u v weight` with one delimiter
  /// in the whole file (options.delimiter), `u v1 v2 ...` (options.format), or a Matrix Market file
  /// (coordinate; real, integer or pattern; general or symmetric), whose nodes are named 1, 2, ...
  ///
  /// Names are any bytes without the white space around them; a name in quotation marks may contain
  /// the delimiter, and white space anywhere (RFC 4180). Empty lines, those that begin with '#' or
  /// '%' and empty columns at the end are ignored. The data that NetworkX writes for an edge are
  /// read for the weight alone. The third column of an unweighted graph may be a number, which is
  /// not read; other columns are an error, as are other formats.
  ///
  /// With `options.cache` the result is kept in that file and mapped from there next time, as long
  /// as the edge list and the options are the same; another graph there is replaced, any other file
  /// is refused. Throws IoError; FormatError with line and column; CorpusError if no node is left;
  /// InvalidArgument.
  [[nodiscard]] static Graph from_edge_list(const std::filesystem::path& path,
                                            const GraphOptions& options = {});

  /// Makes a graph of edges between nodes that are numbered from 0 to nodes - 1. The numbers become
  /// names; ids are by number of edges. Throws InvalidArgument for a node or weight out of range,
  /// CorpusError if no node is left.
  [[nodiscard]] static Graph from_edges(std::span<const Edge> edges, std::size_t nodes,
                                        const GraphOptions& options = {});

  /// Makes a graph of edges between nodes with names, which are any bytes. Throws InvalidArgument
  /// for an empty name and for a weight out of range, CorpusError if no node is left.
  [[nodiscard]] static Graph from_edges(std::span<const NamedEdge> edges,
                                        const GraphOptions& options = {});

  /// Maps a file of `save`. Throws IoError, and FormatError with the byte.
  [[nodiscard]] static Graph load(const std::filesystem::path& path) {
    return Graph(std::move(*detail::open_graph_file(path, nullptr)));
  }
  /// Writes the graph, whole or not at all. Throws IoError, and InvalidArgument for a name with a
  /// newline.
  void save(const std::filesystem::path& path) const { detail::write_graph_file(path, data_, {}); }

  /// Writes each edge as a line of from_edge_list, names and weights separated by tabs; of an
  /// undirected graph each edge once. Throws IoError, and InvalidArgument for a name with a line
  /// end.
  void save_edge_list(const std::filesystem::path& path) const;

  std::size_t node_count() const noexcept { return data_.rows.nodes(); }
  /// Returns the number of edges; an undirected one counts once.
  std::uint64_t edge_count() const noexcept { return data_.rows.edges; }
  /// Returns the number of neighbours of all nodes: an undirected edge has two entries, unless it
  /// leads from a node to itself.
  std::uint64_t entry_count() const noexcept { return data_.rows.neighbours.size(); }
  /// Returns the report on the input and the parts that were left out, for this graph or the one
  /// that it is a part of.
  Report report() const { return data_.report; }
  bool is_directed() const noexcept { return data_.rows.directed; }
  bool is_weighted() const noexcept { return data_.rows.weighted; }

  /// Returns the names of the nodes. The count of a node is its in-degree (for an undirected graph,
  /// its degree) and at least 1; with weights, a number in proportion to the sum of the weights.
  const Vocabulary& vocabulary() const& noexcept { return data_.nodes; }
  void vocabulary() const&& = delete;

  /// Returns the out-neighbours of a node, ascending.
  std::span<const WordId> neighbours(WordId node) const& noexcept { return data_.rows.row(node); }
  void neighbours(WordId) const&& = delete;
  /// Returns the weights of the neighbours in the same order; empty without weights.
  std::span<const float> weights(WordId node) const& noexcept {
    if (!is_weighted()) return {};
    return data_.rows.weights.subspan(data_.rows.begin(node),
                                      data_.rows.ends[node] - data_.rows.begin(node));
  }
  void weights(WordId) const&& = delete;
  bool has_edge(WordId from, WordId to) const noexcept {
    const auto row = data_.rows.row(from);
    return std::binary_search(row.begin(), row.end(), to);
  }
  /// Draws a neighbour in proportion to the weights; the node must have one.
  WordId draw_neighbour(WordId node, Random& random) const noexcept {
    const auto row = data_.rows.row(node);
    const auto place = detail::AliasTable::draw_place(random, row.size());
    if (!is_weighted()) return row[place.bucket];
    return row[detail::AliasTable::end_draw(&data_.rows.aliases[data_.rows.begin(node)], place)];
  }
  /// Returns the arrays of the graph, for code that walks at full speed.
  const detail::GraphRows& rows() const& noexcept { return data_.rows; }
  void rows() const&& = delete;

  /// Returns a graph of the same nodes with the same ids and counts, without these edges (by id;
  /// their weights are ignored), in both directions if the graph is undirected.
  [[nodiscard]] Graph without(std::span<const Edge> edges) const;

  /// Returns a hash of names, edges and weights, equal in every run.
  std::uint64_t fingerprint() const noexcept { return data_.fingerprint; }

 private:
  static void add(detail::EdgeList::Part& part, std::size_t i, WordId from, WordId to, float weight,
                  bool weighted);

  static std::uint64_t hash_of(const GraphOptions& options);

  Graph(detail::EdgeList list, const GraphOptions& options, const detail::MessagePart& source);

  explicit Graph(detail::GraphData data) : data_(std::move(data)) {}

  std::uint64_t hash() const noexcept;

  detail::GraphData data_;
};

using Edge [[deprecated("use Graph::Edge")]] = Graph::Edge;
using NamedEdge [[deprecated("use Graph::NamedEdge")]] = Graph::NamedEdge;

}}  // namespace wordloom::WORDLOOM_ABI

#if WORDLOOM_DEFINES_FUNCTIONS
#include <wordloom/graph/detail/graph.inl>
#endif
