#pragma once
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>

namespace wordloom::inline WORDLOOM_ABI::detail {

/// Rows of neighbours (compressed sparse rows), in memory or in a mapped file.
struct GraphRows {
  std::span<const std::uint64_t> ends;         // [nodes] of the rows in `neighbours`
  std::span<const WordId> neighbours;          // [entries], rising within a row
  std::span<const float> weights;              // [entries]; empty: all are 1
  std::span<const AliasTable::Entry> aliases;  // [entries] a table for each row; empty as well
  std::uint64_t edges = 0;                     // an undirected edge is one, of two entries
  bool directed = false;
  bool simple = true;                  // whether no row has a node twice
  std::shared_ptr<const void> memory;  // in which all lie

  std::size_t nodes() const noexcept { return ends.size(); }
  std::uint64_t begin(WordId node) const noexcept { return node == 0 ? 0 : ends[node - 1]; }
  std::span<const WordId> row(WordId node) const noexcept {
    return neighbours.subspan(begin(node), ends[node] - begin(node));
  }
};

/// Makes room for `count` numbers, in large pages where the system has them: walks read the rows of
/// large graphs at random.
template <class Number>
void resize_for_random_reads(std::vector<Number>& numbers, std::size_t count) {
  numbers.reserve(count);
  constexpr std::size_t page = std::size_t{1} << 21;
  const auto address = reinterpret_cast<std::uintptr_t>(numbers.data());
  const std::size_t before = (page - address % page) % page;
  if (before + page <= count * sizeof(Number))
    ::madvise(reinterpret_cast<char*>(numbers.data()) + before,
              (count * sizeof(Number) - before) / page * page, MADV_HUGEPAGE);
  numbers.resize(count);
}

/// The memory of rows that are being made.
struct RowMemory {
  std::vector<std::uint64_t> ends;
  std::vector<WordId> neighbours;
  std::vector<float> weights;
  std::vector<AliasTable::Entry> aliases;

