#pragma once
#include <cstddef>
#include <vector>

#include <wordloom/core/row_matrix.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/kernel/detail/pair_weights.hpp>
#include <wordloom/kernel/detail/staging.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/sampler/block.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd {

/// A block of n inputs and m outputs as pointers to rows, the form that DotKernel trains.
struct DotBlock {
  float* const* inputs;       // [n] rows
  float* const* outputs;      // [m] rows
  float* gradients;           // [m x n] + vector_slack
  const float* pair_weights;  // [m x n] + vector_slack
  float* change;              // [n x 16]: one vector of each input
  std::size_t n, m;
};

/// The vector code of DotKernel; the index of both arrays is `with_loss`.
struct DotFunctions {
  /// Applies the gradients to the rows (block, stride, learning rate).
  LossSum (*update[2])(const DotBlock&, std::size_t, float) noexcept;
  /// Writes the gradients for a learning rate of 1 to two matrices instead (block, gradients of the
  /// inputs [n x D], of the outputs [m x D], stride). Skips a side whose matrix is null.
  LossSum (*gradients[2])(const DotBlock&, RowMatrix*, RowMatrix*, std::size_t) noexcept;
};
DotFunctions dot_functions();

}}}  // namespace wordloom::WORDLOOM_ABI::simd

#ifndef WORDLOOM_PRECOMPILED
#include <wordloom/objective/detail/logistic.hpp>
#include <wordloom/simd/instruction_set.hpp>
#define WORDLOOM_VECTOR_CODE <wordloom/kernel/detail/dot_update.inl>
#include <wordloom/simd/detail/for_each_target.inl>
inline wordloom::simd::DotFunctions wordloom::simd::dot_functions() {
  return WORDLOOM_OF_TARGET(dot_table());
}
#endif

namespace wordloom { inline namespace WORDLOOM_ABI {

/// The arithmetic of word2vec: a dot product for each pair of rows and scaled additions of rows for
/// the gradients (as in BLAS level 1), in vector code. Accepts blocks of any shape.
struct DotKernel {
  static constexpr Block::Features honours = {
      .bags = true, .weights = true, .one_side = true, .pairs = true};
  static constexpr bool keeps_nothing_by_row = true;

  class Worker;
  /// Returns the scratch memory of one thread, for blocks up to `most`. Throws as
  /// InstructionSet::chosen() does.
  Worker worker(const Model& model, Block::Shape most) const;
};

/// The scratch memory of one thread, for blocks of up to N inputs and M outputs.
class DotKernel::Worker {
 public:
  Worker(const Model& model, Block::Shape most)
      : staging_(most, model.dimension()),
        gradients_(most.inputs * most.outputs + simd::vector_slack),
        weights_(gradients_.size()),
        inputs_(most.inputs),
        outputs_(most.outputs),
        input_change_(most.inputs * 16) {}

  template <bool with_loss>
  LossSum update(Model& model, const Block& block, float learning_rate) noexcept {
    const std::size_t n = block.input_count(), m = block.outputs.size();
    const std::size_t stride = model.input.stride();
    staging_.gather(model, block, inputs_.data(), outputs_.data());
    simd::fill_pair_weights(block, weights_.data());
    const LossSum loss =
        functions_.update[with_loss]({inputs_.data(), outputs_.data(), gradients_.data(),
                                      weights_.data(), input_change_.data(), n, m},
                                     stride, learning_rate);
    staging_.scatter();
    return loss;
  }

  void map_rows(const detail::RowMaps& maps) noexcept { staging_.map_rows(maps); }

  /// Writes the gradients of a block without bags instead of applying them: see kernel/concept.hpp.
  template <bool with_loss>
  LossSum gradients(Model& model, const Block& block, RowMatrix& inputs,
                    RowMatrix& outputs) noexcept {
    const std::size_t n = block.inputs.size(), m = block.outputs.size();
    for (std::size_t i = 0; i < n; ++i) inputs_[i] = model.input.row_data(block.inputs[i]);
    for (std::size_t j = 0; j < m; ++j) outputs_[j] = model.output.row_data(block.outputs[j]);
    simd::fill_pair_weights(block, weights_.data());
    return functions_.gradients[with_loss](
        {inputs_.data(), outputs_.data(), gradients_.data(), weights_.data(), input_change_.data(),
         n, m},
        block.update == Block::Sides::outputs ? nullptr : &inputs,
        block.update == Block::Sides::inputs ? nullptr : &outputs, model.input.stride());
  }

 private:
  simd::DotFunctions functions_ = simd::dot_functions();
  simd::Staging staging_;
  std::vector<float> gradients_;          // [M x N] scores, then gradients
  std::vector<float> weights_;            // [M x N]
  std::vector<float*> inputs_, outputs_;  // [N], [M] rows of the current block
  std::vector<float> input_change_;       // [N x 16]
};

inline DotKernel::Worker DotKernel::worker(const Model& model, Block::Shape most) const {
  return {model, most};
}

static_assert(UpdateKernel<DotKernel>);

}}  // namespace wordloom::WORDLOOM_ABI
