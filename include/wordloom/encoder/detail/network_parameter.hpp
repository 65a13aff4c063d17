#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/random.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/optimizer/adam.hpp>
#include <wordloom/optimizer/detail/optimizer_steps.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Makes `matrix` [at least rows x columns]. Its numbers are lost if it grows.
inline void grow(RowMatrix& matrix, std::size_t rows, std::size_t columns) {
  if (matrix.rows() < rows || matrix.columns() != columns) matrix = RowMatrix(rows, columns);
}

/// Returns a normal number (Box and Muller 1958).
inline double normal(Random& random) {
  const double length = std::sqrt(-2 * std::log(1 - random.uniform()));
  return length * std::cos(2 * std::numbers::pi * random.uniform());
}

/// Turns the scores of classes into the gradient of the cross entropy of their softmax over `size`,
/// the number of items, and returns the cross entropy.
inline double softmax_gradient(std::span<float> scores, std::uint32_t label, std::size_t size) {
  const float most = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const float x : scores) sum += std::exp(double{x} - double{most});
  const double loss = std::log(sum) - (double{scores[label]} - double{most});
  for (std::size_t c = 0; c < scores.size(); ++c) {
    const double probability = std::exp(double{scores[c]} - double{most}) / sum;
    scores[c] =
        static_cast<float>((probability - (c == label ? 1 : 0)) / static_cast<double>(size));
  }
  return loss;
}

/// A parameter of a network, its gradient and the state that Adadelta (Zeiler 2012, with rho 0.95
/// and epsilon 1e-6) or Adam (with its rate 0.001) has of it. Of a table of symbols, only the rows
/// of a batch have gradients, and only those are stepped.
struct NetworkParameter {
  enum class Rule { adadelta, adam };

  NetworkParameter() = default;
  /// A parameter all of whose rows have gradients.
  NetworkParameter(RowMatrix values, Rule how)
      : value(std::move(values)),
        gradient(value.rows(), value.columns()),
        first(value.rows(), value.columns()),
        second(value.rows(), value.columns()),
        steps(value.rows(), 1),
        rule(how) {}
  /// A table of symbols, whose row 0 stays zero.
  NetworkParameter(RowMatrix values, Rule how, bool trains)
      : value(std::move(values)), rule(how), is_table(true), is_trained(trains) {
    if (!trains) return;
    first = RowMatrix(value.rows(), value.columns());
    second = RowMatrix(value.rows(), value.columns());
    steps = RowMatrix(value.rows(), 1);
  }

  /// Takes the symbols that the rows of the gradient are of, and sets these to 0.
  void open(std::span<const std::uint32_t> symbols) {
    chosen.assign(symbols.begin(), symbols.end());
    grow(gradient, chosen.size(), value.columns());
    std::fill_n(gradient.data(), chosen.size() * gradient.stride(), 0.0f);
  }

  void step() {
    if (!is_table)
      for (std::size_t row = 0; row < value.rows(); ++row) step(row, gradient.row_data(row));
    for (std::size_t i = 0; i < chosen.size(); ++i)
      if (chosen[i] != 0) step(chosen[i], gradient.row_data(i));
  }

  /// Shortens the columns of the value to this length.
  void limit_columns(double length) {
    for (std::size_t c = 0; c < value.columns(); ++c) {
      double squares = 0;
      for (std::size_t row = 0; row < value.rows(); ++row)
        squares += double{value.row(row)[c]} * double{value.row(row)[c]};
      const double norm = std::sqrt(squares);
      const auto scale = static_cast<float>((std::min)(norm, length) / (norm + 1e-7));
      for (std::size_t row = 0; row < value.rows(); ++row) value.row(row)[c] *= scale;
    }
  }

  RowMatrix value, gradient;
  RowMatrix first, second;  // means of squared gradients and changes; or of gradients and squares
  RowMatrix steps;          // [rows x 1], of Adam
  Rule rule = Rule::adadelta;
  bool is_table = false, is_trained = true;
  std::vector<std::uint32_t> chosen;  // of a table

 private:
  void step(std::size_t row, const float* gradients) {
    float *const values = value.row_data(row), *const squares = first.row_data(row);
    float* const changes = second.row_data(row);
    if (rule == Rule::adam)
      return functions.adam(values, {squares, changes, steps.row_data(row)}, gradients,
                            value.stride(), -0.001f, adam);
    constexpr float keep = 0.95f, epsilon = 1e-6f;
    for (std::size_t c = 0; c < value.stride(); ++c) {
      const float g = gradients[c];
      squares[c] = keep * squares[c] + (1 - keep) * g * g;
      const float change = -std::sqrt((changes[c] + epsilon) / (squares[c] + epsilon)) * g;
      changes[c] = keep * changes[c] + (1 - keep) * change * change;
      values[c] += change;
    }
  }

  simd::OptimizerFunctions functions = simd::optimizer_functions();
  simd::AdamConstants adam = Adam{}.constants();
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
