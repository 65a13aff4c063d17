#pragma once
#include <algorithm>
#include <cstddef>
#include <utility>

#include <wordloom/core/row_matrix.hpp>
#include <wordloom/encoder/detail/adam_parameter.hpp>
#include <wordloom/encoder/detail/matrix_product.hpp>
#include <wordloom/optimizer/detail/optimizer_steps.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// y [B x O] = x [B x I] times weights [I x O] plus bias [O], for batches of B rows. Threads may
/// call forward, backward and step at once for different rows, or parts; not forward or backward
/// beside step.
class DenseLayer {
 public:
  /// `weights` [I x O], I a multiple of 16; `bias` [1 x O].
  DenseLayer(AdamParameter weights, AdamParameter bias)
      : weights_(std::move(weights)),
        bias_(std::move(bias)),
        weight_gradient_(weights_.value().rows(), weights_.value().columns()),
        bias_gradient_(1, bias_.value().columns()) {}

  void forward(ConstFloats x, Floats y) const noexcept {
    for (std::size_t row = 0; row < y.rows; ++row)
      std::copy_n(bias_.value().data(), y.columns, y.data + row * y.stride);
    multiply(1, x, ConstFloats(weights_.value()), 1, y);
  }

  /// Writes the gradient of x, given that of y.
  void backward(ConstFloats y_gradient, Floats x_gradient) const noexcept {
    multiply(1, y_gradient, transposed(weights_.value()), 0, x_gradient);
  }

  /// Parts in which a step may be taken, each by one thread.
  std::size_t parts() const noexcept { return weight_gradient_.rows() / rows_at_once + 1; }
  /// Takes a step with the parameters of one part.
  void step(std::size_t part, ConstFloats x, ConstFloats y_gradient, float rate) noexcept {
    if (part + 1 == parts()) return step_bias(y_gradient, rate);
    const std::size_t first = part * rows_at_once;
    multiply(1, transposed(x.some_columns(first, rows_at_once)), y_gradient, 0,
             Floats(weight_gradient_).some_rows(first, rows_at_once));
    weights_.step(first, rows_at_once, weight_gradient_, rate);
  }

 private:
  static constexpr std::size_t rows_at_once = 16;

  void step_bias(ConstFloats y_gradient, float rate) noexcept {
    std::fill_n(bias_gradient_.data(), bias_gradient_.stride(), 0.0f);
    for (std::size_t row = 0; row < y_gradient.rows; ++row)
      functions_.sgd(bias_gradient_.data(), y_gradient.data + row * y_gradient.stride,
                     bias_gradient_.stride(), 1.0f);
    bias_.step(0, 1, bias_gradient_, rate);
  }

  AdamParameter weights_, bias_;
  RowMatrix weight_gradient_, bias_gradient_;
  simd::OptimizerFunctions functions_ = simd::optimizer_functions();
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
