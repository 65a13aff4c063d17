#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/algebra/detail/blocks.hpp>
#include <wordloom/algebra/detail/dense_rows.hpp>
#include <wordloom/core/detail/finite.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/parameters.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/model/embeddings.hpp>

/// Principal components of vectors: Embeddings::reduced and Embeddings::without_top.
namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// Rows without their mean [n x D], and the directions of their variance.
struct CentredRows {
  RowMatrix rows;
  EigenPairs components;  // directions in rows, by descending variance
};

/// Throws InvalidArgument for numbers that are not finite, and unless the largest of them is 0 or
/// from 1e-15 to 1e15: their squares are added up in float.
CentredRows centred_rows(const Embeddings& embeddings, std::size_t threads);

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION CentredRows centred_rows(const Embeddings& embeddings, std::size_t threads) {
  const RowMatrix& from = embeddings.vectors();
  std::vector<double> mean(from.columns());
  float largest = 0;
  for (std::size_t i = 0; i < from.rows(); ++i)
    for (std::size_t c = 0; c < mean.size(); ++c) {
      mean[c] += static_cast<double>(from.row(i)[c]);
      largest = (std::max)(largest, std::abs(from.row(i)[c]));
    }
  if (!std::all_of(mean.begin(), mean.end(), [](double sum) { return is_finite(sum); }))
    throw InvalidArgument("the vectors contain a number that is not finite");
  if (largest > 1e15f || (largest > 0 && largest < 1e-15f))
    throw InvalidArgument{"the largest number of the vectors is ", static_cast<double>(largest),
                          ", must be from 1e-15 to 1e15 for principal components: scale them"};
  for (double& sum : mean) sum /= static_cast<double>(from.rows());
  RowMatrix rows(from.rows(), from.columns());
  for_blocks(rows.rows(), row_block, threads_for(rows.rows() * rows.columns(), threads),
             [&](std::size_t, std::size_t first, std::size_t last) {
               for (std::size_t i = first; i < last; ++i)
                 for (std::size_t c = 0; c < mean.size(); ++c)
                   rows.row(i)[c] =
                       static_cast<float>(static_cast<double>(from.row(i)[c]) - mean[c]);
             });
  EigenPairs components = symmetric_eigen(gram(rows, threads));
  return {std::move(rows), std::move(components)};
}

#endif

}  // namespace detail

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION Embeddings Embeddings::reduced(std::size_t dimension, std::size_t threads) const {
  check_parameter("dimension", dimension, std::size_t{1}, this->dimension());
  const auto [rows, components] = detail::centred_rows(*this, threads);
  RowMatrix directions(this->dimension(), dimension), result(size(), dimension);
  for (std::size_t k = 0; k < dimension; ++k)
    for (std::size_t c = 0; c < this->dimension(); ++c)
      directions.row(c)[k] = static_cast<float>(components.vectors(k, c));
  detail::multiply_rows(rows, directions, result, threads);
  return {words(), std::move(result), counts()};
}

WORDLOOM_FUNCTION Embeddings Embeddings::without_top(std::size_t count, std::size_t threads) const {
  check_parameter("components", count, std::size_t{0}, dimension() - 1);
  auto [rows, components] = detail::centred_rows(*this, threads);
  // The projection onto what is left: I - sum of u u^T.
  RowMatrix rest(dimension(), dimension());
  for (std::size_t i = 0; i < dimension(); ++i)
    for (std::size_t j = 0; j < dimension(); ++j) {
      double x = i == j ? 1 : 0;
      for (std::size_t k = 0; k < count; ++k)
        x -= components.vectors(k, i) * components.vectors(k, j);
      rest.row(i)[j] = static_cast<float>(x);
    }
  detail::multiply_rows(rows, rest, rows, threads);
  return {words(), std::move(rows), counts()};
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
