#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/algebra/detail/spectral.hpp>
#include <wordloom/algebra/sparse_matrix.hpp>
#include <wordloom/core/parameters.hpp>
#include <wordloom/graph/graph.hpp>
#include <wordloom/model/embeddings.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Vectors of nodes by repeated propagation (Rychalska et al. 2021, "Cleora: A Simple, Strong and
/// Scalable Graph Embedding Scheme"): from random signs on, each vector becomes the mean of its own
/// and its neighbours' and gets unit length. All are then whitened, so that the directions do not
/// collapse. Both follow the authors' later program (pycleora 3). A value; fit() is thread-safe.
/// One seed gives the same bits with any number of threads, on one instruction set.
struct Cleora {
  /// Floats in a vector (D): 1 to the number of nodes.
  std::size_t dimension = 128;
  /// Propagations, 1 to 10000.
  std::size_t iterations = 40;
  /// The weight of a node's own vector beside the mean of its neighbours', 0 to 1000. At 1 the
  /// matrix is that of pycleora, where an edge leads from both of its ends to both: half of a
  /// node's weight is its own, and a self-loop counts four times.
  double own_weight = 1;
  /// Whitens after each propagation; if false, as in the paper, 3 to 5 iterations are best.
  bool whitens = true;
  std::uint64_t seed = 1;
  /// Threads, up to 65536; 0: as many as are worth starting.
  std::size_t threads = 0;
  /// Called with the share of the work that is done, 0 to 1, by the calling thread. An exception
  /// that it throws ends the work and reaches the caller.
  std::function<void(double)> progress = {};

  /// Returns vectors [nodes x D]; those of nodes without an edge are zeros. Edges of a directed
  /// graph lead both ways. Throws InvalidArgument, and CorpusError for a graph without edges or
  /// where all vectors are the same. Memory: two matrices [nodes x D].
  [[nodiscard]] Embeddings fit(const Graph& graph) const;
};

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

/// Makes rows whose scale is 0 zeros.
inline void clear_rows(RowMatrix& x, std::span<const float> scales) {
  for (std::size_t i = 0; i < x.rows(); ++i)
    if (scales[i] == 0) std::ranges::fill(x.row(i), 0.0f);
}

/// Subtracts the mean of the rows and makes the columns uncorrelated and of variance 1; directions
/// without variance become zeros. Rows whose scale [rows] is 0 are zeros, and stay out of it.
/// `principal`: in the order of their variances before. Otherwise the result is a rotation of that,
/// and made faster.
WORDLOOM_FUNCTION void whiten(RowMatrix& x, std::span<const float> scales, bool principal,
                              std::size_t threads) {
  const std::size_t n = x.columns();
  const auto rows =
      static_cast<double>(x.rows()) - static_cast<double>(std::ranges::count(scales, 0.0f));
  std::vector<std::vector<double>> sums((x.rows() + row_block - 1) / row_block);
  for_blocks(x.rows(), row_block, threads_for(x.rows() * n, threads),
             [&](std::size_t, std::size_t first, std::size_t last) {
               std::vector<double>& sum = sums[first / row_block];
               sum.resize(n);
               for (std::size_t i = first; i < last; ++i)
                 for (std::size_t j = 0; j < n; ++j) sum[j] += static_cast<double>(x.row(i)[j]);
             });
  std::vector<double> mean(n);
  for (const auto& sum : sums)
    for (std::size_t j = 0; j < n; ++j) mean[j] += sum[j] / rows;
  SmallMatrix covariance = gram(x, threads);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      covariance(i, j) = (covariance(i, j) - rows * mean[i] * mean[j]) / (std::max)(1.0, rows - 1);
  RowMatrix t;
  if (principal) {
    t = RowMatrix(n, n);
    const EigenPairs eigen = symmetric_eigen(covariance);
    for (std::size_t j = 0; j < n && eigen.values[j] > 1e-6 * eigen.values[0]; ++j)
      for (std::size_t i = 0; i < n; ++i)
        t.row(i)[j] = static_cast<float>(eigen.vectors(j, i) / std::sqrt(eigen.values[j]));
  } else {
    t = inverse_factor(covariance, false);
  }
  std::vector<float> offset(n);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i < n; ++i) offset[j] -= static_cast<float>(mean[i]) * t.row(i)[j];
  multiply_rows(x, t, x, threads, offset);
  clear_rows(x, scales);
}

}  // namespace detail

WORDLOOM_FUNCTION Embeddings Cleora::fit(const Graph& graph) const {
  detail::check_dimension(dimension, graph.node_count());
  check_parameter("iterations", iterations, 1, 10000);
  check_parameter("own_weight", own_weight, 0.0, 1000.0);
  const SparseMatrix adjacency = detail::undirected_matrix(graph);
  const std::vector<double> degrees = detail::degrees_of(adjacency);
  std::vector<float> scales(degrees.size());
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const auto row = adjacency.row(i);
    const auto loop = std::ranges::lower_bound(row, i);
    double sum = degrees[i];
    // A self-loop counts twice more, as in pycleora.
    if (loop != row.end() && *loop == i) {
      const auto at = static_cast<std::size_t>(loop - row.begin());
      sum += adjacency.values(i).empty() ? 2.0 : 2 * static_cast<double>(adjacency.values(i)[at]);
    }
    if (sum > 0) scales[i] = static_cast<float>(1 / sum);
  }
  RowMatrix x(graph.node_count(), dimension), y(graph.node_count(), dimension);
  detail::fill_signs(x, seed, threads);
  detail::clear_rows(x, scales);
  for (std::size_t i = 1; i <= iterations; ++i) {
    auto product = adjacency.product(x, y);
    product.row_scales = scales.data();
    product.own = static_cast<float>(own_weight);
    SparseMatrix::run(product, threads);
    std::swap(x, y);
    detail::normalise_rows(x, threads);
    if (whitens) detail::whiten(x, scales, i == iterations, threads);
    if (progress) progress(static_cast<double>(i) / static_cast<double>(iterations));
  }
  detail::require_nonzero(x, "Cleora");
  const Vocabulary& nodes = graph.vocabulary();
  return Embeddings(nodes.words(), std::move(x), nodes.counts());
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
