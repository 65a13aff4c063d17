#pragma once
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/kernel/bag_update.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/kernel/fused_update.hpp>
#include <wordloom/kernel/pair_weights.hpp>
#include <wordloom/kernel/rows_ahead.hpp>
#include <wordloom/kernel/staging.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/sampler/block.hpp>

namespace wordloom::inline WORDLOOM_ABI {

/// Scores, sigmoid and both rank updates of a block on the rows where they lie, in register tiles:
/// nothing is gathered or packed, each row is read twice and written once. The default kernel.
struct FusedKernel {
  static constexpr BlockFeatures honours = {
      .bags = true, .weights = true, .one_side = true, .pairs = true};
  static constexpr bool keeps_nothing_by_row = true;

  class Worker;
  /// The scratch of one thread for a model. Throws as target() does.
  Worker worker(const Model& model, BlockShape most) const;

  class OneSideWorker;
  /// The same for blocks that change one side, see kernel/fused_one_side.hpp.
  OneSideWorker one_side_worker(const Model& model, BlockShape most) const;
};

/// The scratch of one thread.
class FusedKernel::Worker {
 public:
  Worker(const Model& model, BlockShape most);

  template <bool with_loss>
  LossSum update(Model& model, const Block& block, float learning_rate) noexcept {
    score(model, block, learning_rate);
    return apply<with_loss>(model);
  }

  /// The first half of an update: its scores, which take a while to become gradients. Leaves the
  /// model as it is, and does not need the block any more; `apply` comes before another `score`.
  void score(Model& model, const Block& block, float learning_rate) noexcept {
    if (block.inputs.empty() || block.outputs.empty()) return;
    if ((is_bag_ = simd::BagUpdate::takes(block)))
      return bag_.score(model, block, learning_rate, filter_);
    if (block.paired > 0) return score_all_pairs(model, block, learning_rate);
    const simd::GradientLayout layout{block.input_count(), block.outputs.size()};
    scored_ = {rows_.data(),
               rows_.data() + layout.n,
               gradients_.data(),
               gradients_.data() + layout.tail(),
               layout.n_of_four(),
               change_.data(),
               layout.n,
               layout.m,
               weights_.of(block),
               learning_rate,
               false,
               {}};
    if (!simd::Staging::is_needed(block)) return functions_.score(model, block, scored_, filter_);
    staging_.begin(model, block, scored_.inputs, scored_.outputs);
    scored_.may_repeat = (block.update != Sides::inputs && filter_.repeats(block.outputs)) ||
                         (!staging_.has_bags() && filter_.repeats(block.inputs));
    functions_.score_staged(scored_, model.input.stride());
  }
  /// The second half; nothing where nothing is scored.
  template <bool with_loss>
  LossSum apply(Model& model) noexcept {
    const std::span<const float* const> ahead = ahead_.take();
    if (std::exchange(is_bag_, false)) return bag_.apply<with_loss>(ahead);
    if (scored_.n == 0) return {};
    scored_.ahead = ahead;
    const LossSum loss = functions_.apply[with_loss](model, scored_);
    staging_.finish();
    scored_.n = 0;
    return loss;
  }

  /// Rows that later blocks need: prefetched during the next second half.
  void prefetch(const Model& model, std::span<const RowId> inputs,
                std::span<const RowId> outputs) noexcept {
    ahead_.add(model, inputs, outputs);
  }

 private:
  /// Scores a block of pairs as one of all pairs, of which most have weight 0.
  void score_all_pairs(Model& model, const Block& block, float learning_rate) noexcept {
    simd::fill_pair_weights(block, all_weights_.data());
    Block all = block;
    all.paired = 0;
    all.weights = {std::span(all_weights_).first(block.inputs.size() * block.outputs.size())};
    score(model, all, learning_rate);
  }

  simd::FusedFunctions functions_ = simd::fused_functions();
  simd::BagUpdate bag_;
  bool is_bag_ = false;
  simd::Staging staging_;
  simd::WeightLayout weights_;
  std::vector<float> all_weights_;  // [M x N] of pairs
  simd::FusedBlock scored_{};       // n is 0 where there is none
  std::vector<float*> rows_;        // [N] inputs, then [M] outputs of the block at hand
  RowMatrix gradients_;
  RowMatrix change_;  // [N x 32] of an update over several tiles
  simd::RepeatFilter filter_;
  simd::RowsAhead ahead_;
};

inline FusedKernel::Worker FusedKernel::worker(const Model& model, BlockShape most) const {
  return {model, most};
}

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION FusedKernel::Worker::Worker(const Model& model, BlockShape most)
    : bag_(most, model.dimension()),
      staging_(most, model.dimension()),
      weights_(most),
      all_weights_(most.inputs * most.outputs + simd::vector_slack),
      rows_(most.inputs + most.outputs),
      gradients_(1, simd::GradientLayout::most(most)),
      change_(most.inputs, 32),
      ahead_(most) {}

#endif

static_assert(UpdateKernel<FusedKernel>);

}  // namespace wordloom::inline WORDLOOM_ABI
