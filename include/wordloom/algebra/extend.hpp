#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/algebra/detail/spectral.hpp>
#include <wordloom/algebra/sparse_matrix.hpp>
#include <wordloom/core/detail/finite.hpp>
#include <wordloom/core/parameters.hpp>
#include <wordloom/graph/graph.hpp>
#include <wordloom/model/embeddings.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Returns the vectors of the nodes of a graph [nodes x D]: those of `known` by name, and for nodes
/// that were not there when these were trained, the mean of their neighbours' vectors, by weight of
/// the edges and scaled to the mean of the neighbours' lengths. New nodes next to each other are
/// found in `rounds` rounds (1 to 1000), each with the vectors of the round before. A new node that
/// no known one is reached from in as many steps has a vector of zeros. Edges of a directed graph
/// lead both ways. Thread-safe; any number of threads gives the same bits. Throws InvalidArgument,
/// and CorpusError if no node of the graph is known.
[[nodiscard]] Embeddings extend(const Graph& graph, const Embeddings& known, std::size_t rounds = 5,
                                std::size_t threads = 0);

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION Embeddings extend(const Graph& graph, const Embeddings& known, std::size_t rounds,
                                    std::size_t threads) {
  check_parameter("rounds", rounds, 1, 1000);
  const WordList& names = graph.vocabulary().words();
  RowMatrix vectors(names.size(), known.dimension());
  std::vector<float> lengths(names.size());  // 0: no vector yet
  std::vector<WordId> fresh;
  const auto length_of = [](std::span<const float> vector) {
    double square = 0;
    for (const float v : vector) square += static_cast<double>(v) * static_cast<double>(v);
    return static_cast<float>(std::sqrt(square));
  };
  for (WordId i = 0; i < names.size(); ++i) {
    const auto id = known.find(names[i]);
    if (!id) {
      fresh.push_back(i);
      continue;
    }
    const auto vector = known.vector(*id);
    std::copy(vector.begin(), vector.end(), vectors.row(i).begin());
    lengths[i] = length_of(vector);
    if (!detail::is_finite(lengths[i]))
      throw InvalidArgument{"the vector of node ", detail::shown(names[i]),
                            " contains a number that is not finite or too large"};
  }
  if (fresh.size() == names.size())
    throw CorpusError{"no node of the graph has a known vector, for example ",
                      detail::shown(names[0]), " has none: are the nodes named alike?"};
  const SparseMatrix adjacency = detail::undirected_matrix(graph);
  RowMatrix next(fresh.size(), known.dimension());
  std::vector<float> next_lengths(fresh.size());
  for (std::size_t round = 0; round < rounds && !fresh.empty(); ++round) {
    detail::for_blocks(
        fresh.size(), 64, detail::threads_for(adjacency.entry_count() * known.dimension(), threads),
        [&](std::size_t, std::size_t first, std::size_t last) {
          for (std::size_t f = first; f < last; ++f) {
            const auto row = adjacency.row(fresh[f]);
            const auto values = adjacency.values(fresh[f]);
            const auto sum = next.row(f);
            std::fill(sum.begin(), sum.end(), 0.0f);
            double weight = 0, length = 0;
            for (std::size_t k = 0; k < row.size(); ++k) {
              if (lengths[row[k]] == 0 || row[k] == fresh[f]) continue;
              const float w = values.empty() ? 1.0f : values[k];
              weight += static_cast<double>(w);
              length += static_cast<double>(w) * static_cast<double>(lengths[row[k]]);
              const auto from = vectors.row(row[k]);
              for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += w * from[j];
            }
            const float of_sum = length_of(sum);
            next_lengths[f] = of_sum > 0 ? static_cast<float>(length / weight) : 0.0f;
            for (float& v : sum) v *= of_sum > 0 ? next_lengths[f] / of_sum : 0.0f;
          }
        });
    for (std::size_t f = 0; f < fresh.size(); ++f) {
      std::copy(next.row(f).begin(), next.row(f).end(), vectors.row(fresh[f]).begin());
      lengths[fresh[f]] = next_lengths[f];
    }
  }
  return Embeddings(names, std::move(vectors), graph.vocabulary().counts());
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
