#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <variant>
#include <wordloom/registry.hpp>

/// An optimizer that is chosen at run time, so that programs compile each sampler and kernel once
/// for all optimizers: those of wordloom::Optimizers except `sgd`, which kernels do themselves, and
/// `row-adagrad`, for which FusedKernel has a fast form.
class AnyOptimizer {
  using Policy = std::variant<wordloom::AdaGrad, wordloom::RmsProp, wordloom::Adam>;

 public:
  AnyOptimizer() = default;
  /// `name`: one of these. Throws InvalidArgument for a name that wordloom::Optimizers lacks.
  explicit AnyOptimizer(std::string_view name) {
    wordloom::Optimizers::with(name, [&]<class Optimizer>() {
      if constexpr (std::is_constructible_v<Policy, std::in_place_type_t<Optimizer>>)
        policy_.emplace<Optimizer>();
    });
  }

  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("optimizer", std::uint64_t{policy_.index()}, 0, 2);
    std::visit([&](const auto& policy) { policy.visit_parameters(visit); }, policy_);
  }

  class Run {
   public:
    Run(wordloom::Model& model, const Policy& policy)
        : run_(std::visit([&](const auto& chosen) -> Runs { return chosen.start(model); },
                          policy)) {}

    void step(wordloom::Side side, wordloom::RowId row, float* row_data, const float* gradient,
              float rate) const noexcept {
      std::visit([&](const auto& run) { run.step(side, row, row_data, gradient, rate); }, run_);
    }
    void prefetch(wordloom::Side side, wordloom::RowId row) const noexcept {
      std::visit([&](const auto& run) { run.prefetch(side, row); }, run_);
    }

   private:
    using Runs = std::variant<wordloom::AdaGrad::Run, wordloom::RmsProp::Run, wordloom::Adam::Run>;
    Runs run_;
  };

  /// Throws as the optimizers do.
  Run start(wordloom::Model& model) const { return {model, policy_}; }

 private:
  Policy policy_;
};

static_assert(wordloom::Optimizer<AnyOptimizer>);
