#pragma once
#include <span>

#include <wordloom/core/types.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/sampler/block.hpp>
#include <wordloom/train/run_state.hpp>

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
    if constexpr (UpdatesInHalves<UpdateKernel>) {
      finish();
      kernel.begin(model, block, learning_rate);
      if (with_loss) done.pairs += positive_pairs(block);
    } else if (with_loss) {
      done.loss += LossSum(kernel.template update<true>(model, block, learning_rate));
      done.pairs += positive_pairs(block);
    } else {
      kernel.template update<false>(model, block, learning_rate);
    }
  }

  /// After the last block, and before `with_loss` changes.
  void finish() {
    if constexpr (UpdatesInHalves<UpdateKernel>) {
      if (with_loss)
        done.loss += LossSum(kernel.template finish<true>(model));
      else
        kernel.template finish<false>(model);
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
