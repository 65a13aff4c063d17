#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/corpus/text_pieces.hpp>
#include <wordloom/graph/detail/edge_lines.hpp>
#include <wordloom/graph/detail/edge_list_layout.hpp>
#include <wordloom/graph/detail/edge_parts.hpp>
#include <wordloom/graph/detail/matrix_market.hpp>
#include <wordloom/graph/graph_options.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Reads the edges of a file with several threads.
class EdgeListReader {
 public:
  EdgeListReader(const std::filesystem::path& path, const GraphOptions& options)
      : path_(path), options_(options) {}

  /// Throws IoError, and FormatError for the first malformed line.
  EdgeList read();

 private:
  struct Failure {
    std::size_t piece;
    std::uint64_t line;  // in the piece
    BadLine what;
  };

  /// Reads the first lines. Throws FormatError with line and column also for a file that is not
  /// text.
  void read_layout();

  /// Replaces the numbers that each thread gave to its nodes by common numbers, those in
  /// list.names.
  static void join(std::vector<NodeNumbers>& numbers, EdgeList& list);

  bool failed() {
    const std::lock_guard lock(guard_);
    return failure_.has_value();
  }

  void read_piece(const TextPiece& piece, NodeNumbers& numbers, EdgeList::Part& part);

  /// Throws FormatError if an adjacency list has the number of lines and nodes that its first line
  /// gives, which means that it is in METIS's format.
  void refuse_metis(const EdgeList& list) const;

  void throw_failure() const;

  std::filesystem::path path_;
  const GraphOptions& options_;
  std::optional<MatrixMarketHeader> market_;
  EdgeListLayout layout_;
  std::mutex guard_;
  std::vector<std::uint64_t> lines_;  // [pieces]
  std::optional<Failure> failure_;    // in the first piece that has one
};

/// Returns the report on a list: the edges, and the numbers that are left out.
GraphReport count_edges(const EdgeList& list, const GraphOptions& options);

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION EdgeList EdgeListReader::read() {
  read_layout();
  TextPieces pieces(path_, TextPieces::default_piece_bytes, {}, options_.before_piece,
                    CutAfter::line);
  const std::size_t threads = pieces.threads(options_.threads);
  EdgeList list;
  list.parts.resize(threads);
  std::vector<NodeNumbers> numbers(threads);
  run_threads(threads, [&](std::size_t thread) {
    while (!failed()) {
      const auto piece = pieces.next();
      if (!piece) break;
      read_piece(*piece, numbers[thread], list.parts[thread]);
    }
  });
  throw_failure();
  GraphReport& report = list.report;
  std::uint64_t mirrored = 0;
  for (const EdgeList::Part& part : list.parts) {
    report.edges += part.nodes.size() / 2 - part.alone;
    report.lines_without_edge += part.without_edge + part.alone;
    report.has_unread_columns |= part.has_unread_columns;
    report.ignores_directions |= part.ignores_directions;
    mirrored += part.mirrored;
  }
  report.has_unread_columns |=
      !options_.weighted && std::find(layout_.roles.begin(), layout_.roles.end(),
                                      ColumnRole::weight) != layout_.roles.end();
  report.assumed_columns = layout_.by_place;
  if (!market_) report.delimiter = layout_.delimiter;
  if (market_ && report.edges - mirrored != market_->edges)
    throw FormatError::at_line(path_, market_->lines, "as many edges as the file has",
                               joined({market_->edges, " and not ", report.edges - mirrored}));
  if (layout_.metis) refuse_metis(list);
  join(numbers, list);
  if (market_) {
    if (!options_.isolated_nodes) report.dropped_nodes = market_->nodes - list.names.size();
    if (options_.isolated_nodes)
      for (std::uint64_t i = 1; i <= market_->nodes; ++i) list.names.insert(std::to_string(i));
  }
  return list;
}

WORDLOOM_FUNCTION void EdgeListReader::read_layout() try {
  TextPieces pieces(path_, std::size_t{1} << 18, {}, {}, CutAfter::line);
  const auto piece = pieces.next();
  const std::string_view begin = piece ? piece->text : std::string_view();
  market_ = read_matrix_market_header(path_, begin, options_.weighted);
  if (!market_) layout_ = edge_list_layout(path_, begin, options_);
} catch (const ForeignFormat& foreign) {
  throw foreign.at_line(1, 1);
}

