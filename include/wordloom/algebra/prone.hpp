#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <wordloom/algebra/detail/spectral.hpp>
#include <wordloom/algebra/sparse_matrix.hpp>
#include <wordloom/core/detail/finite.hpp>
#include <wordloom/core/parameters.hpp>
#include <wordloom/graph/graph.hpp>
#include <wordloom/model/embeddings.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Vectors of nodes by a factorisation of the graph's matrix and spectral propagation (Zhang et al.
/// 2019, "ProNE: Fast and Scalable Network Representation Learning"). A value; fit() is
/// thread-safe. One seed gives the same bits with any number of threads, on one instruction set.
struct ProNE {
  /// Options of propagate().
  struct Filter {
    /// Terms of the Chebyshev expansion, 1 to 1000: two sparse products each. 1: no filter.
    std::size_t order = 10;
    /// The centre of the band of frequencies that pass, -10 to 10.
    double mu = 0.2;
    /// The width of the band, 0 to 10.
    double theta = 0.5;
    /// Threads, up to 65536; 0: as many as are worth starting.
    std::size_t threads = 0;

    /// Throws InvalidArgument.
    void validate() const {
      check_parameter("order", order, 1, 1000);
      check_parameter("mu", mu, -10.0, 10.0);
      check_parameter("theta", theta, 0.0, 10.0);
    }
  };

  /// Floats in a vector (D): 1 to the number of nodes.
  std::size_t dimension = 128;
  /// The contexts of the factorised matrix are weighted by (sum of their column) ^ this, -10 to 10.
  double negative_exponent = 0.75;
  /// Power iterations of the factorisation, 0 to 1000: more are more exact.
  std::size_t iterations = 4;
  Filter filter = {};
  std::uint64_t seed = 1;
  /// Threads, up to 65536; 0: as many as are worth starting.
  std::size_t threads = 0;
  /// Called with the share of the work that is done, 0 to 1, by the calling thread. An exception
  /// that it throws ends the work and reaches the caller.
  std::function<void(double)> progress = {};

  /// Returns vectors of unit length [nodes x D]; those of nodes without an edge are zeros. Edges of
  /// a directed graph lead both ways. Throws InvalidArgument, and CorpusError for a graph without
  /// edges or where all nodes have the same neighbours. Memory: two matrices [nodes x (D + 16)]
  /// and 8 bytes for each entry of the graph, then four matrices [nodes x D].
  [[nodiscard]] Embeddings fit(const Graph& graph) const;
};

/// Returns the vectors of the graph's nodes after ProNE's spectral propagation (section 3.2), which
/// amplifies slow changes along edges: [nodes x D], of unit length. `vectors` has one for each node
/// of the graph, and may have others. Throws InvalidArgument, and CorpusError for a graph without
/// edges.
[[nodiscard]] Embeddings propagate(const Graph& graph, const Embeddings& vectors,
                                   const ProNE::Filter& options = {});

namespace detail {

/// Returns U sqrt(S) with rows of unit length, filtered.
Embeddings finish_factors(const Graph& graph, const SparseMatrix& adjacency, Svd svd,
                          const ProNE::Filter& filter, std::size_t threads,
                          const std::function<void()>& step);

}  // namespace detail

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION Embeddings detail::finish_factors(const Graph& graph,
                                                    const SparseMatrix& adjacency, Svd svd,
                                                    const ProNE::Filter& filter,
                                                    std::size_t threads,
                                                    const std::function<void()>& step) {
  RowMatrix x = std::move(svd.left);
  for (std::size_t i = 0; i < x.rows(); ++i)
    for (std::size_t j = 0; j < x.columns(); ++j)
      x.row(i)[j] *= static_cast<float>(std::sqrt(svd.values[j]));
  normalise_rows(x, threads);
  if (filter.order > 1) {
    x = principal_rows(chebyshev_filter(adjacency, std::move(x), filter.order, filter.mu,
                                        filter.theta, threads, step),
                       threads);
    normalise_rows(x, threads);
  }
  require_nonzero(x, "factorisation");
  const Vocabulary& nodes = graph.vocabulary();
  return Embeddings(nodes.words(), std::move(x), nodes.counts());
}

