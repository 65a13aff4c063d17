#pragma once
#include <cblas.h>

#include <cstddef>
#include <span>
#include <vector>

#include <wordloom/concepts.hpp>
#include <wordloom/core/block.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/loss.hpp>
#include <wordloom/core/model.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/simd.hpp>
#include <wordloom/kernel/gradient.hpp>
#include <wordloom/kernel/one_blas_thread.hpp>
#include <wordloom/kernel/row_access.hpp>

namespace wordloom {

/// The arithmetic of pWord2Vec (Ji et al. 2016, section III-B): the rows of a block are gathered
/// and its scores and both gradients are three matrix products of CBLAS (level 3). As long as one
/// exists, OpenBLAS runs on one thread: training already uses a thread for each core.
class GemmKernel {
 public:
  using Consumes = Block;

  GemmKernel(const Hyperparameters& parameters, BlockShape most)
      : gradients_(most.inputs * most.outputs + simd::gradient_slack),
        inputs_(most.inputs, parameters.dimension),
        outputs_(most.outputs, parameters.dimension),
        input_change_(most.inputs, parameters.dimension),
        output_change_(most.outputs, parameters.dimension) {}

  template <bool with_loss>
  LossSum update(Model& model, const Block& block, float learning_rate) noexcept {
    gather(model.input, block.inputs, inputs_);
    gather(model.output, block.outputs, outputs_);
    const auto n = static_cast<int>(block.inputs.size());
    const auto m = static_cast<int>(block.outputs.size());
    const auto columns = static_cast<int>(inputs_.columns());
    const auto stride = static_cast<int>(inputs_.stride());

    float* const g = gradients_.data();  // [m x n]
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, columns, 1.0f, outputs_.data(),
                stride, inputs_.data(), stride, 0.0f, g, n);
    const LossSum loss = simd::to_gradients<with_loss>(g, block, learning_rate);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n, columns, m, 1.0f, g, n, outputs_.data(),
                stride, 0.0f, input_change_.data(), stride);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, columns, n, 1.0f, g, n,
                inputs_.data(), stride, 0.0f, output_change_.data(), stride);

    scatter_add(input_change_, block.inputs, model.input);
    scatter_add(output_change_, block.outputs, model.output);
    return loss;
  }

 private:
  static void gather(const RowMatrix& from, std::span<const WordId> rows, RowMatrix& to) noexcept {
    const simd::RowTag d;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const float* const source = from.row_data(rows[i]);
      float* const target = to.row_data(i);
      for (std::size_t c = 0; c < to.stride(); c += simd::hn::Lanes(d))
        simd::hn::Store(simd::load_row(d, source + c), d, target + c);
    }
  }

  static void scatter_add(const RowMatrix& changes, std::span<const WordId> rows,
                          RowMatrix& to) noexcept {
    const simd::RowTag d;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const float* const change = changes.row_data(i);
      float* const target = to.row_data(rows[i]);
      for (std::size_t c = 0; c < to.stride(); c += simd::hn::Lanes(d))
        simd::store_row(d,
                        simd::hn::Add(simd::load_row(d, target + c), simd::hn::Load(d, change + c)),
                        target + c);
    }
  }

  OneBlasThread one_thread_;
  std::vector<float> gradients_;            // [M x N] scores, then gradients
  RowMatrix inputs_, outputs_;              // [N x D], [M x D] the rows as they were
  RowMatrix input_change_, output_change_;  // [N x D], [M x D]
};

static_assert(UpdateKernel<GemmKernel>);

}  // namespace wordloom
