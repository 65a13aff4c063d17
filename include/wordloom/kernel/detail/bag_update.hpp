#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <wordloom/core/row_matrix.hpp>
#include <wordloom/kernel/detail/fused_update.hpp>
#include <wordloom/kernel/detail/pair_weights.hpp>
#include <wordloom/kernel/row_map.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/sampler/block.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd {

/// A block of one bag in the form that FusedKernel trains.
struct BagBlock {
  float* const* members;  // [size] rows of the bag
  std::size_t size;
  float* const* outputs;   // [m] rows
  float* const* left_out;  // [own] members that are left out for the first `own` outputs
  std::size_t m, own;
  float* mean;                 // [stride] mean of all members
  float* gradients;            // [m] and slack: scores, then gradients
  float* shares;               // [m] and slack: the share of a gradient for a member
  const float* weights;        // [m] and slack
  float* copies;               // [(m + own) x 64]
  float share, share_without;  // of a gradient, for a member of the bag, and of the bag without one
  float without_one;           // 1 / (size - 1)
  float learning_rate;
  Block::Sides update;
  bool may_repeat;  // whether an output, or a member left out, may be a duplicate
  std::span<const float* const> ahead;  // rows that later blocks need
};

/// The vector code of BagUpdate (block, stride), in two halves, as for FusedKernel.
struct BagFunctions {
  void (*score)(const BagBlock&, std::size_t) noexcept;
  LossSum (*apply[2])(const BagBlock&, std::size_t) noexcept;
};
BagFunctions bag_functions();

}}}  // namespace wordloom::WORDLOOM_ABI::simd

#ifndef WORDLOOM_PRECOMPILED
#define WORDLOOM_VECTOR_CODE <wordloom/kernel/detail/bag_update.inl>
#include <wordloom/simd/detail/for_each_target.inl>
inline wordloom::simd::BagFunctions wordloom::simd::bag_functions() {
  return WORDLOOM_OF_TARGET(bag_table());
}
#endif

namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd {

/// The update of a block whose outputs are all scored against one bag, or against that bag without
/// one member: the mean is computed once for all outputs, and their changes are summed before a
/// member receives them. The scratch memory of one thread.
class BagUpdate {
 public:
  BagUpdate(Block::Shape most, std::size_t dimension)
      : rows_(most.members + 2 * most.outputs),
        mean_(1, dimension),
        numbers_(3, most.outputs + vector_slack),
        copies_(2 * most.outputs, 64) {}

  static bool takes(const Block& block) noexcept {
    return !block.left_out.empty() || block.bag_ends.size() == 1;
  }

  /// Sets the private copies of rows, see kernel/concept.hpp.
  void map_rows(const detail::RowMaps& maps) noexcept { maps_ = maps; }

  /// Does the first half of an update.
  void score(Model& model, const Block& block, float learning_rate, RepeatFilter& filter) noexcept {
    const std::size_t size = block.inputs.size(), m = block.outputs.size();
    const std::size_t own = block.left_out.size();
    float** const outputs = rows_.data() + size;
    float** const left_out = outputs + m;
    for (std::size_t k = 0; k < size; ++k)
      rows_[k] = model.input.row_data(maps_.input(block.inputs[k]));
    for (std::size_t j = 0; j < m; ++j)
      outputs[j] = model.output.row_data(maps_.output(block.outputs[j]));
    bool may_repeat = filter.repeats(block.outputs);
    filter.begin();
    for (std::size_t j = 0; j < own; ++j) {
      left_out[j] = rows_[block.left_out[j]];
      may_repeat |= filter.seen(block.inputs[block.left_out[j]]);
    }
    float* const weights = numbers_.row_data(2);
    fill_weights(block, 1, weights);
    const float others = static_cast<float>(size) - 1.0f;
    scored_ = {.members = rows_.data(),
               .size = size,
               .outputs = outputs,
               .left_out = left_out,
               .m = m,
               .own = own,
               .mean = mean_.data(),
               .gradients = numbers_.row_data(0),
               .shares = numbers_.row_data(1),
               .weights = weights,
               .copies = copies_.data(),
               .share = block.share_of_all(),
               .share_without = own > 0 ? detail::member_share(block.bag_gradient, others) : 0.0f,
               .without_one = own > 0 ? 1.0f / others : 0.0f,
               .learning_rate = learning_rate,
               .update = block.update,
               .may_repeat = may_repeat,
               .ahead = {}};
    functions_.score(scored_, mean_.stride());
  }

  /// Does the second half; `ahead`: rows that later blocks need.
  template <bool with_loss>
  LossSum apply(std::span<const float* const> ahead) noexcept {
    scored_.ahead = ahead;
    return functions_.apply[with_loss](scored_, mean_.stride());
  }

 protected:  // for kernel/fused_row_ada_grad.hpp
  BagFunctions functions_ = bag_functions();
  detail::RowMaps maps_;
  std::vector<float*> rows_;  // members, outputs, and the members that are left out
  RowMatrix mean_;            // [1 x D]
  RowMatrix numbers_;         // [3 x M] gradients, shares, weights
  RowMatrix copies_;          // [2 M x 64]
  BagBlock scored_{};
};

}}}  // namespace wordloom::WORDLOOM_ABI::simd
