#pragma once
#include <cstddef>

#include <wordloom/core/types.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/optimizer/concept.hpp>
#include <wordloom/optimizer/detail/optimizer_steps.hpp>
#include <wordloom/optimizer/detail/state_rows.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// RMSProp (Tieleman and Hinton 2012, "Lecture 6.5: divide the gradient by a running average of its
/// recent magnitude"): for each element,
///
///     square = decay x square + (1 - decay) x gradient^2,
///     x     += learning rate x gradient / (sqrt(square) + epsilon).
///
/// It is lazy: a row that is not in a block keeps its state. Its state is "input.rms_prop" and
/// "output.rms_prop", [R x D].
struct RmsProp {
  /// The part of the mean of squares that an update keeps; 0 to 0.999999.
  double decay = 0.9;
  /// Keeps the quotient finite if all gradients were zero; 1e-30 to 1.
  double epsilon = 1e-8;

  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("decay", decay, 0.0, 0.999999);
    visit("epsilon", epsilon, 1e-30, 1.0);
  }

  static constexpr detail::StateMatrix state = {"rms_prop", 0};

  /// Returns the constants for the vector code.
  simd::RmsPropConstants constants() const noexcept {
    return {static_cast<float>(decay), static_cast<float>(1.0 - decay),
            static_cast<float>(epsilon)};
  }

  class Run {
   public:
    Run(Model& model, const RmsProp& policy)
        : squares_(model, state), stride_(model.input.stride()), constants_(policy.constants()) {}

    void step(Model::Side side, RowId row, float* row_data, const float* gradient,
              float rate) const noexcept {
      functions_.rms_prop(row_data, squares_.row(side, row), gradient, stride_, rate, constants_);
    }
    [[gnu::always_inline]] void prefetch(Model::Side side, RowId row) const noexcept {
      squares_.prefetch(side, row);
    }

   private:
    simd::OptimizerFunctions functions_ = simd::optimizer_functions();
    detail::StateRows squares_;
    std::size_t stride_;
    simd::RmsPropConstants constants_;
  };

  /// Throws as InstructionSet::chosen() and detail::StateRows do.
  Run start(Model& model) const { return {model, *this}; }
};

static_assert(Optimizer<RmsProp>);

}}  // namespace wordloom::WORDLOOM_ABI
