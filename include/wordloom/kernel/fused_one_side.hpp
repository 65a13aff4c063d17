#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/row_matrix.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/kernel/fused_kernel.hpp>
#include <wordloom/kernel/one_side_update.hpp>
#include <wordloom/kernel/repeat_filter.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/sampler/block.hpp>

namespace wordloom::inline WORDLOOM_ABI {

/// The scratch of one thread of two-step training, whose blocks change one side: two products where
/// FusedKernel::Worker has three. Other blocks it leaves to that. A class of its own, so that
/// programs without two-step training do not compile its vector code.
class FusedKernel::OneSideWorker {
 public:
  OneSideWorker(const Model& model, BlockShape most)
      : update_(most, model.dimension()),
        others_(model, most),
        ahead_(2 * (std::max(most.inputs, most.members) + most.outputs)) {}

  template <bool with_loss>
  LossSum update(Model& model, const Block& block, float learning_rate) noexcept {
    score(model, block, learning_rate);
    return apply<with_loss>(model);
  }

  /// As those of FusedKernel::Worker.
  void score(Model& model, const Block& block, float learning_rate) noexcept {
    is_one_side_ = simd::OneSideUpdate::takes(block, filter_);
    if (is_one_side_)
      update_.score(model, block, learning_rate);
    else
      others_.score(model, block, learning_rate);
  }
  template <bool with_loss>
  LossSum apply(Model& model) noexcept {
    const auto ahead = take_ahead();
    if (std::exchange(is_one_side_, false)) return update_.apply<with_loss>(ahead);
    return others_.apply<with_loss>(model);
  }

  /// Writes what the rows of a block would receive at learning rate 1, those of the sides that it
  /// updates, to `inputs` [N x D] and `outputs` [M x D], and changes none of them. No bags. See
  /// WithOptimizer.
  template <bool with_loss>
  LossSum gradients(Model& model, const Block& block, RowMatrix& inputs,
                    RowMatrix& outputs) noexcept {
    const auto ahead = take_ahead();
    LossSum loss;
    if (block.inputs.empty() || block.outputs.empty()) return loss;
    Block side = block;
    if (block.update != Sides::outputs) {
      side.update = Sides::inputs;
      update_.score(model, side, 1.0f);
      loss = update_.apply<with_loss>(ahead, &inputs);
    }
    if (block.update != Sides::inputs) {
      side.update = Sides::outputs;
      update_.score(model, side, 1.0f);
      loss = update_.apply<with_loss>(ahead, &outputs);
    }
    return loss;
  }

  /// Rows that later blocks only read: prefetched during the next second half.
  void prefetch(const Model& model, std::span<const RowId> inputs,
                std::span<const RowId> outputs) noexcept {
    const auto add = [&](const RowMatrix& matrix, RowId id) {
      if (ahead_count_ < ahead_.size()) ahead_[ahead_count_++] = matrix.row_data(id);
    };
    for (const RowId id : inputs) add(model.input, id);
    for (const RowId id : outputs) add(model.output, id);
  }

 private:
  std::span<const float* const> take_ahead() noexcept {
    return {ahead_.data(), std::exchange(ahead_count_, 0)};
  }

  simd::OneSideUpdate update_;
  FusedKernel::Worker others_;
  simd::RepeatFilter filter_;
  bool is_one_side_ = false;
  std::vector<const float*> ahead_;
  std::size_t ahead_count_ = 0;
};

inline FusedKernel::OneSideWorker FusedKernel::one_side_worker(const Model& model,
                                                               BlockShape most) const {
  return {model, most};
}

}  // namespace wordloom::inline WORDLOOM_ABI
