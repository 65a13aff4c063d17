#pragma once
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/kernel/concept.hpp>
#include <wordloom/kernel/detail/bag_update.hpp>
#include <wordloom/kernel/detail/fused_update.hpp>
#include <wordloom/kernel/detail/pair_weights.hpp>
#include <wordloom/kernel/detail/rows_ahead.hpp>
#include <wordloom/kernel/detail/staging.hpp>
#include <wordloom/kernel/row_map.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/sampler/block.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Scores, sigmoid and both rank updates of a block on the rows in place, in register tiles:
/// nothing is gathered or packed, each row is read twice and written once. The default kernel.
struct FusedKernel {
  static constexpr Block::Features honours = {
      .bags = true, .weights = true, .one_side = true, .pairs = true};
  static constexpr bool keeps_nothing_by_row = true;

  class Worker;
  /// Returns the scratch memory of one thread for a model. Throws as InstructionSet::chosen() does.
  Worker worker(const Model& model, Block::Shape most) const;

  class RowWorker;
  /// Returns the scratch memory of one thread for blocks of rows alone: of the features above they
  /// use weights only.
  RowWorker row_worker(const Model& model, Block::Shape most) const;

  class OneSideWorker;
  /// Returns the scratch memory of one thread for blocks that change one side, see
  /// kernel/fused_one_side.hpp.
  OneSideWorker one_side_worker(const Model& model, Block::Shape most) const;
};

/// The scratch memory of one thread for blocks of rows. A separate class, so that programs without
/// bags do not compile the code for them.
class FusedKernel::RowWorker {
 public:
  static constexpr bool trains_in_turn = true;

  explicit RowWorker(Block::Shape most);

  template <bool with_loss>
  LossSum update(Model& model, const Block& block, float learning_rate) noexcept {
    score(model, block, learning_rate);
    return apply<with_loss>(model);
  }

  /// Does the first half of an update: computes scores, which take a while to become gradients.
  /// Does not change the model, and does not need the block afterwards. `apply` must be called
  /// before the next `score`.
  void score(Model& model, const Block& block, float learning_rate) noexcept {
    if (block.inputs.empty() || block.outputs.empty()) return;
    begin(block, learning_rate);
    if (block.in_turn) return functions_.find(model, block, scored_, filter_, maps_);
    functions_.score(model, block, scored_, filter_, maps_);
  }
  /// Does the second half, of a block in turn all of it; does nothing if there is no block.
  template <bool with_loss>
  LossSum apply(Model& model) noexcept {
    if (scored_.n == 0) return {};  // announced rows are kept for the next update
    scored_.ahead = ahead_.take();
    const LossSum loss = scored_.in_turn > 0 ? functions_.train_in_turn[with_loss](model, scored_)
                                             : functions_.apply[with_loss](model, scored_);
    scored_.n = 0;
    return loss;
  }

  /// Announces rows that later blocks need; they are prefetched during the next second half.
  void prefetch(const Model& model, std::span<const RowId> inputs,
                std::span<const RowId> outputs) noexcept {
    ahead_.add(model, inputs, outputs, maps_);
  }

  /// Sets the private copies of rows, see kernel/concept.hpp.
  void map_rows(const detail::RowMaps& maps) noexcept { maps_ = maps; }

 protected:  // for kernel/fused_row_ada_grad.hpp
  friend class FusedKernel::Worker;

  void begin(const Block& block, float learning_rate) noexcept {
    const std::size_t inputs = block.input_count();
    const simd::GradientLayout layout = simd::GradientLayout::of(block);
    scored_ = {rows_.data(),
               rows_.data() + inputs,
               gradients_.data(),
               gradients_.data() + layout.tail(),
               layout.n_of_four(),
               change_.data(),
               layout.n,
               layout.m,
               weights_.of(block),
               learning_rate,
               false,
               {},
               block.in_turn ? inputs : 0};
  }
  /// Does the first half of an update of rows that `staging` finds.
  void score_staged(Model& model, const Block& block, float learning_rate,
                    simd::Staging& staging) noexcept {
    begin(block, learning_rate);
    staging.gather(model, block, scored_.inputs, scored_.outputs);
    scored_.may_repeat = (block.update != Block::Sides::inputs && filter_.repeats(block.outputs)) ||
                         (!staging.has_bags() && filter_.repeats(block.inputs));
    functions_.score_staged(scored_, model.input.stride());
  }

