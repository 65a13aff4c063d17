#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/algebra/detail/truncated_svd.hpp>
#include <wordloom/algebra/sparse_matrix.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/parameters.hpp>
#include <wordloom/graph/graph.hpp>
#include <wordloom/model/embeddings.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Called with the share of the work that is done, 0 to 1.
using ShareDone = std::function<void(double)>;

/// Returns the adjacency matrix of a graph whose edges lead both ways; two edges of opposite
/// directions are one entry, with the sum of their weights. Weights that float products would not
/// hold are all scaled by one power of 2. Others of an undirected graph share its arrays.
SparseMatrix undirected_matrix(const Graph& graph);

/// Returns the sum of the weights of each node's edges [nodes]. Throws CorpusError if all are 0.
std::vector<double> degrees_of(const SparseMatrix& matrix);

/// Throws CorpusError if all vectors of the nodes are zeros.
void require_nonzero(const RowMatrix& vectors, const char* method);

/// Throws InvalidArgument unless a graph of this many nodes has vectors of that dimension.
void check_dimension(std::size_t dimension, std::size_t nodes);

/// Applies the Chebyshev expansion of ProNE's filter to x [nodes x D] (Zhang et al. 2019, section
/// 3.2, as in the authors' program): returns (A + I)(x - filtered x). x is overwritten. Memory:
/// four matrices [nodes x D] with x.
RowMatrix chebyshev_filter(const SparseMatrix& matrix, RowMatrix x, std::size_t order, double mu,
                           double theta, std::size_t threads, const std::function<void()>& step);

/// Returns x's principal components in the place of its columns, each divided by the root of its
/// singular value: U sqrt(S) of x = U S V^T.
RowMatrix principal_rows(const RowMatrix& x, std::size_t threads);

#if WORDLOOM_DEFINES_FUNCTIONS

/// Returns the matrix with its largest row sum moved to 2^-60 .. 2^60. Beside I, in A + I, both
/// bounds are those of a float's precision; weights that become 0 are the smallest float above it.
inline SparseMatrix with_bounded_sums(SparseMatrix matrix) {
  if (matrix.rows() == 0 || matrix.values(0).data() == nullptr) return matrix;
  const std::vector<double> sums = matrix.row_sums();
  const double largest = *std::max_element(sums.begin(), sums.end());
  const int exponent = largest > 0 ? std::ilogb(largest) : 0;
  const int scale = std::clamp(exponent, -60, 60) - exponent;
  if (scale == 0) return matrix;
  return matrix.with_values([scale](std::size_t, std::size_t, float w) {
    constexpr float smallest = (std::numeric_limits<float>::min)();
    return (std::max)(std::ldexp(w, scale), smallest);
  });
}

WORDLOOM_FUNCTION SparseMatrix undirected_matrix(const Graph& graph) {
  SparseMatrix forward = with_bounded_sums(SparseMatrix::of(graph));
  if (!graph.is_directed()) return forward;
  const SparseMatrix backward = forward.transposed();
  std::vector<std::uint64_t> ends;
  std::vector<std::uint32_t> columns;
  std::vector<float> values;
  for (std::size_t i = 0; i < forward.rows(); ++i) {
    const auto a = forward.row(i), b = backward.row(i);
    const auto a_values = forward.values(i), b_values = backward.values(i);
    for (std::size_t k = 0, l = 0; k < a.size() || l < b.size();) {
      const bool takes_a = l == b.size() || (k < a.size() && a[k] <= b[l]);
      const std::uint32_t column = takes_a ? a[k] : b[l];
      // A self-loop leads one way.
      const bool takes_b = (l < b.size() && b[l] == column);
      float value = 0;
      if (takes_a) value += a_values.empty() ? 1.0f : a_values[k];
      if (takes_b && (column != i || !takes_a)) value += b_values.empty() ? 1.0f : b_values[l];
      k += takes_a;
      l += takes_b;
      columns.push_back(column);
      values.push_back(value);
    }
    ends.push_back(columns.size());
  }
  return SparseMatrix(std::move(ends), std::move(columns), std::move(values), graph.node_count());
}

