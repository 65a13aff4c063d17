#pragma once
#include <concepts>
#include <cstdint>
#include <utility>

#include <wordloom/core/types.hpp>
#include <wordloom/model/model.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

template <class O>
concept StartsOptimizing = requires(const O& optimizer, Model& model) {
  optimizer.start(model);
};
template <class O>
using OptimizerRun = decltype(std::declval<const O&>().start(std::declval<Model&>()));

template <class Run>
concept StepsRows = requires(const Run& run, float* row, const float* gradient) {
  { run.step(Model::Side::input, RowId{}, row, gradient, 0.1f) }
  noexcept;
};

}  // namespace detail

/// The rule by which a gradient changes a row. A policy, which is a value with parameters of its
/// own (core/hyperparameters.hpp).
///
/// - `optimizer.start(model)` returns a run, which is immutable and shared by the threads. It makes
///   its state with `model.state_matrix("input.NAME", rows, columns)` and "output.NAME" (see
///   detail::StateRows), or continues with the state that the model has. A model of one matrix has
///   state of the input side only, which the output side uses too;
/// - `run.step(side, row, row_data, gradient, learning_rate)` changes one row. It is noexcept and
///   never allocates. `gradient` [stride floats, 64-byte aligned, padding zero] is the direction in
///   which the log-likelihood increases: `Sgd` adds it times the learning rate. The padding of rows
///   and of state stays zero. Threads may step the same row at once (Hogwild), so rows and state
///   are accessed as in simd/row_access.inl;
/// - `run.prefetch(side, row)`, optional, prefetches the state of a row;
/// - `run.steps_all_rows()`, optional: whether each batch steps all rows; rows that are not in the
///   batch then have a gradient of zero.
///
/// By default a row is stepped once for each block, or batch, that has it, and other rows keep
/// their state as it is.
template <class O>
concept Optimizer = std::copy_constructible<O> && detail::StartsOptimizing<O> &&
    detail::StepsRows<detail::OptimizerRun<O>>;

namespace detail {

template <class O>
constexpr bool require_optimizer() {
  static_assert(std::copy_constructible<O>, "wordloom: this Optimizer cannot be copied");
  static_assert(StartsOptimizing<O>, "wordloom: this Optimizer lacks 'auto start(Model&) const'");
  if constexpr (StartsOptimizing<O>)
    static_assert(StepsRows<OptimizerRun<O>>,
                  "wordloom: the run of this Optimizer lacks 'void step(Model::Side, RowId, float* "
                  "row_data, const float* gradient, float learning_rate) const noexcept'");
  return Optimizer<O>;
}

}  // namespace detail
}}  // namespace wordloom::WORDLOOM_ABI
