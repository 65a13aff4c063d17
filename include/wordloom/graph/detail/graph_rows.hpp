#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/detail/finite.hpp>
#include <wordloom/core/detail/random_reads.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/graph/detail/edge_parts.hpp>
#include <wordloom/graph/graph_options.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Rows of neighbours (compressed sparse rows), in memory or in a mapped file.
struct GraphRows {
  std::span<const std::uint64_t> ends;         // [nodes] of the rows in `neighbours`
  std::span<const WordId> neighbours;          // [entries], ascending within a row
  std::span<const float> weights;              // [entries]; empty: all are 1
  std::span<const AliasTable::Entry> aliases;  // [entries] a table for each row; empty as well
  std::uint64_t edges = 0;                     // an undirected edge is one, of two entries
  bool directed = false, weighted = false;
  bool simple = true;                  // whether there are no duplicate edges
  std::shared_ptr<const void> memory;  // holds all arrays

  std::size_t nodes() const noexcept { return ends.size(); }
  std::uint64_t begin(WordId node) const noexcept { return node == 0 ? 0 : ends[node - 1]; }
  std::span<const WordId> row(WordId node) const noexcept {
    return neighbours.subspan(begin(node), ends[node] - begin(node));
  }
};

/// The arrays of rows under construction.
struct RowMemory {
  std::vector<std::uint64_t> ends;
  std::vector<WordId> neighbours;
  std::vector<float> weights;
  std::vector<AliasTable::Entry> aliases;

  std::uint64_t begin(std::size_t node) const noexcept { return node == 0 ? 0 : ends[node - 1]; }
  std::span<WordId> row(std::size_t node) noexcept {
    return std::span(neighbours).subspan(begin(node), ends[node] - begin(node));
  }
  /// Returns the weights of a row; none without weights.
  std::span<float> row_weights(std::size_t node) noexcept {
    if (weights.empty()) return {};
    return std::span(weights).subspan(begin(node), ends[node] - begin(node));
  }
  void reserve_entries(bool weighted) {
    const std::size_t entries = ends.empty() ? 0 : ends.back();
    resize_for_random_reads(neighbours, entries);
    if (weighted) resize_for_random_reads(weights, entries);
  }
  void sum_ends() noexcept {
    for (std::size_t i = 1; i < ends.size(); ++i) ends[i] += ends[i - 1];
  }
};

/// Calls `work(thread, node)` once for each node; all threads get nearly equal numbers of entries.
template <class Work>
void for_each_row(const std::vector<std::uint64_t>& ends, std::size_t threads, Work&& work) {
  const std::size_t nodes = ends.size();
  if (nodes == 0) return;
  const std::uint64_t entries = ends.back() + nodes;
  const auto first_of = [&](std::size_t part) {
    const std::uint64_t share = detail::part_of(entries, part, threads).first;
    std::size_t low = 0, high = nodes;  // low: the first node that begins at `share` or later
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      const std::uint64_t begin = (middle == 0 ? 0 : ends[middle - 1]) + middle;
      begin < share ? low = middle + 1 : high = middle;
    }
    return low;
  };
  run_threads(threads, [&](std::size_t part) {
    const std::size_t end = part + 1 == threads ? nodes : first_of(part + 1);
    for (std::size_t node = first_of(part); node < end; ++node) work(part, node);
  });
}

/// Makes rows from edges: an undirected edge is an entry of both nodes, a self-loop of one. The
/// result does not depend on the order of the edges or the number of threads. Throws
/// InvalidArgument that names `source` and two nodes if the sum of the weights of their edges is
/// too large.
RowMemory make_rows(const EdgeList& list, const GraphOptions& options, std::size_t threads,
                    const MessagePart& source);

/// Returns the in-degree of each node; with weights, a number in proportion to the sum of the
/// weights of the edges that lead to it, with a mean of 2^20.
std::vector<std::uint64_t> node_counts(const RowMemory& rows);

/// Returns the rows of the nodes order[0], order[1], ..., which become nodes 0, 1, ... `number_of`
/// [nodes]: the new number of each node; every node in a row must have one.
RowMemory renumber(const RowMemory& rows, std::span<const WordId> order,
                   std::span<const WordId> number_of, std::size_t threads);

