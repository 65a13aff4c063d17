#pragma once
#include <cblas.h>

#include <cstddef>
#include <vector>

#include <wordloom/core/row_matrix.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/kernel/detail/gemm_functions.hpp>
#include <wordloom/kernel/detail/one_blas_thread.hpp>
#include <wordloom/kernel/detail/pair_weights.hpp>
#include <wordloom/kernel/detail/staging.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/sampler/block.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// The arithmetic of pWord2Vec (Ji et al. 2016, section III-B): the rows of a block are gathered,
/// and its scores and both gradients are three matrix products of CBLAS (level 3). As long as a
/// worker exists, OpenBLAS runs on one thread, because training already uses a thread for each
/// core.
struct GemmKernel {
  static constexpr Block::Features honours = {
      .bags = true, .weights = true, .one_side = true, .pairs = true};
  static constexpr bool keeps_nothing_by_row = true;

  class Worker;
  /// Returns the scratch memory of one thread for a model. Throws as InstructionSet::chosen() does.
  Worker worker(const Model& model, Block::Shape most) const;
};

/// The scratch memory of one thread.
class GemmKernel::Worker {
 public:
  Worker(const Model& model, Block::Shape most)
      : staging_(most, model.dimension()),
        gradients_(most.inputs * most.outputs + simd::vector_slack),
        weights_(gradients_.size()),
        rows_(most.inputs + most.outputs),
        inputs_(most.inputs, model.dimension()),
        outputs_(most.outputs, model.dimension()),
        input_change_(most.inputs, model.dimension()),
        output_change_(most.outputs, model.dimension()) {}

  template <bool with_loss>
  LossSum update(Model& model, const Block& block, float learning_rate) noexcept {
    const std::size_t inputs = block.input_count(), outputs = block.outputs.size();
    float** const input_rows = rows_.data();
    float** const output_rows = input_rows + inputs;
    staging_.gather(model, block, input_rows, output_rows);
    const LossSum loss = pair_gradients<with_loss>(block, inputs, learning_rate);
    input_gradients(inputs, outputs, input_change_);
    output_gradients(inputs, outputs, output_change_);
    functions_.scatter_add(input_change_, inputs, input_rows);
    functions_.scatter_add(output_change_, outputs, output_rows);
    staging_.scatter();
    return loss;
  }

  void map_rows(const detail::RowMaps& maps) noexcept { staging_.map_rows(maps); }

  /// Writes gradients, see kernel/concept.hpp. The block has no bags.
  template <bool with_loss>
  LossSum gradients(Model& model, const Block& block, RowMatrix& inputs,
                    RowMatrix& outputs) noexcept {
    const std::size_t n = block.inputs.size(), m = block.outputs.size();
    for (std::size_t i = 0; i < n; ++i) rows_[i] = model.input.row_data(block.inputs[i]);
    for (std::size_t j = 0; j < m; ++j) rows_[n + j] = model.output.row_data(block.outputs[j]);
    const LossSum loss = pair_gradients<with_loss>(block, n, 1.0f);
    if (block.update != Block::Sides::outputs) input_gradients(n, m, inputs);
    if (block.update != Block::Sides::inputs) output_gradients(n, m, outputs);
    return loss;
  }

 private:
  /// Gathers `rows_` and computes the gradients of all pairs with `inputs` inputs.
  template <bool with_loss>
  LossSum pair_gradients(const Block& block, std::size_t inputs, float learning_rate) noexcept {
    const std::size_t outputs = block.outputs.size();
    functions_.gather(rows_.data(), inputs, inputs_);
    functions_.gather(rows_.data() + inputs, outputs, outputs_);
    const auto n = static_cast<int>(inputs), m = static_cast<int>(outputs);
    const auto stride = static_cast<int>(inputs_.stride());
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, columns(), 1.0f, outputs_.data(),
                stride, inputs_.data(), stride, 0.0f, gradients_.data(), n);
    simd::fill_pair_weights(block, weights_.data());
    return functions_.gradients[with_loss](gradients_.data(), weights_.data(), inputs * outputs,
                                           learning_rate);
  }
  /// Compute the other two products: the gradients of the rows of one side, from those of all
  /// pairs.
  void input_gradients(std::size_t inputs, std::size_t outputs, RowMatrix& to) noexcept {
    const auto n = static_cast<int>(inputs), m = static_cast<int>(outputs);
    const auto stride = static_cast<int>(inputs_.stride());
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n, columns(), m, 1.0f, gradients_.data(),
                n, outputs_.data(), stride, 0.0f, to.data(), stride);
  }
  void output_gradients(std::size_t inputs, std::size_t outputs, RowMatrix& to) noexcept {
    const auto n = static_cast<int>(inputs), m = static_cast<int>(outputs);
    const auto stride = static_cast<int>(inputs_.stride());
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, columns(), n, 1.0f, gradients_.data(),
                n, inputs_.data(), stride, 0.0f, to.data(), stride);
  }
  int columns() const noexcept { return static_cast<int>(inputs_.columns()); }

  detail::OneBlasThread one_thread_;
  simd::GemmFunctions functions_ = simd::gemm_functions();
  simd::Staging staging_;
  std::vector<float> gradients_;            // [M x N] scores, then gradients
  std::vector<float> weights_;              // [M x N]
  std::vector<float*> rows_;                // [N] inputs, then [M] outputs of the current block
  RowMatrix inputs_, outputs_;              // [N x D], [M x D] the rows as they were
  RowMatrix input_change_, output_change_;  // [N x D], [M x D]
};

inline GemmKernel::Worker GemmKernel::worker(const Model& model, Block::Shape most) const {
  return {model, most};
}

static_assert(UpdateKernel<GemmKernel>);

}}  // namespace wordloom::WORDLOOM_ABI