  std::uint64_t begin(std::size_t node) const noexcept { return node == 0 ? 0 : ends[node - 1]; }
  void reserve_entries(bool weighted) {
    const std::size_t entries = ends.empty() ? 0 : ends.back();
    resize_for_random_reads(neighbours, entries);
    if (weighted) resize_for_random_reads(weights, entries);
  }
  void sum_ends() noexcept {
    for (std::size_t i = 1; i < ends.size(); ++i) ends[i] += ends[i - 1];
  }
};

/// Calls `work(node)` for all nodes, with all threads, whose shares have equal numbers of entries.
template <class Work>
void for_each_row(const std::vector<std::uint64_t>& ends, std::size_t threads, Work&& work) {
  const std::size_t nodes = ends.size();
  if (nodes == 0) return;
  const std::uint64_t entries = ends.back() + nodes;
  const auto first_of = [&](std::size_t part) {
    const std::uint64_t share = part_of(entries, part, threads).first;
    std::size_t low = 0, high = nodes;  // the first node that begins at `share` or later
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

/// The entries of a row while it is sorted.
using RowEntries = std::vector<std::pair<WordId, float>>;

/// Sorts entries by node, and those of one node by weight, so that sums do not depend on the order
/// of the input. With `merge`, entries of one node become one of the sum of their weights.
inline void sort_entries(RowEntries& entries, bool merge) {
  std::sort(entries.begin(), entries.end());
  if (!merge) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < entries.size();) {
    double weight = 0;
    const WordId node = entries[i].first;
    for (; i < entries.size() && entries[i].first == node; ++i)
      weight += static_cast<double>(entries[i].second);
    if (!std::isfinite(static_cast<float>(weight)))
      throw InvalidArgument("the weights of an edge add up to more than a float holds");
    entries[kept++] = {node, static_cast<float>(weight)};
  }
  entries.resize(kept);
}

/// Makes rows of edges, each of which `for_each_edge(part, use)` hands to use(from, to, weight) for
/// part < parts. Undirected edges stand in the rows of both nodes, self-loops once. The result does
/// not depend on the order of the edges or the number of threads.
template <class ForEachEdge>
RowMemory make_rows(std::size_t nodes, std::size_t parts, const ForEachEdge& for_each_edge,
                    bool directed, bool weighted, bool merge, bool self_loops,
                    std::size_t threads) {
  RowMemory raw;
  resize_for_random_reads(raw.ends, nodes);
  const auto for_each_entry = [&](std::size_t part, auto&& use) {
    for_each_edge(part, [&](WordId from, WordId to, float weight) {
      if ((from == to && !self_loops) || weight == 0) return;
      use(from, to, weight);
      if (!directed && from != to) use(to, from, weight);
    });
  };
  run_threads(parts, [&](std::size_t part) {
    for_each_entry(part, [&](WordId from, WordId, float) {
      std::atomic_ref(raw.ends[from]).fetch_add(1, std::memory_order_relaxed);
    });
  });
  raw.sum_ends();
  raw.reserve_entries(weighted);
  std::vector<std::uint64_t> next;
  resize_for_random_reads(next, nodes);
  for (std::size_t i = 0; i < nodes; ++i) next[i] = raw.begin(i);
  run_threads(parts, [&](std::size_t part) {
    for_each_entry(part, [&](WordId from, WordId to, float weight) {
      const std::uint64_t at = std::atomic_ref(next[from]).fetch_add(1, std::memory_order_relaxed);
      raw.neighbours[at] = to;
      if (weighted) raw.weights[at] = weight;
    });
  });
  std::vector<RowEntries> scratch(threads);
  for_each_row(raw.ends, threads, [&](std::size_t thread, std::size_t node) {
    const std::uint64_t begin = raw.begin(node);
    const auto row = std::span(raw.neighbours).subspan(begin, raw.ends[node] - begin);
    if (!weighted) {
      std::sort(row.begin(), row.end());
      const auto end = merge ? std::unique(row.begin(), row.end()) : row.end();
      next[node] = static_cast<std::uint64_t>(end - row.begin());
      return;
    }
    RowEntries& entries = scratch[thread];
    entries.clear();
    for (std::size_t i = 0; i < row.size(); ++i)
      entries.emplace_back(row[i], raw.weights[begin + i]);
    sort_entries(entries, merge);
    for (std::size_t i = 0; i < entries.size(); ++i)
      std::tie(row[i], raw.weights[begin + i]) = entries[i];
    next[node] = entries.size();
  });
  // Close the gaps that merged entries left.
  std::uint64_t end = 0;
  for (std::size_t node = 0; node < nodes; ++node) {
    const std::uint64_t from = raw.begin(node), count = next[node];
    if (from != end) {
      std::copy_n(raw.neighbours.begin() + static_cast<std::ptrdiff_t>(from), count,
                  raw.neighbours.begin() + static_cast<std::ptrdiff_t>(end));
      if (weighted)
        std::copy_n(raw.weights.begin() + static_cast<std::ptrdiff_t>(from), count,
                    raw.weights.begin() + static_cast<std::ptrdiff_t>(end));
    }
    end += count;
    next[node] = end;
  }
  raw.ends = std::move(next);
  raw.neighbours.resize(end);
  if (weighted) raw.weights.resize(end);
  return raw;
}

/// Returns how many edges lead to each node, or with weights something in proportion to theirs.
inline std::vector<std::uint64_t> node_counts(const RowMemory& rows) {
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
      counts[i] = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(sums[i] * scale));
  return counts;
}

/// Returns the rows of the nodes order[0], order[1], ..., which then are nodes 0, 1, ...
/// `number_of` [nodes]: the new number of each node, which every node of a row has.
inline RowMemory renumber(const RowMemory& rows, std::span<const WordId> order,
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
    const std::uint64_t from = rows.begin(order[node]), to = result.begin(node);
    const std::size_t count = result.ends[node] - to;
    const auto row = std::span(result.neighbours).subspan(to, count);
    for (std::size_t i = 0; i < count; ++i) row[i] = number_of[rows.neighbours[from + i]];
    if (!weighted) return std::sort(row.begin(), row.end());
    RowEntries& entries = scratch[thread];
    entries.clear();
    for (std::size_t i = 0; i < count; ++i) entries.emplace_back(row[i], rows.weights[from + i]);
    sort_entries(entries, false);
    for (std::size_t i = 0; i < count; ++i) std::tie(row[i], result.weights[to + i]) = entries[i];
  });
  return result;
}

/// Completes rows: tables to draw a neighbour by weight, and the number of edges.
inline GraphRows finish_rows(RowMemory made, bool directed, std::size_t threads) {
  const auto memory = std::make_shared<RowMemory>(std::move(made));
  RowMemory& rows = *memory;
  std::vector<std::uint64_t> loops(threads);
  std::atomic<bool> simple{true};
  if (!rows.weights.empty()) resize_for_random_reads(rows.aliases, rows.weights.size());
  for_each_row(rows.ends, threads, [&](std::size_t thread, std::size_t node) {
    const std::uint64_t begin = rows.begin(node), count = rows.ends[node] - begin;
    const auto row = std::span(rows.neighbours).subspan(begin, count);
    const auto [first, last] = std::equal_range(row.begin(), row.end(), static_cast<WordId>(node));
    loops[thread] += static_cast<std::uint64_t>(last - first);
    if (std::adjacent_find(row.begin(), row.end()) != row.end()) simple = false;
    if (rows.weights.empty() || count == 0) return;
    const auto weights = std::span<const float>(rows.weights).subspan(begin, count);
    double total = 0;
    for (const float weight : weights) total += static_cast<double>(weight);
    AliasTable::fill(weights, total, std::span(rows.aliases).subspan(begin, count));
  });
  std::uint64_t edges = rows.neighbours.size();
  if (!directed)
    for (const std::uint64_t of_thread : loops) edges += of_thread;
  if (!directed) edges /= 2;
  return {rows.ends, rows.neighbours, rows.weights, rows.aliases, edges, directed, simple, memory};
}

}  // namespace wordloom::inline WORDLOOM_ABI::detail
