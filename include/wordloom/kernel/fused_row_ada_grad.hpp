#pragma once
#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/kernel/detail/adaptive_rows.hpp>
#include <wordloom/kernel/detail/bag_update.hpp>
#include <wordloom/kernel/detail/pair_weights.hpp>
#include <wordloom/kernel/detail/row_ada_grad_update.hpp>
#include <wordloom/kernel/detail/staging.hpp>
#include <wordloom/kernel/fused_kernel.hpp>
#include <wordloom/kernel/with_optimizer.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/optimizer/row_ada_grad.hpp>
#include <wordloom/sampler/block.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// FusedKernel under RowAdaGrad in the same passes over the rows, with all of its features. Without
/// batches. Threads share the rows and their sums: there are no private copies of frequent rows
/// (Hyperparameters::private_rows).
///
/// It differs from RowAdaGrad in that only one block in `every`, chosen by a hash, is measured: it
/// adds `every` x |g|^2 / D to the sums of its rows. The expectation is equal, and vectors are as
/// good (benchmarks/results/row-ada-grad.md).
template <>
struct WithOptimizer<FusedKernel, RowAdaGrad> {
  static constexpr Block::Features honours = FusedKernel::honours;

  FusedKernel kernel = {};
  RowAdaGrad optimizer = {};
  /// The number of blocks of which one is measured, 1 to 64.
  std::size_t every = 32;

  static WithOptimizer from(const Hyperparameters& parameters) {
    return {.kernel = {}, .optimizer = policy_from<RowAdaGrad>(parameters)};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("every", every, 1, 64);
    visit_parameters_of(visit, optimizer);
  }

  class RowWorker;
  class Worker;
  /// The state that the threads of a run share. Thread-safe; updates of one row may be lost.
  struct Run {
    RowAdaGrad::Run optimizer;
    std::shared_ptr<detail::RowScales> scales;

    /// Returns the scratch memory of one thread for a model. Throws as InstructionSet::chosen()
    /// does.
    Worker worker(const Model& model, Block::Shape most) const;
    /// Returns the scratch memory of one thread for blocks of rows alone: no features except
    /// weights.
    RowWorker row_worker(const Model& model, Block::Shape most) const;
    /// Returns the scratch memory of one thread for blocks that change one side: one pass for the
    /// gradients and one for the rows, and all blocks are measured.
    auto one_side_worker(const Model& model, Block::Shape most) const {
      return detail::OptimizerWorker<FusedKernel, RowAdaGrad>(FusedKernel(), optimizer, 1, model,
                                                              most);
    }
  };
  /// Throws as RowAdaGrad does.
  Run start(Model& model) const {
    const RowAdaGrad::Run run = optimizer.start(model);
    return {run, std::make_shared<detail::RowScales>(run, model, every)};
  }
};

namespace detail {

/// The update of a bag that is scored against all outputs.
class AdaptiveBag : public simd::BagUpdate {
 public:
  using BagUpdate::BagUpdate;

  template <bool with_loss>
  LossSum apply(const Model& model, AdaptiveRows& rows,
                std::span<const float* const> ahead) noexcept {
    scored_.ahead = ahead;
    const bool measured = rows.is_measured(*scored_.gradients);
    if (measured) rows.remember(model, scored_.members, scored_.outputs);
    const LossSum loss =
        rows.functions().apply_bag[with_loss](scored_, rows.scales(), mean_.stride());
    if (measured) rows.measure(model, scored_.learning_rate, true);  // members may be duplicates
    return loss;
  }
};

/// Staging with scratch rows that are changed by their gradients times the learning rate.
class AdaptiveStaging : public simd::Staging {
 public:
  AdaptiveStaging(Block::Shape most, const Model& model, RowScales& scales)
      : Staging(most, model.dimension()),
        rows_(scales, model, {.members = members_.size()}),
        ids_(members_.size()) {}

  /// Adds the changes of the scratch rows to the members of their bags.
  void flush(const Model& model, float rate) noexcept {
    if (!std::exchange(is_open_, false)) return;
    const std::size_t stride = model.input.stride(), count = ends_[bags_ - 1];
    for (std::size_t k = 0; k < count; ++k)
      ids_[k] =
          static_cast<RowId>(static_cast<std::size_t>(members_[k] - model.input.data()) / stride);
    rows_.begin();
    rows_.add(model, Model::Side::input, std::span(ids_).first(count));
    const bool measured = rows_.is_measured(*inputs_.row_data(0));
    if (measured) rows_.remember(model, members_.data(), nullptr);
    for (std::size_t i = 0, k = 0; i < bags_; ++i) {
      const float of_member = shares_[i];
      for (; k < ends_[i]; ++k)
        functions_.add_to_rows(members_.data() + k, members_.data() + k + 1,
                               of_member * rows_.scales()[k], inputs_.row_data(i),
                               means_.row_data(i), stride);
    }
    if (measured) rows_.measure(model, rate, true);
  }

 private:
  AdaptiveRows rows_;
  std::vector<RowId> ids_;  // of all members
};

}  // namespace detail

/// The scratch memory of one thread for blocks of rows.
class WithOptimizer<FusedKernel, RowAdaGrad>::RowWorker : FusedKernel::RowWorker {
 public:
  RowWorker(detail::RowScales& scales, const Model& model, Block::Shape most)
      : FusedKernel::RowWorker(most),
        adaptive_(scales, model, most),
        scaled_(2, simd::GradientLayout::most(most)) {}

