#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <wordloom/core/row_matrix.hpp>
#include <wordloom/kernel/detail/fused_update.hpp>
#include <wordloom/kernel/detail/pair_weights.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/sampler/block.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd {

/// A block that changes one side, in the form that FusedKernel trains. The rows to update are the
/// inputs of `block`, whichever matrix they belong to; its outputs are read only. Each input is
/// scored against all outputs and, with `has_pairs`, against its partner.
struct OneSideBlock {
  FusedBlock block;
  bool has_pairs;
  float* const* partners;     // [n] rows
  float* of_pairs;            // [n] and slack: scores, then gradients
  const float* pair_weights;  // [n] and slack
  float* const* targets;      // [n] destinations of the updated rows: the rows themselves, or
  bool adds;                  // false: rows for the changes alone, which start from `zeros`
  const float* zeros;         // [64]
};

/// The vector code of OneSideUpdate (block, stride), in two halves, the second indexed by
/// `with_loss`.
struct OneSideFunctions {
  void (*score)(const OneSideBlock&, std::size_t) noexcept;
  LossSum (*apply[2])(const OneSideBlock&, std::size_t) noexcept;
};
OneSideFunctions one_side_functions();

}}}  // namespace wordloom::WORDLOOM_ABI::simd

#ifndef WORDLOOM_PRECOMPILED
#define WORDLOOM_VECTOR_CODE <wordloom/kernel/detail/one_side_update.inl>
#include <wordloom/simd/detail/for_each_target.inl>
inline wordloom::simd::OneSideFunctions wordloom::simd::one_side_functions() {
  return WORDLOOM_OF_TARGET(one_side_table());
}
#endif

namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd {

/// The update of a block that changes rows of one side, no row twice: two products where a block of
/// both sides has three, and no product between the rows of different pairs. The scratch memory of
/// one thread.
class OneSideUpdate {
 public:
  OneSideUpdate(Block::Shape most, std::size_t dimension)
      : stride_((dimension + 15) / 16 * 16),
        rows_(most.inputs + most.outputs),
        changes_((std::max)(most.inputs, most.outputs)),
        gradients_(1, GradientLayout::most(either_side(most))),
        weights_(1, GradientLayout::most(either_side(most))),
        pairs_(2, (std::max)(most.inputs, most.outputs) + vector_slack),
        zeros_(1, 64) {}

  static bool takes(const Block& block, RepeatFilter& filter) noexcept {
    if (block.inputs.empty() || block.outputs.empty()) return false;
    return block.update != Block::Sides::both && !block.has_bags() &&
           !filter.repeats(block.update == Block::Sides::inputs ? block.inputs : block.outputs);
  }

  /// Does the first half of an update. Does not need the block afterwards.
  void score(Model& model, const Block& block, float learning_rate) noexcept {
    const bool inputs_move = block.update == Block::Sides::inputs;
    const auto moving = inputs_move ? block.inputs : block.outputs;
    const auto standing = inputs_move ? block.outputs : block.inputs;
    RowMatrix& own = inputs_move ? model.input : model.output;
    RowMatrix& other = inputs_move ? model.output : model.input;
    const std::size_t n = moving.size();
    // Partners are scored separately if all updated rows have one.
    const std::size_t pairs = block.paired == n ? n : 0;
    for (std::size_t i = 0; i < n; ++i) rows_[i] = own.row_data(moving[i]);
    for (std::size_t j = 0; j < standing.size(); ++j) rows_[n + j] = other.row_data(standing[j]);
    const GradientLayout layout{n, standing.size() - pairs};
    lay_out(block, layout, pairs);
    scored_ = {.block = {rows_.data(),
                         rows_.data() + n + pairs,
                         gradients_.data(),
                         gradients_.data() + layout.tail(),
                         layout.n_of_four(),
                         nullptr,
                         n,
                         layout.m,
                         {weights_.data(), weights_.data() + layout.tail(), 0},
                         learning_rate,
                         false,
                         {}},
               .has_pairs = pairs > 0,
               .partners = rows_.data() + n,
               .of_pairs = pairs_.row_data(0),
               .pair_weights = pairs_.row_data(1),
               .targets = rows_.data(),
               .adds = true,
               .zeros = zeros_.data()};
    functions_.score(scored_, own.stride());
  }

  /// Does the second half. `changes`: null, or the matrix [n x D] that receives the changes instead
  /// of the rows.
  template <bool with_loss>
  LossSum apply(std::span<const float* const> ahead, RowMatrix* changes = nullptr) noexcept {
    scored_.block.ahead = ahead;
    if (changes != nullptr) {
      for (std::size_t i = 0; i < scored_.block.n; ++i) changes_[i] = changes->row_data(i);
      scored_.targets = changes_.data();
      scored_.adds = false;
    }
    return functions_.apply[with_loss](scored_, stride_);
  }

 private:
  /// The properties of a block that determine the weights.
  struct Key {
    const float* values = nullptr;
    std::uint64_t version = 0;
    std::size_t n = 0, m = 0, pairs = 0, positives = 0;
    Block::Sides update = Block::Sides::both;
    bool operator==(const Key&) const = default;
  };

  /// Returns a shape with room for the rows of either side.
  static Block::Shape either_side(Block::Shape most) {
    const std::size_t rows = (std::max)(most.inputs, most.outputs);
    return {.inputs = rows, .outputs = rows};
  }

  /// Lays the weights out unless they are equal to those of the block before.
  void lay_out(const Block& block, const GradientLayout& layout, std::size_t pairs) noexcept {
    const Key key{.values = block.weights.values.data(),
                  .version = block.weights.version,
                  .n = layout.n,
                  .m = layout.m,
                  .pairs = block.paired,
                  .positives = block.positives,
                  .update = block.update};
    if (key == filled_ && (block.weights.empty() || key.version != 0)) return;
    filled_ = key;
    std::fill_n(weights_.data(), layout.tail() + layout.tail_count() + vector_slack, 0.0f);
    for (std::size_t i = 0; i < layout.n; ++i)
      for (std::size_t j = 0; j < layout.m; ++j)
        weights_.data()[layout.place(i, j)] = weight_of(block, i, pairs + j);
    float* const of_pairs = pairs_.row_data(1);
    for (std::size_t i = 0; i < pairs; ++i) of_pairs[i] = weight_of_pair(block, i, i);
    std::fill_n(of_pairs + pairs, vector_slack, 0.0f);
  }

  /// Returns the weight of updated row i with fixed row j.
  static float weight_of(const Block& block, std::size_t i, std::size_t j) noexcept {
    if (block.paired > 0) return weight_of_pair(block, i, j);
    const bool inputs_move = block.update == Block::Sides::inputs;
    const std::size_t output = inputs_move ? j : i, input = inputs_move ? i : j;
    if (!block.weights.empty()) return block.weights.values[output * block.inputs.size() + input];
    return output < block.positives ? 1.0f : -1.0f;
  }

  OneSideFunctions functions_ = one_side_functions();
  std::size_t stride_;
  std::vector<float*> rows_;     // [n] that are updated, [m] that are read only
  std::vector<float*> changes_;  // [n] destinations of changes that are not added to the rows
  RowMatrix gradients_, weights_;
  RowMatrix pairs_;  // [2 x n] scores or gradients, and weights, of pairs
  RowMatrix zeros_;  // as many as a tile has columns
  Key filled_;       // of the weights
  OneSideBlock scored_{};
};

}}}  // namespace wordloom::WORDLOOM_ABI::simd
