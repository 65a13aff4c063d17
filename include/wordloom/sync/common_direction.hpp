#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>

#include <wordloom/core/detail/abi.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Writes the direction that the first `count` rows of a matrix have in common, weighted by how
/// often they are scored against rows of the other matrix, to `direction` [columns], of length 1 or
/// 0. Returns the mean square of their components along it, weighted likewise.
float common_direction(const float* rows, std::size_t stride, std::size_t count,
                       std::size_t columns, const float* weights, float* direction);

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

/// Returns the dot product of two rows, as four sums that do not wait for each other.
inline double dot_in_double(const float* a, const float* b, std::size_t columns) noexcept {
  double sums[4] = {};
  for (std::size_t c = 0; c < columns; ++c) sums[c % 4] += double{a[c]} * double{b[c]};
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace detail

WORDLOOM_FUNCTION float common_direction(const float* rows, std::size_t stride, std::size_t count,
                                         std::size_t columns, const float* weights,
                                         float* direction) {
  std::fill_n(direction, columns, 0.0f);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t c = 0; c < columns; ++c) direction[c] += weights[i] * rows[i * stride + c];
  const double length = std::sqrt(detail::dot_in_double(direction, direction, columns));
  if (!(length > 0)) return 0;
  for (std::size_t c = 0; c < columns; ++c)
    direction[c] = static_cast<float>(direction[c] / length);
  double sum = 0, all = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double along = detail::dot_in_double(rows + i * stride, direction, columns);
    sum += weights[i] * along * along;
    all += weights[i];
  }
  return static_cast<float>(sum / all);
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
