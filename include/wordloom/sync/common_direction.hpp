#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>

#include <wordloom/core/detail/abi.hpp>
#include <wordloom/query/nearest_rows.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// Writes the direction that the first `count` rows of a matrix have in common, weighted by how
/// often they are scored against rows of the other matrix, to `direction` [columns], of length 1 or
/// 0. Returns the mean square of their components along it, weighted likewise.
float common_direction(const float* rows, std::size_t stride, std::size_t count,
                       std::size_t columns, const float* weights, float* direction);

}  // namespace detail

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

WORDLOOM_FUNCTION float common_direction(const float* rows, std::size_t stride, std::size_t count,
                                         std::size_t columns, const float* weights,
                                         float* direction) {
  std::fill_n(direction, columns, 0.0f);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t c = 0; c < columns; ++c) direction[c] += weights[i] * rows[i * stride + c];
  const double length =
      std::sqrt(detail::dot_in_double({direction, columns}, {direction, columns}));
  if (!(length > 0)) return 0;
  for (std::size_t c = 0; c < columns; ++c)
    direction[c] = static_cast<float>(direction[c] / length);
  double sum = 0, all = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double along = detail::dot_in_double({rows + i * stride, columns}, {direction, columns});
    sum += weights[i] * along * along;
    all += weights[i];
  }
  return static_cast<float>(sum / all);
}

}  // namespace detail

#endif

}}  // namespace wordloom::WORDLOOM_ABI
