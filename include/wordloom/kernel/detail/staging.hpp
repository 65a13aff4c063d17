#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/row_matrix.hpp>
#include <wordloom/kernel/row_map.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/block.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd {

/// The vector code of Staging.
struct StagingFunctions {
  /// Writes the mean of (rows, count, stride) to the last argument.
  void (*mean_of_rows)(const float* const*, std::size_t, std::size_t, float*) noexcept;
  /// Adds scale x (after - before) to the rows (first, last, scale, after, before, stride).
  void (*add_to_rows)(float* const*, float* const*, float, const float*, const float*,
                      std::size_t) noexcept;
};
StagingFunctions staging_functions();

}}}  // namespace wordloom::WORDLOOM_ABI::simd

#ifndef WORDLOOM_PRECOMPILED
#include <wordloom/simd/detail/row_access.hpp>
#include <wordloom/simd/instruction_set.hpp>
#define WORDLOOM_VECTOR_CODE <wordloom/kernel/detail/staging.inl>
#include <wordloom/simd/detail/for_each_target.inl>
inline wordloom::simd::StagingFunctions wordloom::simd::staging_functions() {
  return WORDLOOM_OF_TARGET(staging_table());
}
#endif

namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd {

/// Prepares blocks for kernels that know rows only. If an input is a bag, the kernel works on a
/// scratch row, the mean of the bag, and the change of that row is added to the members; if a block
/// updates one side, the kernel works on copies of the rows of the other side, whose changes are
/// dropped. Other blocks are passed on: their rows are those of the model. The scratch memory of
/// one thread.
class Staging {
 public:
  Staging(Block::Shape most, std::size_t dimension)
      : members_((std::max)(most.inputs, most.inputs * most.members)),
        ends_(most.inputs),
        shares_(most.inputs),
        inputs_(most.inputs, dimension),
        means_(most.inputs, dimension),
        outputs_(most.outputs, dimension) {}

  static bool is_needed(const Block& block) noexcept {
    return block.has_bags() || block.update != Block::Sides::both;
  }

  /// Sets the private copies of rows, see kernel/concept.hpp.
  void map_rows(const detail::RowMaps& maps) noexcept { maps_ = maps; }

  /// Points `inputs` [N] and `outputs` [M] at the rows that the kernel works on.
  void gather(Model& model, const Block& block, float** inputs, float** outputs) noexcept {
    bags_ = block.has_bags() || block.update == Block::Sides::outputs ? block.input_count() : 0;
    if (bags_ > 0)
      pool(model.input, block, inputs);
    else
      for (std::size_t i = 0; i < block.inputs.size(); ++i)
        inputs[i] = model.input.row_data(maps_.input(block.inputs[i]));
    for (std::size_t j = 0; j < block.outputs.size(); ++j) {
      outputs[j] = model.output.row_data(maps_.output(block.outputs[j]));
      if (block.update != Block::Sides::inputs) continue;
      float* const original = outputs[j];
      outputs[j] = outputs_.row_data(j);
      functions_.mean_of_rows(&original, 1, outputs_.stride(), outputs[j]);
    }
    is_open_ = bags_ > 0 && block.update != Block::Sides::outputs;
  }

  /// Returns whether inputs are scratch rows, of which no two are the same.
  bool has_bags() const noexcept { return bags_ > 0; }

  /// Adds the changes of the scratch rows to the members of their bags.
  void scatter() noexcept {
    if (!std::exchange(is_open_, false)) return;
    for (std::size_t i = 0, first = 0; i < bags_; first = ends_[i++])
      functions_.add_to_rows(members_.data() + first, members_.data() + ends_[i], shares_[i],
                             inputs_.row_data(i), means_.row_data(i), means_.stride());
  }

 protected:                                            // for kernel/fused_row_ada_grad.hpp
  static constexpr std::size_t all = ~std::size_t{0};  // no member is left out

  /// Computes the means of the bags, or copies the inputs if they are rows.
  void pool(RowMatrix& matrix, const Block& block, float** inputs) noexcept {
    std::size_t size = 0;
    for (std::size_t i = 0; i < bags_; ++i) {
      const std::size_t first = size;
      const std::size_t left_out = i < block.left_out.size() ? block.left_out[i] : all;
      std::size_t k = 0, end = block.inputs.size();
      if (block.left_out.empty()) {
        k = first;
        end = block.bag_ends.empty() ? i + 1 : block.bag_ends[i];
      }
      for (; k < end; ++k)
        if (k != left_out) members_[size++] = matrix.row_data(maps_.input(block.inputs[k]));
      ends_[i] = size;
      shares_[i] = size - first == block.inputs.size()
                       ? block.share_of_all()
                       : detail::member_share(block.bag_gradient, static_cast<float>(size - first));
      inputs[i] = inputs_.row_data(i);
      functions_.mean_of_rows(members_.data() + first, size - first, means_.stride(), inputs[i]);
      std::copy_n(inputs[i], means_.stride(), means_.row_data(i));
    }
  }

  StagingFunctions functions_ = staging_functions();
  detail::RowMaps maps_;
  std::vector<float*> members_;    // rows of all bags, one bag after the other
  std::vector<std::size_t> ends_;  // [N] ends of the bags in `members_`
  std::vector<float> shares_;      // [N] of a gradient, for a member
  RowMatrix inputs_, means_;       // [N x D] scratch rows, and as they were
  RowMatrix outputs_;              // [M x D] copies of rows that must not change
  std::size_t bags_ = 0;           // N
  bool is_open_ = false;
};

}}}  // namespace wordloom::WORDLOOM_ABI::simd
