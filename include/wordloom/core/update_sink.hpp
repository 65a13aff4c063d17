#pragma once
#include <span>

#include <wordloom/core/block.hpp>
#include <wordloom/core/loss.hpp>
#include <wordloom/core/model.hpp>
#include <wordloom/core/run_state.hpp>
#include <wordloom/core/types.hpp>

namespace wordloom::detail {

/// Takes the blocks of a sampler.
template <class UpdateKernel>
struct UpdateSink {
  Model& model;
  UpdateKernel& kernel;
  BlockShape most;
  float learning_rate;
  bool with_loss;
  WorkDone done;

  void operator()(const Block& block) {
    if (block.inputs.size() > most.inputs || block.outputs.size() > most.outputs)
      throw_too_large(block, most);
    if (with_loss) {
      done.loss += LossSum(kernel.template update<true>(model, block, learning_rate));
      done.pairs += positive_pairs(block);
    } else {
      kernel.template update<false>(model, block, learning_rate);
    }
  }

  [[gnu::always_inline]] void prefetch(std::span<const WordId> inputs,
                                       std::span<const WordId> outputs) {
    if constexpr (requires { kernel.prefetch(model, inputs, outputs); })
      return kernel.prefetch(model, inputs, outputs);
    for (const WordId id : inputs) model.input.prefetch(id);
    for (const WordId id : outputs) model.output.prefetch(id);
  }
};

}  // namespace wordloom::detail
