#pragma once
#include <cstdint>
#include <utility>
#include <variant>

#include <wordloom/core/types.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/optimizer/ada_grad.hpp>
#include <wordloom/optimizer/adam.hpp>
#include <wordloom/optimizer/concept.hpp>
#include <wordloom/optimizer/rms_prop.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// An optimizer that is chosen at run time, so that each sampler and kernel is compiled once for
/// all of them; not Sgd, which kernels do themselves, and not RowAdaGrad, for which FusedKernel has
/// a fast form.
class AnyOptimizer {
  using Policy = std::variant<AdaGrad, RmsProp, Adam>;

 public:
  AnyOptimizer() = default;
  explicit AnyOptimizer(Policy policy) : policy_(policy) {}

  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("optimizer", std::uint64_t{policy_.index()}, 0, 2);
    std::visit([&](const auto& policy) { policy.visit_parameters(visit); }, policy_);
  }

  class Run {
   public:
    Run(Model& model, const Policy& policy)
        : run_(std::visit([&](const auto& chosen) -> Runs { return chosen.start(model); },
                          policy)) {}

    void step(Model::Side side, RowId row, float* row_data, const float* gradient,
              float rate) const noexcept {
      with_run([&](const auto& run) { run.step(side, row, row_data, gradient, rate); });
    }
    void prefetch(Model::Side side, RowId row) const noexcept {
      with_run([&](const auto& run) { run.prefetch(side, row); });
    }

   private:
    using Runs = std::variant<AdaGrad::Run, RmsProp::Run, Adam::Run>;

    /// Calls `use` with the run. std::visit may throw.
    template <class Use>
    void with_run(const Use& use) const noexcept {
      if (const auto* const ada_grad = std::get_if<AdaGrad::Run>(&run_))
        use(*ada_grad);
      else if (const auto* const rms_prop = std::get_if<RmsProp::Run>(&run_))
        use(*rms_prop);
      else
        use(*std::get_if<Adam::Run>(&run_));
    }

    Runs run_;
  };

  /// Throws as the optimizers do.
  Run start(Model& model) const { return {model, policy_}; }

 private:
  Policy policy_;
};

static_assert(Optimizer<AnyOptimizer>);

}}}  // namespace wordloom::WORDLOOM_ABI::detail