/// Completes rows by the alias tables of weights and the number of edges.
GraphRows finish_rows(RowMemory made, bool directed, bool weighted, std::size_t threads);

#if WORDLOOM_DEFINES_FUNCTIONS

/// The scratch memory of sort_row.
using RowEntries = std::vector<std::pair<WordId, float>>;

/// Sorts row [count] by node, and its weights [count or 0] of duplicates by size, so that sums do
/// not depend on the order of the input. With `merge`, duplicates become one entry with the sum of
/// their weights. Returns the number of entries that are left; a sum may be infinite.
inline std::size_t sort_row(std::span<WordId> row, std::span<float> weights, bool merge,
                            RowEntries& entries) {
  if (weights.empty()) {
    std::sort(row.begin(), row.end());
    if (!merge) return row.size();
    return static_cast<std::size_t>(std::unique(row.begin(), row.end()) - row.begin());
  }
  entries.clear();
  for (std::size_t i = 0; i < row.size(); ++i) entries.emplace_back(row[i], weights[i]);
  std::sort(entries.begin(), entries.end());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < entries.size(); ++kept) {
    double weight = static_cast<double>(entries[i].second);
    const WordId node = entries[i++].first;
    for (; merge && i < entries.size() && entries[i].first == node; ++i)
      weight += static_cast<double>(entries[i].second);
    row[kept] = node;
    weights[kept] = static_cast<float>(weight);
  }
  return kept;
}

/// Throws InvalidArgument if a sum of weights in the row of a node is more than a float holds.
inline void check_sums(const EdgeList& list, std::size_t node, std::span<const WordId> row,
                       std::span<const float> weights, const MessagePart& source) {
  const auto bad =
      std::find_if(weights.begin(), weights.end(), [](float sum) { return !is_finite(sum); });
  if (bad == weights.end()) return;
  // One order for both rows of an undirected edge.
  const auto [first, second] =
      std::minmax<std::size_t>({node, row[static_cast<std::size_t>(bad - weights.begin())]});
  throw InvalidArgument{source,
                        ": the weights of the duplicate edges between ",
                        shown(list.names[first]),
                        " and ",
                        shown(list.names[second]),
                        " add up to more than a float can hold, 3.4e38: scale the weights"};
}

WORDLOOM_FUNCTION RowMemory make_rows(const EdgeList& list, const GraphOptions& options,
                                      std::size_t threads, const MessagePart& source) {
  const std::size_t nodes = list.names.size(), parts = list.parts.size();
  RowMemory raw;
  resize_for_random_reads(raw.ends, nodes);
  const auto for_each_entry = [&](std::size_t p, auto&& use) {
    const EdgeList::Part& part = list.parts[p];
    for (std::size_t e = 0; 2 * e < part.nodes.size(); ++e) {
      const WordId from = part.nodes[2 * e], to = part.nodes[2 * e + 1];
      const float weight = part.weights.empty() ? 1.0f : part.weights[e];
      if ((from == to && !options.self_loops) || weight == 0) continue;
      use(from, to, weight);
      if (!options.directed && from != to) use(to, from, weight);
    }
  };
  run_threads(parts, [&](std::size_t part) {
    for_each_entry(part, [&](WordId from, WordId, float) {
      std::atomic_ref(raw.ends[from]).fetch_add(1, std::memory_order_relaxed);
    });
  });
  raw.sum_ends();
  raw.reserve_entries(options.weighted);
  std::vector<std::uint64_t> next;
  resize_for_random_reads(next, nodes);
  for (std::size_t i = 0; i < nodes; ++i) next[i] = raw.begin(i);
  run_threads(parts, [&](std::size_t part) {
    for_each_entry(part, [&](WordId from, WordId to, float weight) {
      const std::uint64_t at = std::atomic_ref(next[from]).fetch_add(1, std::memory_order_relaxed);
      raw.neighbours[at] = to;
      if (options.weighted) raw.weights[at] = weight;
    });
  });
  const bool merge = options.duplicate_edges == GraphOptions::Duplicates::merge;
  std::vector<RowEntries> scratch(threads);
  for_each_row(raw.ends, threads, [&](std::size_t thread, std::size_t node) {
    const auto weights = raw.row_weights(node);
    const std::size_t kept = sort_row(raw.row(node), weights, merge, scratch[thread]);
    if (merge && kept < weights.size())
      check_sums(list, node, raw.row(node), weights.first(kept), source);
    next[node] = kept;
  });
  // Closes the gaps that merged entries left.
  std::uint64_t end = 0;
  for (std::size_t node = 0; node < nodes; ++node) {
    const auto row = raw.row(node).first(next[node]);
    const auto weights = raw.row_weights(node);
    if (raw.begin(node) != end) {
      std::copy(row.begin(), row.end(), raw.neighbours.data() + end);
      if (!weights.empty()) std::copy_n(weights.begin(), row.size(), raw.weights.data() + end);
    }
    next[node] = end += row.size();
  }
  raw.ends = std::move(next);
  raw.neighbours.resize(end);
  if (options.weighted) raw.weights.resize(end);
  return raw;
}

