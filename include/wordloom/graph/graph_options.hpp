#pragma once
#include <cstddef>
#include <filesystem>
#include <functional>

#include <wordloom/core/abi.hpp>

namespace wordloom::inline WORDLOOM_ABI {

/// The treatment of duplicate edges; in an undirected graph, `u v` and `v u` are duplicates.
enum class DuplicateEdges {
  merge,  ///< to one edge, with the sum of their weights
  keep    ///< as parallel edges
};

/// How edges become a graph.
struct GraphOptions {
  bool directed = false;
  /// Whether edges have weights: the third column of a file. Without, it is not read.
  bool weighted = false;
  DuplicateEdges duplicate_edges = DuplicateEdges::merge;
  /// Whether edges from a node to itself are kept.
  bool self_loops = true;
  /// Whether nodes without any edge are kept: those whose only edges are left out (self-loops,
  /// edges of weight 0), those that a Matrix Market file counts, and all of from_edges.
  bool isolated_nodes = false;
  /// Threads that read, up to 65536; 0 = all that the machine offers.
  std::size_t threads = 0;
  /// from_edge_list: the file in which the graph is kept; empty: in memory only.
  std::filesystem::path cache = {};
  /// Called before each piece of a file is read, by one thread at a time; what it throws ends the
  /// reading and reaches the caller.
  std::function<void()> before_piece = {};
};

}  // namespace wordloom::inline WORDLOOM_ABI
