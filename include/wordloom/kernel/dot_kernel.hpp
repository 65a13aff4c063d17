#pragma once
#include <cstddef>
#include <vector>

#include <wordloom/concepts.hpp>
#include <wordloom/core/block.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/loss.hpp>
#include <wordloom/core/model.hpp>
#include <wordloom/core/simd.hpp>
#include <wordloom/kernel/gradient.hpp>
#include <wordloom/kernel/row_access.hpp>

namespace wordloom {

/// The arithmetic of word2vec: a dot product for each score and a scaled row addition for each
/// gradient (BLAS level 1), on whole vectors. Takes blocks of any shape.
class DotKernel {
 public:
  using Consumes = Block;

  DotKernel(const Hyperparameters& parameters, BlockShape most)
      : gradients_(most.inputs * most.outputs + simd::gradient_slack),
        inputs_(most.inputs),
        outputs_(most.outputs),
        input_change_(most.inputs * simd::hn::Lanes(simd::RowTag())) {
    static_cast<void>(parameters);
  }

  template <bool with_loss>
  LossSum update(Model& model, const Block& block, float learning_rate) noexcept {
    namespace hn = simd::hn;
    const simd::RowTag d;
    const std::size_t lanes = hn::Lanes(d);
    const std::size_t n = block.inputs.size();
    const std::size_t m = block.outputs.size();
    const std::size_t stride = model.input.stride();
    for (std::size_t i = 0; i < n; ++i) inputs_[i] = model.input.row_data(block.inputs[i]);
    for (std::size_t j = 0; j < m; ++j) outputs_[j] = model.output.row_data(block.outputs[j]);

    float* const g = gradients_.data();  // [m x n]
    for (std::size_t j = 0; j < m; ++j)
      for (std::size_t i = 0; i < n; ++i) g[j * n + i] = dot(inputs_[i], outputs_[j], stride);
    const LossSum loss = simd::to_gradients<with_loss>(g, block, learning_rate);

    // Column by column of the rows: both changes are computed from the old values of a column
    // before either is added, so that a row that stands in the block twice gets both.
    for (std::size_t c = 0; c < stride; c += lanes) {
      for (std::size_t i = 0; i < n; ++i) {
        auto change = hn::Zero(d);
        for (std::size_t j = 0; j < m; ++j)
          change = hn::MulAdd(hn::Set(d, g[j * n + i]), simd::load_row(d, outputs_[j] + c), change);
        hn::StoreU(change, d, &input_change_[i * lanes]);
      }
      for (std::size_t j = 0; j < m; ++j) {
        auto change = hn::Zero(d);
        for (std::size_t i = 0; i < n; ++i)
          change = hn::MulAdd(hn::Set(d, g[j * n + i]), simd::load_row(d, inputs_[i] + c), change);
        add(d, change, outputs_[j] + c);
      }
      for (std::size_t i = 0; i < n; ++i)
        add(d, hn::LoadU(d, &input_change_[i * lanes]), inputs_[i] + c);
    }
    return loss;
  }

 private:
  template <class D>
  static HWY_INLINE void add(D d, simd::hn::Vec<D> change, float* row) {
    simd::store_row(d, simd::hn::Add(simd::load_row(d, row), change), row);
  }

  /// Over `stride` floats, a multiple of 16: the padding is zero.
  static HWY_INLINE float dot(const float* a, const float* b, std::size_t stride) {
    namespace hn = simd::hn;
    const simd::RowTag d;
    const std::size_t lanes = hn::Lanes(d);
    auto even = hn::Zero(d), odd = hn::Zero(d);
    std::size_t c = 0;
    for (; c + 2 * lanes <= stride; c += 2 * lanes) {
      even = hn::MulAdd(simd::load_row(d, a + c), simd::load_row(d, b + c), even);
      odd = hn::MulAdd(simd::load_row(d, a + c + lanes), simd::load_row(d, b + c + lanes), odd);
    }
    if (c < stride) even = hn::MulAdd(simd::load_row(d, a + c), simd::load_row(d, b + c), even);
    return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
  }

  std::vector<float> gradients_;          // [M x N] scores, then gradients
  std::vector<float*> inputs_, outputs_;  // [N], [M] rows of the block at hand
  std::vector<float> input_change_;       // [N x lanes]
};

static_assert(UpdateKernel<DotKernel>);

}  // namespace wordloom