WORDLOOM_FUNCTION std::vector<double> degrees_of(const SparseMatrix& matrix) {
  std::vector<double> degrees = matrix.row_sums();
  if (std::none_of(degrees.begin(), degrees.end(), [](double degree) { return degree > 0; }))
    throw CorpusError("the graph has no edges: its nodes cannot be told apart");
  return degrees;
}

WORDLOOM_FUNCTION void require_nonzero(const RowMatrix& vectors, const char* method) {
  for (std::size_t i = 0; i < vectors.rows(); ++i)
    if (std::ranges::any_of(vectors.row(i), [](float v) { return v != 0; })) return;
  throw CorpusError{method, ": all vectors are the same, as in a graph where all nodes have the ",
                    "same neighbours: take another method or dimension"};
}

WORDLOOM_FUNCTION void check_dimension(std::size_t dimension, std::size_t nodes) {
  check_parameter("dimension", dimension, 1, 65536);
  if (dimension > nodes)
    throw InvalidArgument{"dimension is ", dimension, ", the graph has only ", nodes,
                          " nodes: factors of its matrix have at most as many"};
}

/// Returns the modified Bessel function of the first kind and integer order, by its series.
inline double bessel(std::size_t order, double x) {
  double term = 1;
  for (std::size_t k = 1; k <= order; ++k) term *= x / 2 / static_cast<double>(k);
  double sum = term;
  for (std::size_t k = 1; std::abs(term) > 1e-17 * std::abs(sum); ++k)
    sum += term *= x * x / 4 / static_cast<double>(k) / static_cast<double>(k + order);
  return sum;
}

WORDLOOM_FUNCTION RowMatrix chebyshev_filter(const SparseMatrix& matrix, RowMatrix x,
                                             std::size_t order, double mu, double theta,
                                             std::size_t threads,
                                             const std::function<void()>& step) {
  // With W = D^-1 (A + I) and M = (1 - mu) I - W: x_0 = x, x_1 = M M x / 2 - x, x_k = M M x_k-1 -
  // 2 x_k-1 - x_k-2; filtered x = I_0 x_0 + 2 sum over k of (-1)^k I_k x_k.
  std::vector<float> scales(matrix.rows());
  const std::vector<double> degrees = matrix.row_sums();
  std::transform(degrees.begin(), degrees.end(), scales.begin(),
                 [](double degree) { return static_cast<float>(1 / (degree + 1)); });
  RowMatrix now(x.rows(), x.columns()), half(x.rows(), x.columns()), total = x.copy(x.rows());
  const auto scale_total = static_cast<float>(1 - bessel(0, theta));
  for (std::size_t k = 0; k < total.rows() * total.stride(); ++k) total.data()[k] *= scale_total;
  const auto multiply = [&](const RowMatrix& from, RowMatrix& to, float factor) {
    auto product = matrix.product(from, to);
    product.row_scales = scales.data();
    product.loop = 1;
    product.scale = -factor;
    product.own = static_cast<float>(1 - mu) * factor;
    return product;
  };
  RowMatrix before = std::move(x);
  for (std::size_t k = 1; k < order; ++k) {
    const RowMatrix& last = k == 1 ? before : now;
    SparseMatrix::run(multiply(last, half, 1), threads);
    auto product = multiply(half, k == 1 ? now : before, k == 1 ? 0.5f : 1.0f);
    if (k == 1) {
      product.first_added = {before.data(), -1};
    } else {
      product.first_added = {now.data(), -2};
      product.second_added = {before.data(), -1};
    }
    product.total = total.data();
    product.total_factor = static_cast<float>((k % 2 == 0 ? -2 : 2) * bessel(k, theta));
    SparseMatrix::run(product, threads);
    if (k > 1) std::swap(before, now);
    if (step) step();
  }
  // (A + I) total, in an array that is no longer needed.
  auto product = matrix.product(total, half);
  product.loop = 1;
  SparseMatrix::run(product, threads);
  return half;
}

WORDLOOM_FUNCTION RowMatrix principal_rows(const RowMatrix& x, std::size_t threads) {
  return project(x, symmetric_eigen(gram(x, threads)), x.columns(), threads,
                 [](double square) { return 1 / std::sqrt(std::sqrt(square)); });
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