WORDLOOM_FUNCTION void EdgeListReader::join(std::vector<NodeNumbers>& numbers, EdgeList& list) {
  const std::size_t threads = numbers.size();
  const auto are_numbers = [](const NodeNumbers& of_thread) { return of_thread.are_numbers(); };
  WordId highest = 0;
  std::size_t count = 0;
  for (const EdgeList::Part& part : list.parts) {
    count += part.nodes.size();
    for (const WordId node : part.nodes) highest = (std::max)(highest, node);
  }
  // For names that are numbers not far apart: their numbers in list.names.
  std::vector<WordId> number_of;  // [highest + 1]
  const bool is_table =
      std::all_of(numbers.begin(), numbers.end(), are_numbers) && highest / 2 < count + 1024;
  if (is_table) {
    number_of.resize(std::size_t{highest} + 1);
    for (const EdgeList::Part& part : list.parts)
      for (const WordId node : part.nodes) number_of[node] = 1;
    for (std::size_t name = 0; name < number_of.size(); ++name)
      if (number_of[name] != 0) number_of[name] = list.names.insert(std::to_string(name));
  }
  std::mutex guard;
  run_threads(threads, [&](std::size_t thread) {
    std::vector<WordId>& nodes = list.parts[thread].nodes;
    if (is_table) {
      for (WordId& node : nodes) node = number_of[node];
      return;
    }
    if (numbers[thread].are_numbers()) numbers[thread].name_numbers(nodes);
    const WordList& names = numbers[thread].names();
    std::vector<WordId> in_list(names.size());
    {
      const std::lock_guard lock(guard);
      for (std::size_t i = 0; i < names.size(); ++i) in_list[i] = list.names.insert(names[i]);
    }
    for (WordId& node : nodes) node = in_list[node];
  });
}

WORDLOOM_FUNCTION void EdgeListReader::read_piece(const TextPiece& piece, NodeNumbers& numbers,
                                                  EdgeList::Part& part) {
  std::uint64_t lines = 0;
  std::optional<Failure> failure;
  const std::uint64_t header = piece.index > 0 ? 0 : market_ ? market_->lines : layout_.header;
  EdgeLines reader(options_, layout_, market_);
  for_each_line(piece.text, [&](std::string_view line, std::uint64_t number) {
    lines = number;
    if (failure) return;
    if (number <= header)
      ++part.without_edge;
    else if (auto bad = reader.read(line, numbers, part))
      failure = Failure{piece.index, number, std::move(*bad)};
  });
  const std::lock_guard lock(guard_);
  if (lines_.size() <= piece.index) lines_.resize(piece.index + 1);
  lines_[piece.index] = lines;
  if (failure && (!failure_ || failure->piece < failure_->piece)) failure_ = std::move(failure);
}

WORDLOOM_FUNCTION void EdgeListReader::refuse_metis(const EdgeList& list) const {
  std::uint64_t all_lines = 0, lines = 0, fields = 0;
  for (const std::uint64_t of_piece : lines_) all_lines += of_piece;
  lines = all_lines;
  for (const EdgeList::Part& part : list.parts) {
    lines -= part.without_edge;
    fields += part.nodes.size() / 2 - part.alone;
  }
  fields += lines;
  const auto [nodes, edges] = *layout_.metis;
  if (nodes < lines - 1 || nodes > all_lines - 1 || fields - layout_.first_columns != 2 * edges)
    return;
  throw FormatError::at_line(
      path_, layout_.first, 1, "an adjacency list 'node neighbour neighbour ...'",
      joined({"the numbers of nodes and edges of a graph in METIS (put the number"
              " of its node before each line and remove this one)"}));
}

WORDLOOM_FUNCTION void EdgeListReader::throw_failure() const {
  if (!failure_) return;
  std::uint64_t line = failure_->line;
  for (std::size_t i = 0; i < failure_->piece; ++i) line += lines_[i];
  throw FormatError::at_line(path_, line, failure_->what.column, failure_->what.expected,
                             failure_->what.got);
}

WORDLOOM_FUNCTION GraphReport count_edges(const EdgeList& list, const GraphOptions& options) {
  GraphReport report = list.report;
  report.edges = 0;
  for (const EdgeList::Part& part : list.parts) {
    const std::size_t edges = part.nodes.size() / 2;
    report.edges += edges - part.alone;
    for (const float weight : part.weights) report.zero_weights += weight == 0;
    report.zero_weights -= part.alone;
    for (std::size_t i = 0; !options.self_loops && i < edges; ++i)
      report.dropped_self_loops += part.nodes[2 * i] == part.nodes[2 * i + 1] &&
                                   (part.weights.empty() || part.weights[i] != 0);
  }
  return report;
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
