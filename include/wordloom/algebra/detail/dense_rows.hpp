#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/algebra/detail/blocks.hpp>
#include <wordloom/algebra/detail/row_products.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/row_matrix.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// A small square matrix [n x n] in double precision, row-major.
struct SmallMatrix {
  explicit SmallMatrix(std::size_t size) : n(size), values(size * size) {}
  double& operator()(std::size_t i, std::size_t j) noexcept { return values[i * n + j]; }
  double operator()(std::size_t i, std::size_t j) const noexcept { return values[i * n + j]; }
  std::size_t n;
  std::vector<double> values;
};

/// Returns the Gram matrix x^T x [D x D] of x [n x D], summed in float over row_block rows and in
/// double over these blocks. Any number of threads gives the same bits.
SmallMatrix gram(const RowMatrix& x, std::size_t threads);

/// Writes x t to y [n x E], for x [n x D] and t [D x E]; y may be x if D = E. `offset` [E], unless
/// it is empty, is added to each row.
void multiply_rows(const RowMatrix& x, const RowMatrix& t, RowMatrix& y, std::size_t threads,
                   std::span<const float> offset = {});

/// Returns the inverse of R [n x n], upper triangular, for g = R^T R (Cholesky). Pivots below the
/// precision of g are raised to it, without the rest of their rows, which is rounding errors; or
/// else their columns are zeros.
RowMatrix inverse_factor(const SmallMatrix& g, bool bounds_pivots);

/// Replaces the columns of x by orthonormal ones that span the same space; those that depend on
/// others become zeros. Cholesky QR (Fukaya et al. 2020): the first pass bounds small pivots from
/// below, and the others then see the true remainders. One pass only improves the condition.
void orthonormalise(RowMatrix& x, std::size_t passes, std::size_t threads);

/// The eigenvalues [n] of a symmetric positive semi-definite matrix, descending, and its
/// eigenvectors in rows [n x n]; those of eigenvalue 0 are zeros.
struct EigenPairs {
  std::vector<double> values;
  SmallMatrix vectors;
};
/// Computes them by one-sided Jacobi rotations (Hestenes 1958).
EigenPairs symmetric_eigen(SmallMatrix matrix);

/// Divides each row by its length; rows of zeros stay.
void normalise_rows(RowMatrix& x, std::size_t threads);

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION SmallMatrix gram(const RowMatrix& x, std::size_t threads) {
  const std::size_t n = x.columns(), stride = x.stride();
  // Groups of blocks, as many for any number of threads; few where each has a large sum.
  const std::size_t groups = n <= 256 ? 64 : 16;
  const std::size_t blocks = (x.rows() + row_block - 1) / row_block;
  const std::size_t group = (blocks + groups - 1) / groups * row_block;
  threads = threads_for(x.rows() * n * n / 2, threads);
  std::vector<SmallMatrix> sums(groups, SmallMatrix(n));
  const auto dense = simd::row_product_functions().dense;
  std::vector<RowMatrix> scratch(threads);
  for_blocks(x.rows(), group, threads,
             [&](std::size_t thread, std::size_t first, std::size_t last) {
               if (scratch[thread].rows() == 0) scratch[thread] = RowMatrix(n, n);
               RowMatrix& part = scratch[thread];
               SmallMatrix& sum = sums[first / group];
               for (std::size_t b = first; b < last; b += row_block) {
                 dense({.a = x.row_data(b),
                        .a_row = 1,
                        .a_column = stride,
                        .b = x.row_data(b),
                        .c = part.data(),
                        .rows = n,
                        .inner = (std::min)(row_block, last - b),
                        .stride = stride,
                        .upper = true});
                 for (std::size_t i = 0; i < n; ++i)
                   for (std::size_t j = i; j < n; ++j)
                     sum(i, j) += static_cast<double>(part.row_data(i)[j]);
               }
             });
  SmallMatrix total(n);
  for (const SmallMatrix& sum : sums)
    for (std::size_t k = 0; k < n * n; ++k) total.values[k] += sum.values[k];
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j) total(i, j) = total(j, i);
  return total;
}

WORDLOOM_FUNCTION void multiply_rows(const RowMatrix& x, const RowMatrix& t, RowMatrix& y,
                                     std::size_t threads, std::span<const float> offset) {
  threads = threads_for(x.rows() * x.columns() * t.columns(), threads);
  const auto dense = simd::row_product_functions().dense;
  std::vector<RowMatrix> scratch(threads);
  for_blocks(x.rows(), row_block / 2, threads,
             [&](std::size_t thread, std::size_t first, std::size_t last) {
               if (scratch[thread].rows() == 0)
                 scratch[thread] = RowMatrix(row_block / 2, t.columns());
               dense({.a = x.row_data(first),
                      .a_row = x.stride(),
                      .a_column = 1,
                      .b = t.data(),
                      .c = scratch[thread].data(),
                      .rows = last - first,
                      .inner = x.columns(),
                      .stride = t.stride()});
               std::memcpy(y.row_data(first), scratch[thread].data(),
                           (last - first) * t.stride() * sizeof(float));
               for (std::size_t i = first; i < last; ++i)
                 for (std::size_t j = 0; j < offset.size(); ++j) y.row_data(i)[j] += offset[j];
             });
}

