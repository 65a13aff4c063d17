#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/kernel/detail/pair_weights.hpp>
#include <wordloom/kernel/detail/row_ada_grad_update.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/optimizer/concept.hpp>
#include <wordloom/optimizer/row_ada_grad.hpp>
#include <wordloom/sampler/block.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The scales of all rows under RowAdaGrad, which threads share.
class RowScales {
 public:
  RowScales(const RowAdaGrad::Run& optimizer, const Model& model, std::size_t every)
      : optimizer_(optimizer), every_(every) {
    fill(Model::Side::input, model.input.rows());
    if (!model.has_one_matrix()) fill(Model::Side::output, model.output.rows());
  }

  std::size_t every() const noexcept { return every_; }

  /// Returns the scales of one side [rows], from which threads read and to which measure() writes.
  float* of(const Model& model, Model::Side side) noexcept {
    return scales_[model.has_one_matrix() ? 0 : static_cast<std::size_t>(side)].data();
  }

  /// Prefetches the part of a row's state that measure() reads.
  void prefetch_sum(const Model& model, Model::Side side, RowId id) const noexcept {
    optimizer_.prefetch(model.has_one_matrix() ? Model::Side::input : side, id);
  }

  /// Adds a change of a row, |change|^2 at `rate`, measured in one of `every` blocks, to its sum.
  void measure(const Model& model, Model::Side side, RowId id, float square, float rate) noexcept {
    if (model.has_one_matrix()) side = Model::Side::input;
    float& scale = scales_[static_cast<std::size_t>(side)].data()[id];
    const float step = rate * read_racing(&scale);
    if (!(step > 0)) return;
    float* const sum = optimizer_.sum(side, id);
    const float weight = static_cast<float>(every_) * optimizer_.per_column();
    write_racing(sum, read_racing(sum) + square / (step * step) * weight);
    write_racing(&scale, optimizer_.scale(side, id));
  }

 private:
  void fill(Model::Side side, std::size_t rows) {
    RowMatrix& scales = scales_[static_cast<std::size_t>(side)];
    scales = RowMatrix(1, rows);
    for (std::size_t i = 0; i < rows; ++i)
      scales.data()[i] = optimizer_.scale(side, static_cast<RowId>(i));
  }

  RowAdaGrad::Run optimizer_;
  std::size_t every_;
  std::array<RowMatrix, 2> scales_;  // [1 x R]
};

/// The rows of a block under RowAdaGrad, one after the other: inputs, or members of a bag, then
/// outputs. The scratch of one thread.
class AdaptiveRows {
 public:
  AdaptiveRows(RowScales& all, const Model& model, Block::Shape most)
      : all_(&all),
        ids_((std::max)(most.inputs, most.members) + most.outputs),
        rows_(ids_.size()),
        scales_(1, rows_.size() + simd::vector_slack),
        before_(rows_.size(), model.dimension()),
        chance_(static_cast<std::uint32_t>((std::uint64_t{1} << 32) / all.every() - 1)) {}

  /// Begins a block.
  void begin() noexcept { count_ = inputs_ = 0; }
  void add(const Model& model, Model::Side side, std::span<const RowId> ids) noexcept {
    const float* const from = all_->of(model, side);
    RowId* const own = ids_.data() + count_;
    float* const scales = scales_.data() + count_;
    for (std::size_t k = 0; k < ids.size(); ++k) {
      own[k] = ids[k];
      scales[k] = read_racing(from + ids[k]);
    }
    end(side, ids.size());
  }
  /// Adds scratch rows, which are changed by their gradients.
  void add_scratch(Model::Side side, std::size_t count) noexcept {
    std::fill_n(ids_.data() + count_, count, none);
    std::fill_n(scales_.data() + count_, count, 1.0f);
    end(side, count);
  }

  const float* scales() const noexcept { return scales_.data(); }

  [[gnu::always_inline]] void prefetch(const Model& model, std::span<const RowId> inputs,
                                       std::span<const RowId> outputs) noexcept {
    const float* const of_inputs = all_->of(model, Model::Side::input);
    const float* const of_outputs = all_->of(model, Model::Side::output);
    for (const RowId id : inputs) __builtin_prefetch(of_inputs + id);
    for (const RowId id : outputs) __builtin_prefetch(of_outputs + id);
  }

  /// Returns whether the block is measured. A hash of two ids and of a score decides, so that a
  /// resumed run has the bits of an uninterrupted one.
  bool is_measured(float score) const noexcept {
    std::uint32_t hash = ids_[0] + 0x9E3779B1u * ids_[count_ - 1];
    hash = (hash ^ std::bit_cast<std::uint32_t>(score)) * 0x85EBCA6Bu;
    return (hash ^ hash >> 15) * 0xC2B2AE35u <= chance_;
  }

  /// Copies the rows of a block that is measured, before it changes them.
  [[gnu::noinline]] void remember(const Model& model, const float* const* inputs,
                                  const float* const* outputs) noexcept {
    for (std::size_t r = 0; r < count_; ++r) {
      rows_[r] = r < inputs_ ? inputs[r] : outputs[r - inputs_];
      if (ids_[r] != none) all_->prefetch_sum(model, side(r), ids_[r]);
      functions_.copy(rows_[r], before_.row_data(r), before_.stride());
    }
  }
  /// Measures the changes of the copied rows.
  [[gnu::noinline]] void measure(const Model& model, float rate, bool may_repeat) noexcept {
    for (std::size_t r = 0; r < count_; ++r) {
      const auto first = rows_.begin(), own = first + static_cast<std::ptrdiff_t>(r);
      if (ids_[r] == none || (may_repeat && std::find(first, own, rows_[r]) != own)) continue;
      all_->measure(model, side(r), ids_[r],
                    functions_.squared_change(rows_[r], before_.row_data(r), before_.stride()),
                    rate);
    }
  }

  const simd::RowAdaGradFunctions& functions() const noexcept { return functions_; }

 private:
  static constexpr RowId none = ~RowId{0};

  Model::Side side(std::size_t r) const noexcept {
    return r < inputs_ ? Model::Side::input : Model::Side::output;
  }
  void end(Model::Side side, std::size_t count) noexcept {
    count_ += count;
    if (side == Model::Side::input) inputs_ = count_;
  }

  RowScales* all_;
  simd::RowAdaGradFunctions functions_ = simd::row_ada_grad_functions();
  std::vector<RowId> ids_;          // [R], `none` for scratch rows
  std::vector<const float*> rows_;  // [R] of a block that is measured
  RowMatrix scales_;                // [1 x R]
  RowMatrix before_;                // [R x D]
  std::uint32_t chance_;
  std::size_t count_ = 0, inputs_ = 0;
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