WORDLOOM_FUNCTION std::vector<std::uint64_t> node_counts(const RowMemory& rows) {
  std::vector<std::uint64_t> counts(rows.ends.size());
  if (rows.weights.empty()) {
    for (const WordId node : rows.neighbours) ++counts[node];
    return counts;
  }
  std::vector<double> sums(counts.size());
  double total = 0;
  for (std::size_t i = 0; i < rows.neighbours.size(); ++i) {
    sums[rows.neighbours[i]] += static_cast<double>(rows.weights[i]);
    total += static_cast<double>(rows.weights[i]);
  }
  const double scale = static_cast<double>(counts.size()) * 0x1p20 / total;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (sums[i] > 0)
      counts[i] = (std::max<std::uint64_t>)(1, static_cast<std::uint64_t>(sums[i] * scale));
  return counts;
}

WORDLOOM_FUNCTION RowMemory renumber(const RowMemory& rows, std::span<const WordId> order,
                                     std::span<const WordId> number_of, std::size_t threads) {
  const bool weighted = !rows.weights.empty();
  RowMemory result;
  resize_for_random_reads(result.ends, order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    result.ends[i] = rows.ends[order[i]] - rows.begin(order[i]);
  result.sum_ends();
  result.reserve_entries(weighted);
  std::vector<RowEntries> scratch(threads);
  for_each_row(result.ends, threads, [&](std::size_t thread, std::size_t node) {
    const std::uint64_t from = rows.begin(order[node]);
    const auto row = result.row(node);
    const auto weights = result.row_weights(node);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = number_of[rows.neighbours[from + i]];
    if (weighted) std::copy_n(rows.weights.data() + from, weights.size(), weights.data());
    sort_row(row, weights, false, scratch[thread]);
  });
  return result;
}

WORDLOOM_FUNCTION GraphRows finish_rows(RowMemory made, bool directed, bool weighted,
                                        std::size_t threads) {
  const auto memory = std::make_shared<RowMemory>(std::move(made));
  RowMemory& rows = *memory;
  std::vector<std::uint64_t> loops(threads);
  std::atomic<bool> simple{true};
  resize_for_random_reads(rows.aliases, rows.weights.size());
  for_each_row(rows.ends, threads, [&](std::size_t thread, std::size_t node) {
    const auto row = rows.row(node);
    const auto [first, last] = std::equal_range(row.begin(), row.end(), static_cast<WordId>(node));
    loops[thread] += static_cast<std::uint64_t>(last - first);
    if (std::adjacent_find(row.begin(), row.end()) != row.end()) simple = false;
    const std::span<const float> weights = rows.row_weights(node);
    if (weights.empty()) return;
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    AliasTable::fill(weights, total,
                     std::span(rows.aliases).subspan(rows.begin(node), weights.size()));
  });
  std::uint64_t edges = rows.neighbours.size();
  if (!directed)
    for (const std::uint64_t of_thread : loops) edges += of_thread;
  if (!directed) edges /= 2;
  return {rows.ends, rows.neighbours, rows.weights, rows.aliases, edges,
          directed,  weighted,        simple,       memory};
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
