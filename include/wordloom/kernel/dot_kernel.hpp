#pragma once
#include <cstddef>
#include <vector>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/kernel/pair_weights.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/objective/logistic.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/sampler/block.hpp>
#include <wordloom/simd/target.hpp>

namespace wordloom::simd {

/// A block as DotKernel works on it.
struct DotBlock {
  float* const* inputs;       // [n] rows
  float* const* outputs;      // [m] rows
  float* gradients;           // [m x n] and slack
  const float* pair_weights;  // likewise
  float* change;              // [n x 16]
  std::size_t n, m;
};

}  // namespace wordloom::simd

#define WORDLOOM_VECTOR_CODE <wordloom/kernel/dot_update.inl>
#include <wordloom/simd/for_each_target.inl>

namespace wordloom {

/// The arithmetic of word2vec: a dot product for each score and a scaled row addition for each
/// gradient (BLAS level 1), on whole vectors. Takes blocks of any shape.
class DotKernel {
  using Update = LossSum (*)(const simd::DotBlock&, std::size_t, float) noexcept;

 public:
  using Consumes = Block;

  /// Throws as target() does.
  DotKernel(const Hyperparameters&, BlockShape most)
      : with_loss_(WORDLOOM_TARGET_FUNCTION(Update, dot_update<true>)),
        without_loss_(WORDLOOM_TARGET_FUNCTION(Update, dot_update<false>)),
        gradients_(most.inputs * most.outputs + simd::vector_slack),
        pair_weights_(gradients_.size()),
        inputs_(most.inputs),
        outputs_(most.outputs),
        input_change_(most.inputs * 16) {}

  template <bool with_loss>
  LossSum update(Model& model, const Block& block, float learning_rate) noexcept {
    const std::size_t n = block.inputs.size();
    const std::size_t m = block.outputs.size();
    for (std::size_t i = 0; i < n; ++i) inputs_[i] = model.input.row_data(block.inputs[i]);
    for (std::size_t j = 0; j < m; ++j) outputs_[j] = model.output.row_data(block.outputs[j]);
    simd::fill_pair_weights(block, pair_weights_.data());
    return (with_loss ? with_loss_ : without_loss_)(
        {inputs_.data(), outputs_.data(), gradients_.data(), pair_weights_.data(),
         input_change_.data(), n, m},
        model.input.stride(), learning_rate);
  }

 private:
  Update with_loss_, without_loss_;
  std::vector<float> gradients_;          // [M x N] scores, then gradients
  std::vector<float> pair_weights_;       // [M x N]
  std::vector<float*> inputs_, outputs_;  // [N], [M] rows of the block at hand
  std::vector<float> input_change_;       // [N x 16]
};

static_assert(UpdateKernel<DotKernel>);

}  // namespace wordloom
