#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include <wordloom/algebra/detail/walk_samples.hpp>
#include <wordloom/algebra/prone.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Vectors of nodes by a factorisation of the matrix that DeepWalk's walks approximate, which is
/// sampled, and ProNE's propagation (Qiu et al. 2021, "LightNE: A Lightweight Graph Processing
/// System for Network Embedding"). A value; fit() is thread-safe. One seed gives the same bits with
/// any number of threads, on one instruction set.
struct LightNE {
  /// Floats in a vector (D): 1 to the number of nodes.
  std::size_t dimension = 128;
  /// The maximum distance of two nodes in a walk (T), 1 to 1000.
  std::size_t window = 10;
  /// Divides the entries of the matrix (b), as negatives do in training; 1e-6 to 1e6.
  double negatives = 1;
  /// The number of samples; 0: 25 for each entry of the graph, as far as `memory` allows.
  std::size_t samples = 0;
  /// Bytes that the samples may take, 40 each.
  std::size_t memory = std::size_t{4} << 30;
  /// Power iterations of the factorisation, 0 to 1000: more are more exact.
  std::size_t iterations = 2;
  ProNE::Filter filter = {};
  std::uint64_t seed = 1;
  /// Threads, up to 65536; 0: as many as are worth starting.
  std::size_t threads = 0;
  /// Called with the share of the work that is done, 0 to 1, by the calling thread. An exception
  /// that it throws ends the work and reaches the caller.
  std::function<void(double)> progress = {};

  /// Returns vectors of unit length [nodes x D]; those of nodes without an edge are zeros. Edges of
  /// a directed graph lead both ways. Throws InvalidArgument, also if `samples` needs more than
  /// `memory`, and CorpusError for a graph without edges or where all nodes have the same
  /// neighbours. Memory: that of the samples; then two matrices [nodes x (D + 16)] and 8 bytes for
  /// each entry that was sampled; then four matrices [nodes x D].
  [[nodiscard]] Embeddings fit(const Graph& graph) const;
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION Embeddings LightNE::fit(const Graph& graph) const {
  detail::check_dimension(dimension, graph.node_count());
  check_parameter("window", window, 1, 1000);
  check_parameter("negatives", negatives, 1e-6, 1e6);
  check_parameter("iterations", iterations, 0, 1000);
  filter.validate();
  const std::size_t most = memory / detail::bytes_of_sample;
  if (most == 0 || samples > most)
    throw InvalidArgument{"samples is ", samples,         ", must be at most ",
                          most,          ": each takes ", detail::bytes_of_sample,
                          " of ",        memory,          " bytes of memory"};
  const double steps = static_cast<double>(2 * iterations + 4 + filter.order);
  double done = 0;
  const auto step = [&] {
    if (progress) progress((done += 1) / steps);
  };
  const SparseMatrix adjacency = detail::undirected_matrix(graph);
  const std::vector<double> degrees = detail::degrees_of(adjacency);
  const auto count = samples != 0
                         ? samples
                         : (std::min)(most, static_cast<std::size_t>(25 * adjacency.entry_count()));
  // The sampled matrix is free before the filter allocates.
  const auto factorise = [&] {
    const auto matrix = detail::sampled_walk_matrix(adjacency, degrees,
                                                    {.window = window,
                                                     .samples = static_cast<double>(count),
                                                     .negatives = negatives,
                                                     .seed = seed,
                                                     .threads = threads},
                                                    step);
    const detail::Product multiply = [&](RowMatrix& y, const RowMatrix& x) {
      matrix.multiply_into(y, x, threads);
      step();
    };
    return detail::truncated_svd(
        {matrix.rows(), matrix.columns(), multiply, multiply},
        {.rank = dimension, .iterations = iterations, .seed = seed, .threads = threads});
  };
  return detail::finish_factors(graph, adjacency, factorise(), filter, threads, step);
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
