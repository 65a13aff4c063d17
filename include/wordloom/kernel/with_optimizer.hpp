#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/kernel/detail/repeat_filter.hpp>
#include <wordloom/kernel/fused_one_side.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/optimizer/concept.hpp>
#include <wordloom/optimizer/detail/optimizer_steps.hpp>
#include <wordloom/sampler/block.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// The worker of a kernel that writes gradients; FusedKernel's is its worker for one side.
template <class K>
using GradientWorker = decltype(one_side_worker_of(std::declval<const KernelRun<K>&>(),
                                                   std::declval<const Model&>(), Block::Shape()));

template <class K>
constexpr bool require_gradients() {
  static_assert(!OnDevice<K>, "wordloom: WithOptimizer needs an UpdateKernel of the host");
  if constexpr (!OnDevice<K> && require_kernel<K>())
    static_assert(
        WritesGradients<GradientWorker<K>>,
        "wordloom: the worker of this UpdateKernel lacks 'template <bool with_loss> "
        "LossSum gradients(Model&, const Block&, RowMatrix& inputs, RowMatrix& outputs)', "
        "which WithOptimizer needs");
  return true;
}

/// Returns whether an optimizer steps all rows in each batch.
template <class OptimizerRun>
bool steps_all_rows(const OptimizerRun& optimizer) noexcept {
  if constexpr (requires { optimizer.steps_all_rows(); })
    return optimizer.steps_all_rows();
  else
    return false;
}

/// The scratch memory of one thread of WithOptimizer.
template <class KernelPolicy, class OptimizerPolicy>
class OptimizerWorker {
 public:
  OptimizerWorker(const KernelRun<KernelPolicy>& kernel,
                  const OptimizerRun<OptimizerPolicy>& optimizer, std::size_t batch,
                  const Model& model, Block::Shape most)
      : worker_(one_side_worker_of(kernel, model, most)),
        optimizer_(optimizer),
        batch_(batch),
        inputs_(most.inputs, model.dimension()),
        outputs_(most.outputs, model.dimension()),
        ids_(most.inputs + most.outputs),
        gradients_(ids_.size()) {
    if (batch_ == 1) return;
    sums_[0] = Sums(model.input);
    if (!model.has_one_matrix()) sums_[1] = Sums(model.output);
  }

  template <bool with_loss>
  LossSum update(Model& model, const Block& block, float learning_rate) noexcept {
    if (block.inputs.empty() || block.outputs.empty()) return {};
    const LossSum loss = worker_.template gradients<with_loss>(model, block, inputs_, outputs_);
    const std::size_t inputs =
        block.update == Block::Sides::outputs ? 0 : list(block.inputs, inputs_, 0);
    const std::size_t all =
        block.update == Block::Sides::inputs ? inputs : list(block.outputs, outputs_, inputs);
    // In a model of one matrix, an input and an output may be the same row.
    const std::size_t of_input = model.has_one_matrix() ? all : inputs;
    for_rows(model, Model::Side::input, 0, of_input, learning_rate);
    for_rows(model, Model::Side::output, of_input, all, learning_rate);
    examples_ += block.examples;
    if (batch_ > 1 && examples_ >= batch_) flush(model, learning_rate);
    return loss;
  }

  /// Applies the batch in progress, full or not.
  void flush(Model& model, float learning_rate) noexcept {
    examples_ = 0;
    for (const Model::Side side : {Model::Side::input, Model::Side::output}) {
      Sums& sums = sums_[static_cast<std::size_t>(side)];
      RowMatrix& matrix = matrix_of(model, side);
      if (steps_all_rows(optimizer_) && !is_left(side) && !sums.rows.empty()) {
        sums.rows.resize(sums.matrix.rows());
        std::iota(sums.rows.begin(), sums.rows.end(), RowId{0});
      }
      for (std::size_t k = 0; k < sums.rows.size(); ++k) {
        if (k + ahead < sums.rows.size()) prefetch_row(matrix, side, sums.rows[k + ahead]);
        const RowId id = sums.rows[k];
        float* const sum = sums.matrix.row_data(id - sums.first);
        step(side, id, matrix.row_data(id), sum, learning_rate);
        std::fill_n(sum, sums.matrix.stride(), 0.0f);
        sums.is_listed[id - sums.first] = 0;
      }
      sums.rows.clear();
    }
  }

