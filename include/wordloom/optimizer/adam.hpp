#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <wordloom/core/types.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/optimizer/concept.hpp>
#include <wordloom/optimizer/detail/optimizer_steps.hpp>
#include <wordloom/optimizer/detail/state_rows.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Adam (Kingma and Ba 2015, "Adam: a method for stochastic optimization", algorithm 1): for each
/// element, at the t-th update of its row,
///
///     mean   = beta1 x mean   + (1 - beta1) x gradient,
///     square = beta2 x square + (1 - beta2) x gradient^2,
///     x     += learning rate x (mean / (1 - beta1^t)) / (sqrt(square / (1 - beta2^t)) + epsilon).
///
/// It is lazy unless it is `dense`: a row that is not in a block keeps its state, and t counts the
/// updates of that row, not those of the model. Its state is, for each side, "input.adam_mean" and
/// "input.adam_square" [R x D] and "input.adam_steps" [R x 1]: three times the memory of the model.
struct Adam {
  /// The parts of the mean and of the square that an update keeps; 0 to 0.999999.
  double beta1 = 0.9, beta2 = 0.999;
  /// Keeps the quotient finite if all gradients were zero; 1e-30 to 1.
  double epsilon = 1e-8;
  /// Steps all rows in each batch, also rows without a gradient, as in the paper's algorithm and
  /// with the dense gradients of Chainer: a row keeps moving by its mean for some tens of steps. A
  /// step then costs as much as passing over the model and its state. WithOptimizer needs a batch
  /// of more than one block for it; kernels on devices refuse it. The columns of a
  /// WordContextMatrix have all rows, so that it would change nothing there.
  bool dense = false;

  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("beta1", beta1, 0.0, 0.999999);
    visit("beta2", beta2, 0.0, 0.999999);
    visit("epsilon", epsilon, 1e-30, 1.0);
    visit("dense", static_cast<std::uint64_t>(dense), 0, 1);
  }

  static constexpr detail::StateMatrix state[] = {
      {"adam_mean", 0}, {"adam_square", 0}, {"adam_steps", 1}};

  /// Returns the constants for the vector code.
  simd::AdamConstants constants() const noexcept {
    const auto number = [](double x) { return static_cast<float>(x); };
    return {number(beta1),   number(beta2),   number(1.0 - beta1), number(1.0 - beta2),
            std::log(beta1), std::log(beta2), number(epsilon)};
  }

  class Run {
   public:
    Run(Model& model, const Adam& policy)
        : means_(model, state[0]),
          squares_(model, state[1]),
          steps_(model, state[2]),
          stride_(model.input.stride()),
          dense_(policy.dense),
          constants_(policy.constants()) {}

    void step(Model::Side side, RowId row, float* row_data, const float* gradient,
              float rate) const noexcept {
      functions_.adam(row_data,
                      {means_.row(side, row), squares_.row(side, row), steps_.row(side, row)},
                      gradient, stride_, rate, constants_);
    }
    [[gnu::always_inline]] void prefetch(Model::Side side, RowId row) const noexcept {
      means_.prefetch(side, row);
      squares_.prefetch(side, row);
      steps_.prefetch(side, row);
    }
    bool steps_all_rows() const noexcept { return dense_; }

   private:
    simd::OptimizerFunctions functions_ = simd::optimizer_functions();
    detail::StateRows means_, squares_, steps_;
    std::size_t stride_;
    bool dense_;
    simd::AdamConstants constants_;
  };

  /// Throws as InstructionSet::chosen() and detail::StateRows do.
  Run start(Model& model) const { return {model, *this}; }
};

static_assert(Optimizer<Adam>);

}}  // namespace wordloom::WORDLOOM_ABI
