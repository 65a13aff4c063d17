#pragma once
#include <span>

#include <wordloom/core/types.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/sampler/block.hpp>
#include <wordloom/train/run_state.hpp>

namespace wordloom::detail {

/// Takes the blocks of a sampler and gives them to the worker of a kernel.
template <class Worker>
struct UpdateSink {
  Model& model;
  Worker& worker;
  BlockShape max;
  float learning_rate;
  bool with_loss;
  WorkDone done;

  void operator()(const Block& block) {
    if (block.input_count() > max.inputs || block.outputs.size() > max.outputs ||
        (block.has_bags() && block.inputs.size() > max.members))
      throw_too_large(block, max);
    if (with_loss) done.examples += block.examples;
    if constexpr (UpdatesInHalves<Worker>) {
      finish();
      worker.score(model, block, learning_rate);
    } else if (with_loss) {
      done.loss += LossSum(worker.template update<true>(model, block, learning_rate));
    } else {
      worker.template update<false>(model, block, learning_rate);
    }
  }

  /// Ends the update in progress: after the last block, and before `with_loss` changes.
  void finish() {
    if constexpr (UpdatesInHalves<Worker>) {
      if (with_loss)
        done.loss += LossSum(worker.template apply<true>(model));
      else
        worker.template apply<false>(model);
    }
  }

  [[gnu::always_inline]] void prefetch(std::span<const RowId> inputs,
                                       std::span<const RowId> outputs) {
    if constexpr (requires { worker.prefetch(model, inputs, outputs); })
      return worker.prefetch(model, inputs, outputs);
    for (const RowId id : inputs) model.input.prefetch(id);
    for (const RowId id : outputs) model.output.prefetch(id);
  }
};

}  // namespace wordloom::detail