WORDLOOM_FUNCTION RowMatrix inverse_factor(const SmallMatrix& g, bool bounds_pivots) {
  // A sum of floats is exact to about 1e-6: smaller remainders are rounding errors.
  constexpr double precision = 1e-6;
  const std::size_t n = g.n;
  SmallMatrix r(n), inverse(n);  // upper triangles
  std::vector<double> row(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i; j < n; ++j) row[j] = g(i, j);
    for (std::size_t k = 0; k < i; ++k)
      if (const double factor = r(k, i); factor != 0)
        for (std::size_t j = i; j < n; ++j) row[j] -= factor * r(k, j);
    const bool depends = !(row[i] > precision * g(i, i));
    const double pivot = (std::max)(row[i], precision * g(i, i));
    if ((depends && !bounds_pivots) || !(pivot > 0)) continue;  // a row of zeros
    const double length = std::sqrt(pivot);
    r(i, i) = length;
    for (std::size_t j = i + 1; j < n && !depends; ++j) r(i, j) = row[j] / length;
  }
  for (std::size_t i = n; i-- > 0;) {  // R^-1, from the last row up
    if (r(i, i) == 0) continue;
    inverse(i, i) = 1;
    for (std::size_t k = i + 1; k < n; ++k)
      if (const double factor = r(i, k); factor != 0)
        for (std::size_t j = k; j < n; ++j) inverse(i, j) -= factor * inverse(k, j);
    for (std::size_t j = i; j < n; ++j) inverse(i, j) /= r(i, i);
  }
  RowMatrix t(n, n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i; j < n; ++j)
      t.row(i)[j] = r(j, j) == 0 ? 0.0f : static_cast<float>(inverse(i, j));
  return t;
}

WORDLOOM_FUNCTION void orthonormalise(RowMatrix& x, std::size_t passes, std::size_t threads) {
  for (std::size_t pass = 0; pass < passes; ++pass) {
    SmallMatrix g = gram(x, threads);
    if (pass > 0)  // columns of rounding errors alone, which the first pass has scaled to below 1
      for (std::size_t i = 0; i < g.n; ++i)
        if (g(i, i) < 1e-6)
          for (std::size_t k = 0; k < g.n; ++k) g(i, k) = g(k, i) = 0;
    multiply_rows(x, inverse_factor(g, pass == 0), x, threads);
  }
}

WORDLOOM_FUNCTION EigenPairs symmetric_eigen(SmallMatrix matrix) {
  const std::size_t n = matrix.n;
  const auto row = [&](std::size_t i) { return matrix.values.data() + i * n; };
  const auto dot = [&](const double* a, const double* b) {
    double sums[4] = {};
    std::size_t k = 0;
    for (; k + 4 <= n; k += 4)
      for (std::size_t s = 0; s < 4; ++s) sums[s] += a[k + s] * b[k + s];
    for (; k < n; ++k) sums[0] += a[k] * b[k];
    return sums[0] + sums[1] + (sums[2] + sums[3]);
  };
  std::vector<double> squares(n);
  bool rotates = n > 0;
  for (int sweep = 0; rotates && sweep < 40; ++sweep) {
    rotates = false;
    for (std::size_t i = 0; i < n; ++i) squares[i] = dot(row(i), row(i));
    const double zero = 1e-28 * *std::max_element(squares.begin(), squares.end());
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) {
        double &alpha = squares[p], &beta = squares[q];
        if (alpha <= zero || beta <= zero) continue;
        const double gamma = dot(row(p), row(q));
        if (gamma * gamma <= 1e-22 * alpha * beta) continue;
        rotates = true;
        const double zeta = (beta - alpha) / (2 * gamma);
        const double t = (zeta < 0 ? -1 : 1) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta));
        const double c = 1 / std::sqrt(1 + t * t), s = c * t;
        double *const a = row(p), *const b = row(q);
        for (std::size_t k = 0; k < n; ++k) {
          const double old = a[k];
          a[k] = c * old - s * b[k];
          b[k] = s * old + c * b[k];
        }
        alpha -= t * gamma;
        beta += t * gamma;
      }
  }
  EigenPairs result{std::vector<double>(n), SmallMatrix(n)};
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = 0; i < n; ++i) squares[i] = dot(row(i), row(i));
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return squares[a] > squares[b]; });
  for (std::size_t i = 0; i < n; ++i) {
    const double value = std::sqrt(squares[order[i]]);
    if (!(value > 1e-13 * std::sqrt(squares[order[0]]))) break;
    result.values[i] = value;
    std::transform(row(order[i]), row(order[i]) + n, &result.vectors(i, 0),
                   [&](double v) { return v / value; });
  }
  return result;
}

WORDLOOM_FUNCTION void normalise_rows(RowMatrix& x, std::size_t threads) {
  for_blocks(x.rows(), row_block, threads_for(x.rows() * x.columns(), threads),
             [&](std::size_t, std::size_t first, std::size_t last) {
               for (std::size_t i = first; i < last; ++i) {
                 const auto row = x.row(i);
                 double square = 0;
                 for (const float v : row)
                   square += static_cast<double>(v) * static_cast<double>(v);
                 if (square == 0) continue;
                 const auto scale = static_cast<float>(1 / std::sqrt(square));
                 for (float& v : row) v *= scale;
               }
             });
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
