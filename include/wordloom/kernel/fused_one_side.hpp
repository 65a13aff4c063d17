#pragma once
#include <cstddef>
#include <span>
#include <utility>

#include <wordloom/core/row_matrix.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/kernel/detail/one_side_update.hpp>
#include <wordloom/kernel/detail/repeat_filter.hpp>
#include <wordloom/kernel/detail/rows_ahead.hpp>
#include <wordloom/kernel/fused_kernel.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/sampler/block.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// The scratch memory of one thread of two-step training, whose blocks change one side: two
/// products instead of the three of FusedKernel::Worker, which gets all other blocks. A separate
/// class, so that programs without two-step training do not compile its vector code.
class FusedKernel::OneSideWorker {
 public:
  OneSideWorker(const Model& model, Block::Shape most)
      : update_(most, model.dimension()), others_(model, most), ahead_(most) {}

  template <bool with_loss>
  LossSum update(Model& model, const Block& block, float learning_rate) noexcept {
    score(model, block, learning_rate);
    return apply<with_loss>(model);
  }

  /// Do the two halves of an update, as in FusedKernel::Worker.
  void score(Model& model, const Block& block, float learning_rate) noexcept {
    is_one_side_ = simd::OneSideUpdate::takes(block, filter_);
    if (is_one_side_)
      update_.score(model, block, learning_rate);
    else
      others_.score(model, block, learning_rate);
  }
  template <bool with_loss>
  LossSum apply(Model& model) noexcept {
    if (std::exchange(is_one_side_, false)) return update_.apply<with_loss>(ahead_.take());
    return others_.apply<with_loss>(model);
  }

  /// Writes the changes that the rows of a block would receive at learning rate 1, for the sides
  /// that it updates, to `inputs` [N x D] and `outputs` [M x D]; the rows do not change. No bags.
  /// See WithOptimizer.
  template <bool with_loss>
  LossSum gradients(Model& model, const Block& block, RowMatrix& inputs,
                    RowMatrix& outputs) noexcept {
    const auto ahead = ahead_.take();
    LossSum loss;
    if (block.inputs.empty() || block.outputs.empty()) return loss;
    Block side = block;
    if (block.update != Block::Sides::outputs) {
      side.update = Block::Sides::inputs;
      update_.score(model, side, 1.0f);
      loss = update_.apply<with_loss>(ahead, &inputs);
    }
    if (block.update != Block::Sides::inputs) {
      side.update = Block::Sides::outputs;
      update_.score(model, side, 1.0f);
      loss = update_.apply<with_loss>(ahead, &outputs);
    }
    return loss;
  }

  /// Announces rows that later blocks only read; they are prefetched during the next second half.
  void prefetch(const Model& model, std::span<const RowId> inputs,
                std::span<const RowId> outputs) noexcept {
    ahead_.add(model, inputs, outputs);
  }

 private:
  simd::OneSideUpdate update_;
  FusedKernel::Worker others_;
  simd::RepeatFilter filter_;
  bool is_one_side_ = false;
  simd::RowsAhead ahead_;
};

inline FusedKernel::OneSideWorker FusedKernel::one_side_worker(const Model& model,
                                                               Block::Shape most) const {
  return {model, most};
}

}}  // namespace wordloom::WORDLOOM_ABI