  simd::FusedFunctions functions_ = simd::fused_functions();
  simd::WeightLayout weights_;
  simd::FusedBlock scored_{};  // n is 0 if there is none
  std::vector<float*> rows_;   // [N] inputs, then [M] outputs of the current block
  RowMatrix gradients_;
  RowMatrix change_;  // [N x 32] of an update over several tiles
  simd::RepeatFilter filter_;
  simd::RowsAhead ahead_;
  detail::RowMaps maps_;
};

/// The scratch memory of one thread.
class FusedKernel::Worker {
 public:
  Worker(const Model& model, Block::Shape most);

  template <bool with_loss>
  LossSum update(Model& model, const Block& block, float learning_rate) noexcept {
    score(model, block, learning_rate);
    return apply<with_loss>(model);
  }

  /// Do the two halves of an update, as in RowWorker.
  void score(Model& model, const Block& block, float learning_rate) noexcept {
    if (block.inputs.empty() || block.outputs.empty()) return;
    if ((is_bag_ = simd::BagUpdate::takes(block)))
      return bag_.score(model, block, learning_rate, rows_.filter_);
    if (block.paired > 0) return score_all_pairs(model, block, learning_rate);
    if (!simd::Staging::is_needed(block)) return rows_.score(model, block, learning_rate);
    rows_.score_staged(model, block, learning_rate, staging_);
  }
  template <bool with_loss>
  LossSum apply(Model& model) noexcept {
    if (std::exchange(is_bag_, false)) return bag_.apply<with_loss>(rows_.ahead_.take());
    const LossSum loss = rows_.apply<with_loss>(model);
    staging_.scatter();
    return loss;
  }

  void prefetch(const Model& model, std::span<const RowId> inputs,
                std::span<const RowId> outputs) noexcept {
    rows_.prefetch(model, inputs, outputs);
  }

  void map_rows(const detail::RowMaps& maps) noexcept {
    rows_.map_rows(maps);
    bag_.map_rows(maps);
    staging_.map_rows(maps);
  }

 private:
  /// Scores a block of pairs as a block of all pairs, most of which have weight 0.
  void score_all_pairs(Model& model, const Block& block, float learning_rate) noexcept {
    simd::fill_pair_weights(block, all_weights_.data());
    Block all = block;
    all.paired = 0;
    all.weights = {std::span(all_weights_).first(block.inputs.size() * block.outputs.size())};
    score(model, all, learning_rate);
  }

  RowWorker rows_;
  simd::BagUpdate bag_;
  bool is_bag_ = false;
  simd::Staging staging_;
  std::vector<float> all_weights_;  // [M x N] of pairs
};

inline FusedKernel::Worker FusedKernel::worker(const Model& model, Block::Shape most) const {
  return {model, most};
}
inline FusedKernel::RowWorker FusedKernel::row_worker(const Model&, Block::Shape most) const {
  return RowWorker(most);
}

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION FusedKernel::RowWorker::RowWorker(Block::Shape most)
    : weights_(most),
      rows_(most.inputs + most.outputs),
      gradients_(1, simd::GradientLayout::most(most)),
      change_(most.inputs, 32),
      ahead_(most) {}

WORDLOOM_FUNCTION FusedKernel::Worker::Worker(const Model& model, Block::Shape most)
    : rows_(most),
      bag_(most, model.dimension()),
      staging_(most, model.dimension()),
      all_weights_(most.inputs * most.outputs + simd::vector_slack) {}

#endif

static_assert(UpdateKernel<FusedKernel>);

}}  // namespace wordloom::WORDLOOM_ABI
