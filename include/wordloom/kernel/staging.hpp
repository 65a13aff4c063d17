#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/row_matrix.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/block.hpp>
#include <wordloom/simd/row_access.hpp>
#include <wordloom/simd/target.hpp>

#define WORDLOOM_VECTOR_CODE <wordloom/kernel/staging.inl>
#include <wordloom/simd/for_each_target.inl>

namespace wordloom::simd {

/// Stands between a block and kernels that know rows only. Where an input is a bag, the kernel
/// works on a scratch row, the mean of the bag, and the change of that row is added to the members;
/// where a block updates one side, the kernel works on copies of the rows of the other side, whose
/// changes are dropped. Other blocks pass: their rows are those of the model. The scratch of one
/// thread.
class Staging {
  using MeanOfRows = void (*)(const float* const*, const float* const*, float, float*, float*,
                              std::size_t) noexcept;
  using AddToRows = void (*)(float* const*, float* const*, float, const float*, const float*,
                             std::size_t) noexcept;

  using MeansWithoutOne = void (*)(const float* const*, const float* const*, const std::uint32_t*,
                                   std::size_t, float, RowMatrix&, RowMatrix&) noexcept;
  using AddWithoutOne = void (*)(float* const*, float* const*, const std::uint32_t*, std::size_t,
                                 float, const RowMatrix&, const RowMatrix&) noexcept;

 public:
  Staging(BlockShape most, std::size_t dimension)
      : mean_of_rows_(WORDLOOM_TARGET_FUNCTION(MeanOfRows, mean_of_rows)),
        add_to_rows_(WORDLOOM_TARGET_FUNCTION(AddToRows, add_to_rows)),
        means_without_one_(WORDLOOM_TARGET_FUNCTION(MeansWithoutOne, means_without_one)),
        add_without_one_(WORDLOOM_TARGET_FUNCTION(AddWithoutOne, add_without_one)),
        members_(std::max(most.members, most.inputs)),
        ends_(most.inputs),
        inputs_(most.inputs, dimension),
        means_(most.inputs, dimension),
        outputs_(most.outputs, dimension),
        dropped_(1, dimension) {}

  static bool is_needed(const Block& block) noexcept {
    return block.has_bags() || block.update != Sides::both;
  }

  /// Points `inputs` [N] and `outputs` [M] at the rows that the kernel works on.
  void begin(Model& model, const Block& block, float** inputs, float** outputs) noexcept {
    bags_ = block.has_bags() || block.update == Sides::outputs ? block.input_count() : 0;
    if (bags_ > 0)
      pool(model.input, block, inputs);
    else
      for (std::size_t i = 0; i < block.inputs.size(); ++i)
        inputs[i] = model.input.row_data(block.inputs[i]);
    for (std::size_t j = 0; j < block.outputs.size(); ++j) {
      outputs[j] = model.output.row_data(block.outputs[j]);
      if (block.update != Sides::inputs) continue;
      float* const original = outputs[j];
      outputs[j] = outputs_.row_data(j);
      mean_of_rows_(&original, &original + 1, 1.0f, outputs[j], dropped_.data(), dropped_.stride());
    }
    is_open_ = bags_ > 0 && block.update != Sides::outputs;
  }

  /// Whether inputs are scratch rows, of which no two are the same.
  bool has_bags() const noexcept { return bags_ > 0; }

  /// Adds the changes of the scratch rows to the members of their bags.
  void finish() noexcept {
    if (!std::exchange(is_open_, false)) return;
    const auto scale = [&](std::size_t size) {
      return gradient_ == BagGradient::mean ? 1.0f / static_cast<float>(size) : 1.0f;
    };
    if (leaves_out_)
      return add_without_one_(members_.data(), members_.data() + size_, ends_.data(), bags_,
                              scale(size_ - 1), inputs_, means_);
    for (std::size_t i = 0, first = 0; i < bags_; first = ends_[i++])
      add_to_rows_(members_.data() + first, members_.data() + ends_[i], scale(ends_[i] - first),
                   inputs_.row_data(i), means_.row_data(i), means_.stride());
  }

 private:
  /// Computes the means of the bags, or copies the inputs where they are rows.
  void pool(RowMatrix& matrix, const Block& block, float** inputs) noexcept {
    size_ = block.inputs.size();
    leaves_out_ = !block.left_out.empty();
    gradient_ = block.bag_gradient;
    for (std::size_t i = 0; i < size_; ++i) members_[i] = matrix.row_data(block.inputs[i]);
    for (std::size_t i = 0; i < bags_; ++i) {
      inputs[i] = inputs_.row_data(i);
      ends_[i] = leaves_out_              ? block.left_out[i]
                 : block.bag_ends.empty() ? static_cast<std::uint32_t>(i + 1)
                                          : block.bag_ends[i];
    }
    if (leaves_out_)
      return means_without_one_(members_.data(), members_.data() + size_, ends_.data(), bags_,
                                1.0f / static_cast<float>(size_ - 1), inputs_, means_);
    for (std::size_t i = 0, first = 0; i < bags_; first = ends_[i++])
      mean_of_rows_(members_.data() + first, members_.data() + ends_[i],
                    1.0f / static_cast<float>(ends_[i] - first), inputs[i], means_.row_data(i),
                    means_.stride());
  }

  MeanOfRows mean_of_rows_;
  AddToRows add_to_rows_;
  MeansWithoutOne means_without_one_;
  AddWithoutOne add_without_one_;
  std::vector<float*> members_;      // [members] rows of all bags
  std::vector<std::uint32_t> ends_;  // [N] of the bags in `members_`, or what each leaves out
  RowMatrix inputs_, means_;         // [N x D] scratch rows, and as they were
  RowMatrix outputs_;                // [M x D] copies of rows that stay as they are
  RowMatrix dropped_;                // [1 x D]
  std::size_t bags_ = 0, size_ = 0;  // N and the number of members
  bool leaves_out_ = false, is_open_ = false;
  BagGradient gradient_ = BagGradient::mean;
};

}  // namespace wordloom::simd
