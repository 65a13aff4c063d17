#pragma once
#include <algorithm>
#include <array>
#include <cmath>
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
#include <wordloom/graph/graph_options.hpp>
#include <wordloom/graph/matrix_market.hpp>

namespace wordloom::inline WORDLOOM_ABI::detail {

/// The edges of a file or of memory. Nodes are numbered in any order.
struct EdgeList {
  struct Part {
    std::vector<WordId> nodes;   // from, to, from, to, ...
    std::vector<float> weights;  // [edges], empty without weights; 0: no edge
  };
  WordList names;
  std::vector<Part> parts;
};

/// The error in a malformed line.
struct BadLine {
  std::string expected, got;
  std::size_t column = 1;  // in bytes, from 1
};

/// Numbers the nodes that a thread reads. As long as all names are whole numbers below 2^32 without
/// leading zeros, as in most files, each name is its own number and no hash table is needed.
class NodeNumbers {
 public:
  /// Returns the number of a name. The first one that is no number renumbers `nodes`, which hold
  /// all numbers given out before.
  WordId number(std::string_view name, std::vector<WordId>& nodes) {
    if (are_numbers_) {
      const auto number = number_in<WordId>(name);
      if (number && (name[0] != '0' || name.size() == 1)) return *number;
      name_numbers(nodes);
    }
    return names_.insert(name);
  }

  bool are_numbers() const noexcept { return are_numbers_; }
  /// The names by number, unless they are numbers.
  const WordList& names() const noexcept { return names_; }
  /// Gives names that are numbers the numbers that other names would have.
  void name_numbers(std::vector<WordId>& nodes) {
    for (WordId& node : nodes) node = names_.insert(std::to_string(node));
    are_numbers_ = false;
  }

 private:
  bool are_numbers_ = true;
  WordList names_;
};

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
    std::uint64_t line;  // of the piece
    BadLine what;
  };

  /// Makes the numbers that each thread gave to its nodes those of all, in list.names.
  static void join(std::vector<NodeNumbers>& numbers, EdgeList& list);

  bool failed() {
    const std::lock_guard lock(guard_);
    return failure_.has_value();
  }

  void read_piece(const TextPiece& piece, NodeNumbers& numbers, EdgeList::Part& part);

  /// Adds the edge of a line, if it has one. Returns the error of a malformed line.
  std::optional<BadLine> read_line(std::string_view line, NodeNumbers& numbers,
                                   EdgeList::Part& part, std::uint64_t& edges);

  void throw_failure() const;

  std::filesystem::path path_;
  const GraphOptions& options_;
  std::optional<MatrixMarketHeader> market_;
  std::mutex guard_;
  std::vector<std::uint64_t> lines_, edges_;  // [pieces]
  std::optional<Failure> failure_;            // in the first piece that has one
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION EdgeList EdgeListReader::read() {
  market_ = read_matrix_market_header(path_, options_.weighted);
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
  if (market_) {
    std::uint64_t edges = 0;
    for (const std::uint64_t of_piece : edges_) edges += of_piece;
    if (edges != market_->edges)
      throw FormatError::at(path_, "line", market_->lines, "as many edges as the file has",
                            joined({market_->edges, " and not ", edges}));
  }
  join(numbers, list);
  if (market_ && options_.isolated_nodes)
    for (std::uint64_t i = 1; i <= market_->nodes; ++i) list.names.insert(std::to_string(i));
  return list;
}

WORDLOOM_FUNCTION void EdgeListReader::join(std::vector<NodeNumbers>& numbers, EdgeList& list) {
  const std::size_t threads = numbers.size();
  const auto are_numbers = [](const NodeNumbers& of_thread) { return of_thread.are_numbers(); };
  WordId highest = 0;
  std::size_t count = 0;
  for (const EdgeList::Part& part : list.parts) {
    count += part.nodes.size();
    for (const WordId node : part.nodes) highest = std::max(highest, node);
  }
  // For names that are numbers, unless they are far apart: their numbers in list.names.
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
  std::uint64_t lines = 0, edges = 0;
  std::optional<Failure> failure;
  const std::uint64_t header = market_ && piece.index == 0 ? market_->lines : 0;
  for_each_line(piece.text, [&](std::string_view line, std::uint64_t number) {
    lines = number;
    if (failure || number <= header) return;
    if (auto bad = read_line(line, numbers, part, edges))
      failure = Failure{piece.index, number, std::move(*bad)};
  });
  const std::lock_guard lock(guard_);
  if (lines_.size() <= piece.index) lines_.resize(piece.index + 1), edges_.resize(lines_.size());
  lines_[piece.index] = lines;
  edges_[piece.index] = edges;
  if (failure && (!failure_ || failure->piece < failure_->piece)) failure_ = std::move(failure);
}

WORDLOOM_FUNCTION std::optional<BadLine> EdgeListReader::read_line(std::string_view line,
                                                                   NodeNumbers& numbers,
                                                                   EdgeList::Part& part,
                                                                   std::uint64_t& edges) {
  std::array<std::string_view, 3> fields;
  std::array<std::size_t, 3> columns{};
  const std::size_t count = for_each_field(line, [&](std::size_t i, std::size_t at, auto field) {
    if (i < 3) fields[i] = field, columns[i] = at + 1;
  });
  if (count == 0 || fields[0][0] == '#' || fields[0][0] == '%') return std::nullopt;
  if (count < 2) return BadLine{"two nodes", "only " + shown(fields[0]), line.size() + 1};
  float weight = 1;
  if (options_.weighted) {
    constexpr auto expected = "a weight, a number from 0 on";
    if (count < 3) return BadLine{expected, "the end of the line", line.size() + 1};
    const auto number = number_in<double>(fields[2]);
    if (!number || !(*number >= 0) || !std::isfinite(static_cast<float>(*number)))
      return BadLine{expected, shown(fields[2]), columns[2]};
    weight = static_cast<float>(*number);
  }
  if (market_)
    for (std::size_t i = 0; i < 2; ++i) {
      const auto number = number_in<std::uint64_t>(fields[i]);
      if (!number || *number == 0 || *number > market_->nodes)
        return BadLine{"a number from 1 to " + std::to_string(market_->nodes), shown(fields[i]),
                       columns[i]};
    }
  ++edges;
  for (std::size_t i = 0; i < 2; ++i) {
    const WordId node = numbers.number(fields[i], part.nodes);
    part.nodes.push_back(node);
  }
  const WordId from = part.nodes.end()[-2], to = part.nodes.back();
  const bool both = market_ && market_->symmetric && options_.directed && from != to;
  if (both) part.nodes.insert(part.nodes.end(), {to, from});
  if (options_.weighted) part.weights.insert(part.weights.end(), both ? 2 : 1, weight);
  return std::nullopt;
}

WORDLOOM_FUNCTION void EdgeListReader::throw_failure() const {
  if (!failure_) return;
  std::uint64_t line = failure_->line;
  for (std::size_t i = 0; i < failure_->piece; ++i) line += lines_[i];
  throw FormatError::at(path_, joined({"line ", line, ", column"}), failure_->what.column,
                        failure_->what.expected, failure_->what.got);
}

#endif

}  // namespace wordloom::inline WORDLOOM_ABI::detail
