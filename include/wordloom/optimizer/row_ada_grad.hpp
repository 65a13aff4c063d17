#pragma once
#include <cmath>
#include <cstddef>

#include <wordloom/core/types.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/optimizer/concept.hpp>
#include <wordloom/optimizer/detail/optimizer_steps.hpp>
#include <wordloom/optimizer/detail/state_rows.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// AdaGrad (see AdaGrad) with one number for each row and the power 1/4 instead of 1/2: for a row x
/// of D elements and its gradient g,
///
///     x   += learning rate x g / (sum + start)^(1/4),
///     sum += |g|^2 / D.
///
/// The step is scaled by the sum before the update, so that FusedKernel needs one pass over a row.
/// Frequent rows take short steps, rare rows long ones. The best learning rate is 3 to 4 times that
/// of Sgd: 0.08 for 5 epochs (benchmarks/results/presets.md).
///
/// Its state is "input.row_ada_grad" and "output.row_ada_grad", [R x 1].
/// `WithOptimizer<FusedKernel, RowAdaGrad>` is its fast form (kernel/fused_row_ada_grad.hpp).
struct RowAdaGrad {
  /// Bounds the first steps of a row: a new one has the rate times start^(-1/4), 1.8 times the
  /// learning rate; 1e-6 to 1e6.
  double start_sum = 0.1;

  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("start_sum", start_sum, 1e-6, 1e6);
  }

  static constexpr detail::StateMatrix state = {"row_ada_grad", 1};

  class Run {
   public:
    Run(Model& model, const RowAdaGrad& policy)
        : sums_(model, state),
          stride_(model.input.stride()),
          per_column_(1.0f / static_cast<float>(model.dimension())),
          start_sum_(static_cast<float>(policy.start_sum)) {}

    void step(Model::Side side, RowId row, float* row_data, const float* gradient,
              float rate) const noexcept {
      functions_.row_ada_grad(row_data, sums_.row(side, row), gradient, stride_, rate, start_sum_,
                              per_column_);
    }
    [[gnu::always_inline]] void prefetch(Model::Side side, RowId row) const noexcept {
      detail::prefetch_line(sum(side, row));
    }

    /// Returns the sum of a row.
    float* sum(Model::Side side, RowId row) const noexcept { return sums_.row(side, row); }
    /// Returns (sum + start_sum)^(-1/4) of a row.
    float scale(Model::Side side, RowId row) const noexcept {
      return 1.0f / std::sqrt(std::sqrt(detail::read_racing(sum(side, row)) + start_sum_));
    }
    /// Returns 1 / D.
    float per_column() const noexcept { return per_column_; }

   private:
    simd::OptimizerFunctions functions_ = simd::optimizer_functions();
    detail::StateRows sums_;
    std::size_t stride_;
    float per_column_, start_sum_;
  };

  /// Throws as InstructionSet::chosen() and detail::StateRows do.
  Run start(Model& model) const { return {model, *this}; }
};

static_assert(Optimizer<RowAdaGrad>);

}}  // namespace wordloom::WORDLOOM_ABI
