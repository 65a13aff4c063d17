#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <wordloom/algebra/detail/dense_rows.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/row_matrix.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Writes the product of a matrix [n x m] and x [m x D] to y [n x D].
using Product = std::function<void(RowMatrix& y, const RowMatrix& x)>;

/// A matrix that is known by its products: a sparse one, or one that is never stored.
struct ImplicitMatrix {
  std::size_t rows, columns;
  Product multiply, multiply_transposed;
};

/// Options of truncated_svd.
struct SvdOptions {
  std::size_t rank;
  std::size_t oversampling = 16;
  std::size_t iterations = 4;  // of power
  std::uint64_t seed = 1;
  std::size_t threads = 0;
};

/// The largest singular values [rank], descending, and their left singular vectors in columns
/// [n x rank]; those of a value of 0 are zeros.
struct Svd {
  RowMatrix left;
  std::vector<double> values;
};

/// Computes them by block power iterations from random signs (Halko, Martinsson and Tropp 2011,
/// algorithms 4.4 and 5.1). Memory: two matrices [n or m x rank + oversampling]. Any number of
/// threads gives the same bits.
Svd truncated_svd(const ImplicitMatrix& matrix, const SvdOptions& options);

/// Returns x times the first `count` eigenvectors, each times scale(eigenvalue), 0 for 0.
template <class Scale>
RowMatrix project(const RowMatrix& x, const EigenPairs& eigen, std::size_t count,
                  std::size_t threads, Scale&& scale) {
  RowMatrix t(x.columns(), count), y(x.rows(), count);
  for (std::size_t j = 0; j < (std::min)(count, x.columns()); ++j) {
    if (eigen.values[j] == 0) break;
    const double factor = scale(eigen.values[j]);
    for (std::size_t i = 0; i < x.columns(); ++i)
      t.row(i)[j] = static_cast<float>(eigen.vectors(j, i) * factor);
  }
  multiply_rows(x, t, y, threads);
  return y;
}

/// Fills rows with random signs: those of row i depend on the seed and i alone.
void fill_signs(RowMatrix& x, std::uint64_t seed, std::size_t threads);

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION void fill_signs(RowMatrix& x, std::uint64_t seed, std::size_t threads) {
  for_blocks(x.rows(), row_block, threads_for(x.rows() * x.columns(), threads),
             [&](std::size_t, std::size_t first, std::size_t last) {
               for (std::size_t i = first; i < last; ++i) {
                 Random random(seed, i);
                 std::uint64_t bits = 0;
                 for (std::size_t j = 0; j < x.columns(); ++j, bits >>= 1) {
                   if (j % 64 == 0) bits = random();
                   x.row(i)[j] = (bits & 1) != 0 ? 1.0f : -1.0f;
                 }
               }
             });
}

WORDLOOM_FUNCTION Svd truncated_svd(const ImplicitMatrix& matrix, const SvdOptions& options) {
  const std::size_t least = (std::min)(matrix.rows, matrix.columns);
  if (options.rank == 0 || options.rank > least)
    throw InvalidArgument{"a matrix [", matrix.rows,       " x ", matrix.columns, "] has no ",
                          options.rank, " singular values"};
  const std::size_t size = (std::min)(least, options.rank + options.oversampling);
  RowMatrix left(matrix.rows, size), right(matrix.columns, size);
  fill_signs(right, options.seed, options.threads);
  if (size == matrix.columns)  // every direction: a few random signs may span fewer
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = 0; j < size; ++j) right.row(i)[j] = i == j ? 1.0f : 0.0f;
  for (std::size_t i = 0;; ++i) {
    matrix.multiply(left, right);
    const bool last = i == options.iterations;
    orthonormalise(left, last ? 3 : 1, options.threads);
    matrix.multiply_transposed(right, left);
    if (last) break;
    orthonormalise(right, 1, options.threads);
  }
  // right^T = left^T matrix: the eigenvectors of right^T right are its left singular vectors.
  const EigenPairs eigen = symmetric_eigen(gram(right, options.threads));
  right = RowMatrix();
  Svd result{project(left, eigen, options.rank, options.threads, [](double) { return 1.0; }), {}};
  for (std::size_t j = 0; j < options.rank; ++j)
    result.values.push_back(std::sqrt(eigen.values[j]));
  return result;
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
