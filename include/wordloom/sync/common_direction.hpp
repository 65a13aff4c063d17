#pragma once
#include <Eigen/Core>
#include <cstddef>

#include <wordloom/core/abi.hpp>

namespace wordloom::inline WORDLOOM_ABI {

/// Writes the direction that the first `count` rows of a matrix have in common, weighted by how
/// often they are scored against rows of the other, to `direction` [columns], of length 1 or 0.
/// Returns the mean square of their parts along it, weighted likewise.
float common_direction(const float* rows, std::size_t stride, std::size_t count,
                       std::size_t columns, const float* weights, float* direction);

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION float common_direction(const float* rows, std::size_t stride, std::size_t count,
                                         std::size_t columns, const float* weights,
                                         float* direction) {
  const auto row = [&](std::size_t i) {
    return Eigen::Map<const Eigen::VectorXf>(rows + i * stride, static_cast<Eigen::Index>(columns));
  };
  Eigen::Map<Eigen::VectorXf> common(direction, static_cast<Eigen::Index>(columns));
  common.setZero();
  for (std::size_t i = 0; i < count; ++i) common += weights[i] * row(i);
  const float length = common.norm();
  if (!(length > 0)) return 0;
  common /= length;
  double sum = 0, all = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double along = row(i).dot(common);
    sum += weights[i] * along * along;
    all += weights[i];
  }
  return static_cast<float>(sum / all);
}

#endif

}  // namespace wordloom::inline WORDLOOM_ABI