  template <bool with_loss>
  LossSum update(Model& model, const Block& block, float learning_rate) noexcept {
    score(model, block, learning_rate);
    return apply<with_loss>(model);
  }

  /// Do the two halves of an update, as in FusedKernel::RowWorker.
  void score(Model& model, const Block& block, float learning_rate) noexcept {
    adaptive_.begin();
    adaptive_.add(model, Model::Side::input, block.inputs);
    adaptive_.add(model, Model::Side::output, block.outputs);
    FusedKernel::RowWorker::score(model, block, learning_rate);
  }
  template <bool with_loss>
  LossSum apply(Model& model) noexcept {
    if (scored_.n == 0) return {};
    scored_.ahead = ahead_.take();
    scored_.for_outputs = scaled_.stride();
    const bool measured =
        adaptive_.is_measured(scored_.n_of_four > 0 ? *scored_.gradients : *scored_.tail);
    if (measured) adaptive_.remember(model, scored_.inputs, scored_.outputs);
    const LossSum loss = adaptive_.functions().apply[with_loss](
        scored_, adaptive_.scales(), scaled_.data(), model.input.stride());
    if (measured) adaptive_.measure(model, scored_.learning_rate, scored_.may_repeat);
    scored_.n = 0;
    return loss;
  }

  /// Prefetches rows and their scales.
  void prefetch(const Model& model, std::span<const RowId> inputs,
                std::span<const RowId> outputs) noexcept {
    FusedKernel::RowWorker::prefetch(model, inputs, outputs);
    adaptive_.prefetch(model, inputs, outputs);
  }

 private:
  friend class WithOptimizer::Worker;

  detail::AdaptiveRows adaptive_;
  RowMatrix scaled_;  // [2 x gradients] for inputs and for outputs
};

/// The scratch memory of one thread.
class WithOptimizer<FusedKernel, RowAdaGrad>::Worker {
 public:
  Worker(detail::RowScales& scales, const Model& model, Block::Shape most)
      : rows_(scales, model, most),
        bag_(most, model.dimension()),
        staging_(most, model, scales),
        all_weights_(most.inputs * most.outputs + simd::vector_slack) {}

  template <bool with_loss>
  LossSum update(Model& model, const Block& block, float learning_rate) noexcept {
    score(model, block, learning_rate);
    return apply<with_loss>(model);
  }

  /// Do the two halves of an update, as in FusedKernel::Worker.
  void score(Model& model, const Block& block, float learning_rate) noexcept {
    if (block.inputs.empty() || block.outputs.empty()) return;
    if ((is_bag_ = block.left_out.empty() && block.bag_ends.size() == 1)) {
      rows_.adaptive_.begin();
      rows_.adaptive_.add(model, Model::Side::input, block.inputs);
      rows_.adaptive_.add(model, Model::Side::output, block.outputs);
      return bag_.score(model, block, learning_rate, rows_.filter_);
    }
    if (block.paired == 0 && block.left_out.empty()) return score_rows(model, block, learning_rate);
    // As a block of all pairs, some of which have weight 0.
    simd::fill_pair_weights(block, all_weights_.data());
    Block all = block;
    all.paired = 0;
    all.weights = {std::span(all_weights_).first(block.input_count() * block.outputs.size())};
    score_rows(model, all, learning_rate);
  }
  template <bool with_loss>
  LossSum apply(Model& model) noexcept {
    if (std::exchange(is_bag_, false))
      return bag_.apply<with_loss>(model, rows_.adaptive_, rows_.ahead_.take());
    const LossSum loss = rows_.apply<with_loss>(model);
    staging_.flush(model, rows_.scored_.learning_rate);
    return loss;
  }

  void prefetch(const Model& model, std::span<const RowId> inputs,
                std::span<const RowId> outputs) noexcept {
    rows_.prefetch(model, inputs, outputs);
  }

 private:
  void score_rows(Model& model, const Block& block, float learning_rate) noexcept {
    if (!simd::Staging::is_needed(block)) return rows_.score(model, block, learning_rate);
    rows_.score_staged(model, block, learning_rate, staging_);
    detail::AdaptiveRows& rows = rows_.adaptive_;
    rows.begin();
    if (staging_.has_bags())
      rows.add_scratch(Model::Side::input, block.input_count());
    else
      rows.add(model, Model::Side::input, block.inputs);
    if (block.update == Block::Sides::inputs)
      rows.add_scratch(Model::Side::output, block.outputs.size());
    else
      rows.add(model, Model::Side::output, block.outputs);
  }

  RowWorker rows_;
  detail::AdaptiveBag bag_;
  bool is_bag_ = false;
  detail::AdaptiveStaging staging_;
  std::vector<float> all_weights_;  // [M x N]
};

inline WithOptimizer<FusedKernel, RowAdaGrad>::Worker
WithOptimizer<FusedKernel, RowAdaGrad>::Run::worker(const Model& model, Block::Shape most) const {
  return {*scales, model, most};
}
inline WithOptimizer<FusedKernel, RowAdaGrad>::RowWorker
WithOptimizer<FusedKernel, RowAdaGrad>::Run::row_worker(const Model& model,
                                                        Block::Shape most) const {
  return {*scales, model, most};
}

static_assert(UpdateKernel<WithOptimizer<FusedKernel, RowAdaGrad>>);

}}  // namespace wordloom::WORDLOOM_ABI