  /// Leaves what becomes of the inputs' gradients to an encoder (Encoded): from now on the `count`
  /// input rows from `first` on, which are all that blocks have, change by their gradients alone.
  void leave_inputs(RowId first, std::size_t count) {
    leaves_inputs_ = true;
    if (batch_ > 1) sums_[0] = Sums(count, inputs_.columns(), first);
  }
  /// Returns whether the last update ended a batch of several blocks.
  bool ended_batch() const noexcept { return batch_ > 1 && examples_ == 0; }

  /// Prefetches rows and the state that belongs to them.
  [[gnu::always_inline]] void prefetch(const Model& model, std::span<const RowId> inputs,
                                       std::span<const RowId> outputs) noexcept {
    const auto of_outputs = model.has_one_matrix() ? Model::Side::input : Model::Side::output;
    for (const RowId id : inputs) prefetch_row(model.input, Model::Side::input, id);
    for (const RowId id : outputs) prefetch_row(model.output, of_outputs, id);
  }

 private:
  /// The sums of the gradients of a batch, for the rows of one matrix.
  struct Sums {
    Sums() = default;
    explicit Sums(const RowMatrix& of) : Sums(of.rows(), of.columns(), 0) {}
    Sums(std::size_t count, std::size_t columns, RowId first_row)
        : matrix(count, columns), is_listed(count), first(first_row) {
      rows.reserve(count);  // so that a batch never allocates
    }
    RowMatrix matrix;                     // [R x D] of rows first, ..., zero except in `rows`
    std::vector<RowId> rows;              // the rows of the batch, each once
    std::vector<std::uint8_t> is_listed;  // [R] whether `rows` has it
    RowId first = 0;
  };

  static constexpr std::size_t ahead = 8;  // rows of a batch that are prefetched

  static RowMatrix& matrix_of(Model& model, Model::Side side) noexcept {
    return side == Model::Side::input ? model.input : model.output;
  }

  [[gnu::always_inline]] void prefetch_row(const RowMatrix& matrix, Model::Side side,
                                           RowId id) noexcept {
    matrix.prefetch(id);
    if constexpr (requires { optimizer_.prefetch(side, id); })
      if (!is_left(side)) optimizer_.prefetch(side, id);
  }

  /// Returns whether an encoder has the gradients of a side.
  bool is_left(Model::Side side) const noexcept {
    return leaves_inputs_ && side == Model::Side::input;
  }

  void step(Model::Side side, RowId id, float* row, const float* gradient,
            float learning_rate) noexcept {
    if (is_left(side))
      functions_.sgd(row, gradient, inputs_.stride(), learning_rate);
    else
      optimizer_.step(side, id, row, gradient, learning_rate);
  }

  /// Lists ids and their gradients from place `first` on. Returns the end.
  std::size_t list(std::span<const RowId> ids, RowMatrix& gradients, std::size_t first) noexcept {
    std::copy(ids.begin(), ids.end(), ids_.data() + first);
    for (std::size_t k = 0; k < ids.size(); ++k) gradients_[first + k] = gradients.row_data(k);
    return first + ids.size();
  }

  /// Takes an optimizer step with the listed rows in [first, last), or adds their gradients to the
  /// batch.
  void for_rows(Model& model, Model::Side side, std::size_t first, std::size_t last,
                float learning_rate) noexcept {
    const auto ids = std::span(ids_).subspan(first, last - first);
    const auto gradients = std::span(gradients_).subspan(first, last - first);
    if (batch_ > 1) return add_to_batch(sums_[static_cast<std::size_t>(side)], ids, gradients);
    if (filter_.repeats(ids)) fold_repeats(ids, gradients);
    RowMatrix& matrix = matrix_of(model, side);
    for (std::size_t k = 0; k < ids.size(); ++k)
      if (gradients[k] != nullptr)
        step(side, ids[k], matrix.row_data(ids[k]), gradients[k], learning_rate);
  }

