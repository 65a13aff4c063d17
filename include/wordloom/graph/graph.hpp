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

/// A graph of up to 2^32 - 2 nodes and 2^40 edges as rows of neighbours: 4 bytes for each entry (an
/// undirected edge has two), 16 with weights, 8 for each node, and the names. Nodes have the ids of
/// a vocabulary: by descending in-degree, then in order of their names. Immutable; copies share the
/// rows and are cheap; all members are thread-safe. Spans are valid as long as any copy.
class Graph {
 public:
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
  GraphReport report() const noexcept { return data_.report; }
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

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION Graph Graph::from_edge_list(const std::filesystem::path& path,
                                              const GraphOptions& options) {
  options.validate();
  const auto read = [&] {
    return Graph(detail::EdgeListReader(path, options).read(), options, path);
  };
  if (options.cache.empty()) return read();
  const auto source = detail::CorpusSource::of(path, hash_of(options), 0, {});
  if (auto stored = detail::open_graph_file(options.cache, &source))
    return Graph(std::move(*stored));
  Graph made = read();
  detail::write_graph_file(options.cache, made.data_, source);
  return made;
}

WORDLOOM_FUNCTION Graph Graph::from_edges(std::span<const Edge> edges, std::size_t nodes,
                                          const GraphOptions& options) {
  detail::EdgeList list;
  for (std::size_t i = 0; i < nodes; ++i) list.names.insert(std::to_string(i));
  list.parts.resize(1);
  for (std::size_t i = 0; i < edges.size(); ++i) {
    for (const WordId node : {edges[i].from, edges[i].to})
      if (node >= nodes)
        throw InvalidArgument{"edges[", i, "] has node ", node, ", must be below ", nodes};
    add(list.parts[0], i, edges[i].from, edges[i].to, edges[i].weight, options.weighted);
  }
  return Graph(std::move(list), options, "the list of edges");
}

WORDLOOM_FUNCTION Graph Graph::from_edges(std::span<const NamedEdge> edges,
                                          const GraphOptions& options) {
  detail::EdgeList list;
  list.parts.resize(1);
  for (std::size_t i = 0; i < edges.size(); ++i) {
    for (const std::string_view name : {edges[i].from, edges[i].to})
      if (name.empty()) throw InvalidArgument{"edges[", i, "] has a node without a name"};
    const WordId from = list.names.insert(edges[i].from), to = list.names.insert(edges[i].to);
    add(list.parts[0], i, from, to, edges[i].weight, options.weighted);
  }
  return Graph(std::move(list), options, "the list of edges");
}

WORDLOOM_FUNCTION void Graph::save_edge_list(const std::filesystem::path& path) const {
  AtomicFile file(path);
  std::string line;
  for (WordId from = 0; from < node_count(); ++from) {
    const std::string start = detail::quoted_name(vocabulary().word(from)) + '\t';
    const auto row = neighbours(from);
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (!is_directed() && row[i] < from) continue;
      line = start + detail::quoted_name(vocabulary().word(row[i]));
      if (is_weighted()) {
        char weight[32];
        const auto end = std::to_chars(weight, weight + sizeof weight, weights(from)[i]).ptr;
        line.append(1, '\t').append(weight, end);
      }
      file.write(line += '\n');
    }
  }
  file.commit();
}

WORDLOOM_FUNCTION Graph Graph::without(std::span<const Edge> edges) const {
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
      if (is_weighted()) rows.weights.push_back(weights(node)[i]);
    }
    rows.ends.push_back(rows.neighbours.size());
  }
  Graph result = *this;
  result.data_.rows = detail::finish_rows(std::move(rows), is_directed(), is_weighted(), 1);
  result.data_.fingerprint = result.hash();
  return result;
}

WORDLOOM_FUNCTION void Graph::add(detail::EdgeList::Part& part, std::size_t i, WordId from,
                                  WordId to, float weight, bool weighted) {
  if (weighted && (!(weight >= 0) || !detail::is_finite(weight)))
    throw InvalidArgument{"edges[", i, "] has a weight of ", weight,
                          ", must be finite and not negative"};
  part.nodes.insert(part.nodes.end(), {from, to});
  if (weighted) part.weights.push_back(weight);
}

WORDLOOM_FUNCTION std::uint64_t Graph::hash_of(const GraphOptions& options) {
  detail::Hash hash;
  for (const bool option :
       {options.directed, options.weighted, options.self_loops, options.isolated_nodes,
        options.duplicate_edges == GraphOptions::Duplicates::merge})
    hash.add(std::uint64_t{option});
  hash.add(std::uint64_t{static_cast<unsigned char>(options.delimiter)});
  hash.add(static_cast<std::uint64_t>(options.format));
  hash.add(static_cast<std::uint64_t>(options.header));
  return hash.value();
}

WORDLOOM_FUNCTION Graph::Graph(detail::EdgeList list, const GraphOptions& options,
                               const detail::MessagePart& source) {
  const std::size_t threads = resolve_threads(options.threads);
  const auto raw = detail::make_rows(list, options, threads);
  GraphReport& report = data_.report;
  report = detail::count_edges(list, options);
  list.parts.clear();
  const std::vector<std::uint64_t> counts = detail::node_counts(raw);
  detail::WordCounter counter;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0 || options.isolated_nodes || raw.ends[i] > raw.begin(i))
      counter.add(list.names[i], (std::max<std::uint64_t>)(counts[i], 1));
  if (counter.size() == 0 && report.edges == 0 && report.lines_without_edge > 0)
    throw CorpusError{source, ": no edges: all its ", report.lines_without_edge,
                      " lines are blank or comments, which begin with # or %"};
  if (counter.size() == 0) throw CorpusError{source, ": no edges"};
  report.dropped_nodes += list.names.size() - counter.size();
  data_.nodes = Vocabulary::from_counter(counter, {.min_count = 1}, source);
  counter = {};
  std::vector<WordId> order(data_.nodes.size());
  std::vector<WordId> numbers;
  detail::resize_for_random_reads(numbers, list.names.size());
  for (WordId i = 0; i < numbers.size(); ++i)
    if (const auto id = data_.nodes.find(list.names[i])) {
      numbers[i] = *id;
      order[*id] = i;
    }
  list.names = {};
  data_.rows = detail::finish_rows(detail::renumber(raw, order, numbers, threads), options.directed,
                                   options.weighted, threads);
  report.merged_edges =
      report.edges - report.zero_weights - report.dropped_self_loops - data_.rows.edges;
  data_.fingerprint = hash();
}

WORDLOOM_FUNCTION std::uint64_t Graph::hash() const noexcept {
  detail::Hash hash;
  hash.add(data_.nodes.fingerprint());
  hash.add(std::uint64_t{data_.rows.directed});
  hash.add(data_.rows.ends.data(), data_.rows.ends.size_bytes());
  hash.add(data_.rows.neighbours.data(), data_.rows.neighbours.size_bytes());
  hash.add(data_.rows.weights.data(), data_.rows.weights.size_bytes());
  return hash.value();
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
