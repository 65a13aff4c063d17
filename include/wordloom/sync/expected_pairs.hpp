#pragma once
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/corpus/subsampling.hpp>
#include <wordloom/corpus/vocabulary.hpp>

namespace wordloom {

/// What the rows of one matrix have in common, weighted by how often they are paired with rows of
/// the other: their mean direction, and the mean of the squares of their parts along it.
struct CommonDirection {
  Eigen::VectorXf direction;  // [D], of length 1, or 0 where there is none
  double square = 0;
};

namespace detail {

/// Of the most frequent rows, which are most of all pairs.
inline constexpr std::size_t common_rows = 1024;

/// How often skip-gram with negative sampling is expected to pair a row with others, for each word
/// that is trained: of each row of a matrix.
struct ExpectedPairs {
  std::vector<float> input, output;

  ExpectedPairs() = default;
  ExpectedPairs(const Vocabulary& vocabulary, const Hyperparameters& parameters)
      : input(vocabulary.size()), output(vocabulary.size()) {
    const Subsampling subsampling(vocabulary, parameters.subsample);
    const auto counts = vocabulary.counts();
    std::vector<double> kept(counts.size()), noise(counts.size());
    double all_kept = 0, all_noise = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const auto count = static_cast<double>(counts[i]);
      kept[i] = subsampling.keep_probability(static_cast<WordId>(i)) * count /
                static_cast<double>(vocabulary.total_count());
      noise[i] = std::pow(count, parameters.negative_exponent);
      all_kept += kept[i];
      all_noise += noise[i];
    }
    // The mean of a window that is drawn from 1 to `window`, on both sides.
    const double context = static_cast<double>(parameters.window) + 1;
    const auto negatives = static_cast<double>(parameters.negatives);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      input[i] = static_cast<float>(kept[i] * context * (1 + negatives));
      output[i] =
          static_cast<float>(context * (kept[i] + all_kept * negatives * noise[i] / all_noise));
    }
  }
};

/// Of the first `common_rows`.
inline CommonDirection common_direction(const RowMatrix& matrix, const std::vector<float>& pairs) {
  const std::size_t rows = std::min(common_rows, matrix.rows());
  const auto size = static_cast<Eigen::Index>(matrix.columns());
  using Row = Eigen::Map<const Eigen::VectorXf>;
  CommonDirection result{Eigen::VectorXf::Zero(size), 0};
  for (std::size_t i = 0; i < rows; ++i)
    result.direction += pairs[i] * Row(matrix.row_data(i), size);
  const float length = result.direction.norm();
  if (!(length > 0)) return result;
  result.direction /= length;
  double sum = 0, weights = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    const double along = Row(matrix.row_data(i), size).dot(result.direction);
    sum += pairs[i] * along * along;
    weights += pairs[i];
  }
  result.square = sum / weights;
  return result;
}

}  // namespace detail
}  // namespace wordloom