  /// Adds all gradients of a duplicate row to the gradient of its first place. The others become
  /// null.
  void fold_repeats(std::span<const RowId> ids, std::span<float*> gradients) noexcept {
    for (std::size_t k = 1; k < ids.size(); ++k) {
      const auto first = static_cast<std::size_t>(
          std::find(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(k), ids[k]) -
          ids.begin());
      if (first != k) add(gradients[first], std::exchange(gradients[k], nullptr));
    }
  }

  void add_to_batch(Sums& sums, std::span<const RowId> ids,
                    std::span<float* const> gradients) noexcept {
    for (std::size_t k = 0; k < ids.size(); ++k) {
      const RowId place = ids[k] - sums.first;
      if (std::exchange(sums.is_listed[place], std::uint8_t{1}) == 0) sums.rows.push_back(ids[k]);
      add(sums.matrix.row_data(place), gradients[k]);
    }
  }

  void add(float* sum, const float* gradient) noexcept {
    functions_.sgd(sum, gradient, inputs_.stride(), 1.0f);
  }

  simd::OptimizerFunctions functions_ = simd::optimizer_functions();
  GradientWorker<KernelPolicy> worker_;
  OptimizerRun<OptimizerPolicy> optimizer_;
  std::size_t batch_;
  bool leaves_inputs_ = false;
  std::size_t examples_ = 0;       // of the batch in progress
  std::array<Sums, 2> sums_;       // of both sides, if there are batches
  RowMatrix inputs_, outputs_;     // [N x D], [M x D] gradients of the current block
  std::vector<RowId> ids_;         // [N + M] of the current block
  std::vector<float*> gradients_;  // [N + M] their gradients
  simd::RepeatFilter filter_;
};

}  // namespace detail

/// The gradients of one kernel, applied by an optimizer, which changes each row of a block once, by
/// the sum of all gradients of the row. Threads share all rows: there are no private copies of
/// frequent rows (Hyperparameters::private_rows), because state and sums are kept by row.
template <class KernelPolicy, class OptimizerPolicy>
struct WithOptimizer {
  static_assert(detail::require_gradients<KernelPolicy>() &&
                detail::require_optimizer<OptimizerPolicy>());

  /// The features of the kernel, except bags.
  static constexpr Block::Features honours = [] {
    Block::Features features = detail::features_honoured<KernelPolicy>();
    features.bags = false;
    return features;
  }();

  KernelPolicy kernel = {};
  OptimizerPolicy optimizer = {};
  /// Minimum number of examples (Block::examples) whose gradients are summed before a step, 1 to
  /// 65536; the last block of a batch may exceed it. 1: each block is a step. All gradients of a
  /// batch use the rows as they were when it began. Each thread has batches of its own and, if
  /// `batch` is above 1, the sums of both matrices: as much memory as a model. A batch that is not
  /// full at the end of an epoch is applied there. A checkpoint that is written during training
  /// lacks the batches in progress.
  std::size_t batch = 1;

  static WithOptimizer from(const Hyperparameters& parameters) {
    return {policy_from<KernelPolicy>(parameters), policy_from<OptimizerPolicy>(parameters)};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("batch", batch, 1, 65536);
    visit_parameters_of(visit, kernel, optimizer);
  }

  using Worker = detail::OptimizerWorker<KernelPolicy, OptimizerPolicy>;
  /// The state that the threads of a run share.
  struct Run {
    detail::KernelRun<KernelPolicy> kernel;
    detail::OptimizerRun<OptimizerPolicy> optimizer;
    std::size_t batch;

    /// Returns the scratch memory of one thread for a model. Throws as InstructionSet::chosen()
    /// does.
    Worker worker(const Model& model, Block::Shape most) const {
      return {kernel, optimizer, batch, model, most};
    }
  };
  /// Throws as the kernel and the optimizer do, and InvalidArgument for an optimizer that steps all
  /// rows after each block.
  Run start(Model& model) const {
    Run run{detail::start_kernel(kernel, model), optimizer.start(model), batch};
    if (batch == 1 && detail::steps_all_rows(run.optimizer))
      throw InvalidArgument("an optimizer that steps all rows needs a batch above 1");
    return run;
  }
};

}}  // namespace wordloom::WORDLOOM_ABI

#include <wordloom/kernel/fused_row_ada_grad.hpp>  // a specialization
