#pragma once
#include <cstddef>

#include <wordloom/core/types.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/optimizer/concept.hpp>
#include <wordloom/optimizer/detail/optimizer_steps.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Stochastic gradient descent, as in word2vec: row += learning rate x gradient.
struct Sgd {
  class Run {
   public:
    explicit Run(const Model& model) : stride_(model.input.stride()) {}
    void step(Model::Side, RowId, float* row_data, const float* gradient,
              float rate) const noexcept {
      functions_.sgd(row_data, gradient, stride_, rate);
    }

   private:
    simd::OptimizerFunctions functions_ = simd::optimizer_functions();
    std::size_t stride_;
  };

  /// Throws as InstructionSet::chosen() does.
  Run start(Model& model) const { return Run(model); }
};

static_assert(Optimizer<Sgd>);

}}  // namespace wordloom::WORDLOOM_ABI
