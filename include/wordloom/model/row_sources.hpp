#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <wordloom/core/parallel.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/row_matrix.hpp>

namespace wordloom::detail {

/// For each row of a new matrix, the row of an old matrix that it is a copy of; `no_row`: none.
using RowSources = std::vector<std::size_t>;
inline constexpr std::size_t no_row = std::numeric_limits<std::size_t>::max();

/// Calls `work(i)` for each row of `matrix`, in a large one on all threads.
template <class Work>
void for_each_row(const RowMatrix& matrix, const Work& work) {
  constexpr std::size_t large = std::size_t{1} << 24;  // bytes
  const std::size_t threads = matrix.bytes() > large ? resolve_threads(0) : 1;
  run_threads(threads, [&](std::size_t thread) {
    const auto [first, last] = part_of(matrix.rows(), thread, threads);
    for (std::size_t i = first; i < last; ++i) work(i);
  });
}

/// Returns a matrix whose row i is a copy of row sources[i] of `from`, or zeros.
inline RowMatrix gather_rows(const RowMatrix& from, std::span<const std::size_t> sources) {
  RowMatrix result(sources.size(), from.columns());
  for_each_row(result, [&](std::size_t i) {
    if (sources[i] == no_row) return;
    const auto row = from.row(sources[i]);
    std::copy(row.begin(), row.end(), result.row(i).begin());
  });
  return result;
}

/// Fills the rows of `matrix` that have no source (all, when `sources` is empty) with numbers
/// uniform in [-0.5/D, 0.5/D), row i from the stream Random(seed, i, stream).
inline void draw_rows(RowMatrix& matrix, std::span<const std::size_t> sources, std::uint64_t seed,
                      std::uint64_t stream) {
  for_each_row(matrix, [&](std::size_t i) {
    if (!sources.empty() && sources[i] != no_row) return;
    Random random(seed, i, stream);
    for (float& x : matrix.row(i))
      x = static_cast<float>((random.uniform() - 0.5) / static_cast<double>(matrix.columns()));
  });
}

}  // namespace wordloom::detail
