#pragma once
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/algebra/detail/blocks.hpp>
#include <wordloom/algebra/sparse_matrix.hpp>
#include <wordloom/core/detail/random_reads.hpp>
#include <wordloom/core/random.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Options of sampled_walk_matrix.
struct WalkSampleOptions {
  std::size_t window;  // T
  double samples;      // the expected number of them before downsampling
  double negatives;    // b
  std::uint64_t seed;
  std::size_t threads;
};

/// The maximum bytes of memory for each sample while the matrix is made: in lists that double, and
/// in the rows of both nodes.
constexpr std::size_t bytes_of_sample = 2 * 12 + 2 * 8;

/// Returns log+ of the sampled matrix of DeepWalk (Qiu et al. 2019, NetSMF, algorithms 1 and 2;
/// downsampled by degree as in Qiu et al. 2021, LightNE, section 3.2): of vol / (b T) times the sum
/// over r = 1 .. T of (D^-1 A)^r D^-1, for a symmetric A with these degrees. Symmetric. Sums are of
/// whole numbers, so that any number of threads gives the same bits.
SparseMatrix sampled_walk_matrix(const SparseMatrix& adjacency, std::span<const double> degrees,
                                 const WalkSampleOptions& options,
                                 const std::function<void()>& step);

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION SparseMatrix sampled_walk_matrix(const SparseMatrix& adjacency,
                                                   std::span<const double> degrees,
                                                   const WalkSampleOptions& options,
                                                   const std::function<void()>& step) {
  struct Sample {
    std::uint32_t a, b, weight;  // in units of 1 / one
  };
  struct Entry {
    std::uint32_t column, weight;
  };
  constexpr double one = 256;
  const std::size_t nodes = adjacency.rows();
  const std::size_t threads =
      threads_for(static_cast<std::size_t>(options.samples) * 64, options.threads);
  double volume = 0;
  for (const double degree : degrees) volume += degree;
  // Running sums of the weights of a row, for steps in proportion to them.
  const bool weighted = nodes != 0 && !adjacency.values(0).empty();
  std::vector<float> running;
  std::vector<std::uint64_t> begins(nodes);
  for (std::size_t i = 0, begin = 0; i < nodes; begin += adjacency.row(i++).size())
    begins[i] = begin;
  if (weighted) {
    running.reserve(adjacency.entry_count());
    for (std::size_t i = 0; i < nodes; ++i) {
      double sum = 0;
      for (const float w : adjacency.values(i))
        running.push_back(static_cast<float>(sum += static_cast<double>(w)));
    }
  }
  const auto walk = [&](std::uint32_t node, std::size_t steps, Random& random) {
    for (; steps > 0; --steps) {
      const auto row = adjacency.row(node);
      if (!weighted) {
        node = row[random.below(row.size())];
        continue;
      }
      const auto first = running.begin() + static_cast<std::ptrdiff_t>(begins[node]);
      const auto last = first + static_cast<std::ptrdiff_t>(row.size());
      const auto at =
          std::upper_bound(first, last, static_cast<float>(random.uniform() * double{last[-1]}));
      node = row[static_cast<std::size_t>((std::min)(at, last - 1) - first)];
    }
    return node;
  };
  std::vector<std::vector<Sample>> samples(threads);
  std::vector<std::uint64_t> ends;
  resize_for_random_reads(ends, nodes);
  const double enough = std::log(static_cast<double>(nodes) + 1);
  for_blocks(nodes, 16, threads, [&](std::size_t thread, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      Random random(options.seed, i);
      const auto row = adjacency.row(i);
      const auto values = adjacency.values(i);
      for (std::size_t k = 0; k < row.size(); ++k) {
        const double w = values.empty() ? 1.0 : static_cast<double>(values[k]);
        const double kept = (std::min)(1.0, enough * w * (1 / degrees[i] + 1 / degrees[row[k]]));
        const double expected = options.samples * w / volume * kept;
        auto count = static_cast<std::uint64_t>(expected);
        count += random.uniform() < expected - static_cast<double>(count);
        const auto weight = static_cast<std::uint32_t>((std::min)(one / kept, 4e9));
        for (; count > 0; --count) {
          const std::size_t length = random.below(options.window);  // r - 1
          const std::size_t before = random.below(length + 1);
          const std::uint32_t a = walk(static_cast<std::uint32_t>(i), before, random),
                              b = walk(row[k], length - before, random);
          samples[thread].push_back({a, b, weight});
          std::atomic_ref(ends[a]).fetch_add(1, std::memory_order_relaxed);
          std::atomic_ref(ends[b]).fetch_add(1, std::memory_order_relaxed);
        }
      }
    }
  });
  if (step) step();
  std::vector<std::uint64_t> next(nodes);
  for (std::size_t i = 0; i + 1 < nodes; ++i) next[i + 1] = ends[i + 1 - 1] += next[i];
  if (nodes != 0) ends.back() += next.back();
  std::vector<Entry> entries;
  resize_for_random_reads(entries, nodes == 0 ? 0 : ends.back());
  run_threads(threads, [&](std::size_t thread) {
    for (const Sample& sample : samples[thread])
      for (const auto& [from, to] : {std::pair(sample.a, sample.b), std::pair(sample.b, sample.a)})
        entries[std::atomic_ref(next[from]).fetch_add(1, std::memory_order_relaxed)] = {
            to, sample.weight};
    samples[thread] = {};
  });
  // Each row becomes its entries above 0, in the place of its samples.
  std::vector<std::vector<std::uint64_t>> all_sums(threads);
  std::vector<std::uint64_t> kept_of(nodes);
  std::vector<float> values(entries.size());
  const double scale = volume * volume / (2 * one * options.negatives * options.samples);
  for_blocks(nodes, 64, threads, [&](std::size_t thread, std::size_t first, std::size_t last) {
    std::vector<std::uint64_t>& sums = all_sums[thread];
    if (sums.empty()) resize_for_random_reads(sums, nodes);
    for (std::size_t i = first; i < last; ++i) {
      const std::uint64_t begin = i == 0 ? 0 : ends[i - 1];
      std::uint64_t end = begin;
      for (std::uint64_t e = begin; e < ends[i]; ++e) {
        const Entry entry = entries[e];
        if (sums[entry.column] == 0) entries[end++].column = entry.column;
        sums[entry.column] += entry.weight;
      }
      std::sort(&entries[begin], &entries[begin] + (end - begin),
                [](Entry a, Entry b) { return a.column < b.column; });
      std::uint64_t kept = begin;
      for (std::uint64_t e = begin; e < end; ++e) {
        const std::uint32_t column = entries[e].column;
        const double ratio = scale * static_cast<double>(std::exchange(sums[column], 0)) /
                             (degrees[i] * degrees[column]);
        if (!(ratio > 1)) continue;
        entries[kept].column = column;
        values[kept++] = static_cast<float>(std::log(ratio));
      }
      kept_of[i] = kept - begin;
    }
  });
  if (step) step();
  std::vector<std::uint32_t> columns;
  std::uint64_t all = 0;
  for (const std::uint64_t kept : kept_of) all += kept;
  resize_for_random_reads(columns, all);
  std::uint64_t to = 0;
  for (std::size_t i = 0; i < nodes; ++i) {
    const std::uint64_t begin = i == 0 ? 0 : ends[i - 1];
    for (std::uint64_t e = begin; e < begin + kept_of[i]; ++e, ++to) {
      columns[to] = entries[e].column;
      values[to] = values[e];
    }
    next[i] = to;
  }
  values.resize(all);
  values.shrink_to_fit();
  return SparseMatrix(std::move(next), std::move(columns), std::move(values), nodes);
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
