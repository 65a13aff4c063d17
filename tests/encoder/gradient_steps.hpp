#pragma once
#include <cmath>
#include <cstddef>
#include <wordloom/core/random.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/optimizer/adam.hpp>

/// With it, the first step at a rate r changes a parameter by -r x g / (|g| + 1), so that a test
/// learns the gradient g.
inline constexpr wordloom::Adam gradient_shows{.beta1 = 0, .beta2 = 0, .epsilon = 1};

inline double step_of(double gradient) { return -gradient / (std::abs(gradient) + 1); }
/// Returns the gradient of a step at a rate of 1.
inline double gradient_of(double step) { return -step / (1 - std::abs(step)); }

inline wordloom::RowMatrix random_matrix(std::size_t rows, std::size_t columns,
                                         wordloom::Random& random) {
  wordloom::RowMatrix matrix(rows, columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (float& x : matrix.row(i)) x = static_cast<float>(2 * random.uniform() - 1);
  return matrix;
}