WORDLOOM_FUNCTION Embeddings propagate(const Graph& graph, const Embeddings& vectors,
                                       const ProNE::Filter& options) {
  options.validate();
  const SparseMatrix matrix = detail::undirected_matrix(graph);
  static_cast<void>(detail::degrees_of(matrix));
  const WordList& names = graph.vocabulary().words();
  RowMatrix x(names.size(), vectors.dimension());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto id = vectors.find(names[i]);
    if (!id)
      throw InvalidArgument{"node ", detail::shown(names[i]),
                            " has no vector to propagate: extend() gives new nodes theirs"};
    const auto vector = vectors.vector(*id);
    for (const float v : vector)
      if (!detail::is_finite(v) || std::abs(v) > 1e15f)
        throw InvalidArgument{"the vector of node ", detail::shown(names[i]), " contains ", v,
                              ": numbers from -1e15 to 1e15 can be propagated"};
    std::copy(vector.begin(), vector.end(), x.row(i).begin());
  }
  if (options.order > 1)
    x = detail::principal_rows(
        detail::chebyshev_filter(matrix, std::move(x), options.order, options.mu, options.theta,
                                 options.threads, {}),
        options.threads);
  detail::normalise_rows(x, options.threads);
  return Embeddings(names, std::move(x), graph.vocabulary().counts());
}

WORDLOOM_FUNCTION Embeddings ProNE::fit(const Graph& graph) const {
  detail::check_dimension(dimension, graph.node_count());
  check_parameter("negative_exponent", negative_exponent, -10.0, 10.0);
  check_parameter("iterations", iterations, 0, 1000);
  filter.validate();
  const double steps = static_cast<double>(2 * iterations + 2 + filter.order);
  double done = 0;
  const auto step = [&] {
    if (progress) progress((done += 1) / steps);
  };
  const SparseMatrix adjacency = detail::undirected_matrix(graph);
  const std::vector<double> degrees = detail::degrees_of(adjacency);
  // Equation 5: log(p_ij / p_j), p_ij a step from i to j, p_j the negatives' probability of j.
  std::vector<double> negatives(degrees.size());
  for (std::size_t i = 0; i < adjacency.rows(); ++i) {
    const auto row = adjacency.row(i);
    const auto values = adjacency.values(i);
    for (std::size_t k = 0; k < row.size(); ++k)
      negatives[row[k]] += (values.empty() ? 1.0 : static_cast<double>(values[k])) / degrees[i];
  }
  double total = 0;
  for (double& negative : negatives)
    if (negative > 0) total += negative = std::pow(negative, negative_exponent);
  std::vector<float> log_degrees(degrees.size()), log_negatives(degrees.size());
  for (std::size_t i = 0; i < degrees.size(); ++i) {
    log_degrees[i] = static_cast<float>(std::log(degrees[i]));
    log_negatives[i] = static_cast<float>(std::log(negatives[i] / total));
  }
  // Differences of rounding errors are 0: where all nodes have the same neighbours, all entries.
  const auto difference = [](float w, float degree, float negative) {
    const float value = std::log(w) - degree - negative;
    return std::abs(value) > 1e-6f * (std::abs(degree) + std::abs(negative)) ? value : 0.0f;
  };
  // The values of both matrices are free before the filter allocates.
  const auto factorise = [&] {
    const auto matrix = adjacency.with_values(
        [&](std::size_t i, std::size_t j, float w) {
          return difference(w, log_degrees[i], log_negatives[j]);
        },
        threads);
    const auto turned = adjacency.with_values(
        [&](std::size_t i, std::size_t j, float w) {
          return difference(w, log_degrees[j], log_negatives[i]);
        },
        threads);
    return detail::truncated_svd(
        {matrix.rows(), matrix.columns(),
         [&](RowMatrix& y, const RowMatrix& x) {
           matrix.multiply_into(y, x, threads);
           step();
         },
         [&](RowMatrix& y, const RowMatrix& x) {
           turned.multiply_into(y, x, threads);
           step();
         }},
        {.rank = dimension, .iterations = iterations, .seed = seed, .threads = threads});
  };
  return detail::finish_factors(graph, adjacency, factorise(), filter, threads, step);
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
