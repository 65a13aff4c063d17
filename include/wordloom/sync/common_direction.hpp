#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>

#include <wordloom/core/detail/abi.hpp>
#include <wordloom/query/nearest_rows.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Writes the direction that the first `count` rows of a matrix have in common, weighted by how
/// often they are scored against rows of the other matrix, to `direction` [columns], of length 1 or
/// 0. Returns the mean square of their components along it, weighted likewise. `functions`: `dot`
/// and `mix` of RowChangeFunctions.
template <class Functions>
float common_direction(const Functions& functions, const float* rows, std::size_t stride,
                       std::size_t count, std::size_t columns, const float* weights,
                       float* direction) {
  std::fill_n(direction, columns, 0.0f);
  for (std::size_t i = 0; i < count; ++i)
    functions.mix(direction, 1, rows + i * stride, weights[i], columns);
  const float length = std::sqrt(functions.dot(direction, direction, columns));
  if (!(length > 0)) return 0;
  functions.mix(direction, 1 / length, direction, 0, columns);
  double sum = 0, all = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double along{functions.dot(rows + i * stride, direction, columns)};
    sum += weights[i] * along * along;
    all += weights[i];
  }
  return static_cast<float>(sum / all);
}

/// The functions without vector code, which a program that does not synchronise need not compile.
struct PlainFunctions {
  static float dot(const float* a, const float* b, std::size_t size) {
    return static_cast<float>(dot_in_double({a, size}, {b, size}));
  }
  static void mix(float* a, float by, const float* b, float of_b, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) a[i] = by * a[i] + of_b * b[i];
  }
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
