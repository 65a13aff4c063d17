#pragma once
#include <cstddef>
#include <string>

#include <wordloom/core/row_matrix.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/optimizer/adam.hpp>
#include <wordloom/optimizer/detail/optimizer_steps.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// A parameter of an encoder, a matrix of Model::state, and the state that Adam has of its rows:
/// "NAME.adam_mean" and "NAME.adam_square" of its shape, and "NAME.adam_steps" [rows x 1]. The
/// model must keep its state.
class AdamParameter {
 public:
  /// `value`: the matrix `name` of the model's state. Adds the state of Adam where there is none.
  /// Throws as Model::state_matrix.
  AdamParameter(Model& model, const std::string& name, RowMatrix& value, const Adam& adam)
      : value_(value.borrow()),
        mean_(model.state_matrix(name + ".adam_mean", value_.rows(), value_.columns()).borrow()),
        square_(
            model.state_matrix(name + ".adam_square", value_.rows(), value_.columns()).borrow()),
        steps_(model.state_matrix(name + ".adam_steps", value_.rows(), 1).borrow()),
        constants_(adam.constants()) {}

  const RowMatrix& value() const noexcept { return value_; }

  struct Row {
    float* value;  // [columns]
    simd::AdamState state;
  };
  Row row(std::size_t number) noexcept {
    return {value_.row_data(number),
            {mean_.row_data(number), square_.row_data(number), steps_.row_data(number)}};
  }

  /// Moves row `number` against its gradient [stride]. Threads may step different rows at once.
  void step(std::size_t number, const float* gradient, float rate) noexcept {
    const auto [value, state] = row(number);
    functions_.adam(value, state, gradient, value_.stride(), -rate, constants_);
  }
  /// Steps rows [first, first + count), whose gradients have the same places in `gradients`.
  void step(std::size_t first, std::size_t count, const RowMatrix& gradients, float rate) noexcept {
    for (std::size_t number = first; number < first + count; ++number)
      step(number, gradients.row_data(number), rate);
  }

 private:
  RowMatrix value_, mean_, square_, steps_;
  simd::AdamConstants constants_;
  simd::OptimizerFunctions functions_ = simd::optimizer_functions();
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
