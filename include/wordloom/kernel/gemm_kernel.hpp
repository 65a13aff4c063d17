#pragma once
#include <cblas.h>

#include <cstddef>
#include <span>
#include <vector>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/kernel/one_blas_thread.hpp>
#include <wordloom/kernel/pair_weights.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/objective/logistic.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/sampler/block.hpp>
#include <wordloom/simd/target.hpp>

#define WORDLOOM_VECTOR_CODE <wordloom/kernel/gemm_rows.inl>
#include <wordloom/simd/for_each_target.inl>

namespace wordloom {

/// The arithmetic of pWord2Vec (Ji et al. 2016, section III-B): the rows of a block are gathered
/// and its scores and both gradients are three matrix products of CBLAS (level 3). As long as one
/// exists, OpenBLAS runs on one thread: training already uses a thread for each core.
class GemmKernel {
  using Gradients = LossSum (*)(float*, const float*, std::size_t, float) noexcept;
  using Gather = void (*)(const RowMatrix&, std::span<const WordId>, RowMatrix&) noexcept;

 public:
  using Consumes = Block;

  /// Throws as target() does.
  GemmKernel(const Hyperparameters& parameters, BlockShape most)
      : with_loss_(WORDLOOM_TARGET_FUNCTION(Gradients, block_gradients<true>)),
        without_loss_(WORDLOOM_TARGET_FUNCTION(Gradients, block_gradients<false>)),
        gather_(WORDLOOM_TARGET_FUNCTION(Gather, gather_rows)),
        scatter_add_(WORDLOOM_TARGET_FUNCTION(Gather, scatter_rows)),
        gradients_(most.inputs * most.outputs + simd::vector_slack),
        pair_weights_(gradients_.size()),
        inputs_(most.inputs, parameters.dimension),
        outputs_(most.outputs, parameters.dimension),
        input_change_(most.inputs, parameters.dimension),
        output_change_(most.outputs, parameters.dimension) {}

  template <bool with_loss>
  LossSum update(Model& model, const Block& block, float learning_rate) noexcept {
    gather_(model.input, block.inputs, inputs_);
    gather_(model.output, block.outputs, outputs_);
    const auto n = static_cast<int>(block.inputs.size());
    const auto m = static_cast<int>(block.outputs.size());
    const auto columns = static_cast<int>(inputs_.columns());
    const auto stride = static_cast<int>(inputs_.stride());

    float* const g = gradients_.data();  // [m x n]
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, columns, 1.0f, outputs_.data(),
                stride, inputs_.data(), stride, 0.0f, g, n);
    simd::fill_pair_weights(block, pair_weights_.data());
    const LossSum loss = (with_loss ? with_loss_ : without_loss_)(
        g, pair_weights_.data(), block.inputs.size() * block.outputs.size(), learning_rate);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n, columns, m, 1.0f, g, n, outputs_.data(),
                stride, 0.0f, input_change_.data(), stride);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, columns, n, 1.0f, g, n,
                inputs_.data(), stride, 0.0f, output_change_.data(), stride);

    scatter_add_(input_change_, block.inputs, model.input);
    scatter_add_(output_change_, block.outputs, model.output);
    return loss;
  }

 private:
  OneBlasThread one_thread_;
  Gradients with_loss_, without_loss_;
  Gather gather_, scatter_add_;
  std::vector<float> gradients_;            // [M x N] scores, then gradients
  std::vector<float> pair_weights_;         // [M x N]
  RowMatrix inputs_, outputs_;              // [N x D], [M x D] the rows as they were
  RowMatrix input_change_, output_change_;  // [N x D], [M x D]
};

static_assert(UpdateKernel<GemmKernel>);

}  // namespace wordloom
