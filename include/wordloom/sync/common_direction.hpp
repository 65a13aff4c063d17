#pragma once
#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <vector>

#include <wordloom/core/row_matrix.hpp>

namespace wordloom {

/// The direction that the rows of one matrix have in common, weighted by how often they are scored
/// against rows of the other, and the mean square of their parts along it.
struct CommonDirection {
  Eigen::VectorXf direction;  // [D], of length 1, or 0 where there is none
  double square = 0;
};

namespace detail {

/// Of the most frequent rows, which are in most of all pairs.
inline constexpr std::size_t common_rows = 1024;

/// Returns that of the first `common_rows` rows; `pairs` [rows] are their weights.
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
