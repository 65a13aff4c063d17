#pragma once
#include <cstddef>
#include <cstdint>

#include <wordloom/core/types.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/optimizer/concept.hpp>
#include <wordloom/optimizer/detail/optimizer_steps.hpp>
#include <wordloom/optimizer/detail/state_rows.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// AdaGrad with a diagonal matrix (Duchi et al. 2011, "Adaptive subgradient methods for online
/// learning and stochastic optimization", figure 1): for each element,
///
///     sum += gradient^2,   x += learning rate x gradient / (sqrt(sum) + epsilon).
///
/// Its state is "input.ada_grad" and "output.ada_grad", [R x D].
struct AdaGrad {
  /// One sum for each row, of the mean of gradient^2 over its D elements: the state is
  /// "input.ada_grad_by_row" and "output.ada_grad_by_row", [R x 1].
  bool per_row = false;
  /// Keeps the quotient finite if all gradients were zero; 1e-30 to 1.
  double epsilon = 1e-10;

  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("per_row", static_cast<std::uint64_t>(per_row), 0, 1);
    visit("epsilon", epsilon, 1e-30, 1.0);
  }

  detail::StateMatrix state() const noexcept {
    return per_row ? detail::StateMatrix{"ada_grad_by_row", 1} : detail::StateMatrix{"ada_grad", 0};
  }

  class Run {
   public:
    Run(Model& model, const AdaGrad& policy)
        : sums_(model, policy.state()),
          stride_(model.input.stride()),
          per_column_(1.0f / static_cast<float>(model.dimension())),
          epsilon_(static_cast<float>(policy.epsilon)),
          per_row_(policy.per_row) {}

    void step(Model::Side side, RowId row, float* row_data, const float* gradient,
              float rate) const noexcept {
      float* const sums = sums_.row(side, row);
      if (per_row_)
        functions_.ada_grad_by_row(row_data, sums, gradient, stride_, rate, epsilon_, per_column_);
      else
        functions_.ada_grad(row_data, sums, gradient, stride_, rate, epsilon_);
    }
    [[gnu::always_inline]] void prefetch(Model::Side side, RowId row) const noexcept {
      sums_.prefetch(side, row);
    }

   private:
    simd::OptimizerFunctions functions_ = simd::optimizer_functions();
    detail::StateRows sums_;
    std::size_t stride_;
    float per_column_;  // 1 / D
    float epsilon_;
    bool per_row_;
  };

  /// Throws as InstructionSet::chosen() and detail::StateRows do.
  Run start(Model& model) const { return {model, *this}; }
};

static_assert(Optimizer<AdaGrad>);

}}  // namespace wordloom::WORDLOOM_ABI
