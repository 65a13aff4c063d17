#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include <wordloom/core/detail/abi.hpp>
#include <wordloom/core/error.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Options of making a graph of edges.
struct GraphOptions {
  /// The treatment of duplicate edges; in an undirected graph, `u v` and `v u` are duplicates.
  enum class Duplicates {
    merge,  ///< to one edge, with the sum of their weights
    keep    ///< as parallel edges
  };

  /// The content of a line of a text file of edges. A Matrix Market file is recognised in any case.
  enum class Format {
    edges,     ///< `u v` or `u v weight`: one edge
    adjacency  ///< `u v1 v2 ...`: the edges from u to v1, v2, ...; a node alone has none
  };

  /// The treatment of a header: a first line with the names of the columns.
  enum class Header {
    refuse,   ///< a line that looks like a header is an error
    present,  ///< the first line is one: it says which columns hold the nodes and the weight; if
              ///< no name says it, Graph::Report::assumed_columns does
    absent    ///< the first line is an edge, whatever it looks like
  };

  /// A value of `delimiter`: any run of white space separates columns.
  static constexpr char any_white_space = '\n';

  bool directed = false;
  /// True if edges have weights: the third column of a file, which is otherwise not read.
  bool weighted = false;
  /// from_edge_list: the only byte that separates columns (a run of blanks counts as one), or
  /// any_white_space. 0: automatic; a tab, comma, semicolon or bar, or white space, by the first
  /// lines.
  char delimiter = '\0';
  /// from_edge_list: the content of a line.
  Format format = Format::edges;
  /// from_edge_list: the treatment of a first line that names the columns.
  Header header = Header::refuse;
  Duplicates duplicate_edges = Duplicates::merge;
  /// True if edges from a node to itself are kept.
  bool self_loops = true;
  /// True if nodes without any edge are kept: those whose only edges are left out (self-loops,
  /// edges of weight 0), those that a Matrix Market file counts, and all of from_edges.
  bool isolated_nodes = false;
  /// Threads that read, up to 65536; 0 = all processors of the machine.
  std::size_t threads = 0;
  /// from_edge_list: the file that keeps the graph; empty: it is kept in memory only.
  std::filesystem::path cache = {};
  /// Called before each piece of a file is read, never by two threads at once. An exception that it
  /// throws ends the reading and reaches the caller.
  std::function<void()> before_piece = {};

  /// Throws InvalidArgument for options with which no file can be read.
  void validate() const;
};

namespace detail {

/// The numbers of edges, lines and nodes that were read, merged and dropped to make a graph.
struct GraphReport {
  std::uint64_t edges = 0;               // that were read
  std::uint64_t merged_edges = 0;        // duplicates of others
  std::uint64_t zero_weights = 0;        // edges of weight 0, left out
  std::uint64_t dropped_self_loops = 0;  // edges from a node to itself, left out
  std::uint64_t dropped_nodes = 0;       // nodes without an edge, left out
  std::uint64_t lines_without_edge = 0;  // comments, blank lines, a header, nodes alone
  /// The byte between columns or GraphOptions::any_white_space; 0: no file, or a Matrix Market
  /// file.
  char delimiter = '\0';
  /// True if some lines have columns that were not read, such as weights of an unweighted graph.
  bool has_unread_columns = false;
  /// True if an undirected graph was made of edges that a column calls directed.
  bool ignores_directions = false;
  /// A clause that says which columns are taken as the nodes, if a header has no usual names for
  /// them: "columns 'a' and 'b' are taken as the nodes".
  std::string assumed_columns = {};

  /// Returns the name of `delimiter` for messages, in the plural: "tabs".
  std::string delimiter_name() const;
};

}  // namespace detail

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION void GraphOptions::validate() const {
  if (delimiter == '\r' || delimiter == '"' || delimiter == '#' || delimiter == '%')
    throw InvalidArgument{"delimiter is ", detail::shown({&delimiter, 1}),
                          ", must not be a line end, quotation mark, # or %"};
  if (format == GraphOptions::Format::adjacency && weighted)
    throw InvalidArgument("an adjacency list has no weights: weighted must be false");
  if (format == GraphOptions::Format::adjacency && header == GraphOptions::Header::present)
    throw InvalidArgument("an adjacency list has no header: header must not be present");
}

WORDLOOM_FUNCTION std::string detail::GraphReport::delimiter_name() const {
  switch (delimiter) {
    case GraphOptions::any_white_space:
      return "white space";
    case '\t':
      return "tabs";
    case ' ':
      return "blanks";
    case ',':
      return "commas";
    case ';':
      return "semicolons";
    case '|':
      return "bars";
    default:
      return detail::shown({&delimiter, 1});
  }
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
