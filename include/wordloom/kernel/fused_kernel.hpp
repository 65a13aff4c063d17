#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/kernel/pair_weights.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/objective/logistic.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/sampler/block.hpp>
#include <wordloom/simd/target.hpp>

namespace wordloom::simd {

/// Tells, for a set of ids, whether one comes twice: never misses one, errs seldom the other way.
class RepeatFilter {
 public:
  void begin() noexcept {
    if (++set_ == 0) {
      last_.fill(0);
      set_ = 1;
    }
  }
  bool seen(WordId id) noexcept { return std::exchange(last_[id % last_.size()], set_) == set_; }

 private:
  std::array<std::uint8_t, 4096> last_{};  // the set in which each residue came last
  std::uint8_t set_ = 0;
};

/// A block as FusedKernel works on it.
struct FusedBlock {
  float** inputs;         // [N] rows
  float** outputs;        // [M] rows
  float* gradients;       // see GradientLayout
  float* tail;            // likewise
  std::size_t n_of_four;  // likewise
  float* change;          // [N x 32] of an update over several tiles
  std::size_t n, m;
  PairWeights weights;
  float learning_rate;
  bool may_repeat;            // whether a row may stand in it twice
  const float* const* ahead;  // [ahead_count] rows that later blocks need
  std::size_t ahead_count;
};

}  // namespace wordloom::simd

#define WORDLOOM_VECTOR_CODE <wordloom/kernel/fused_tile.inl>
#include <wordloom/simd/for_each_target.inl>
#define WORDLOOM_VECTOR_CODE <wordloom/kernel/fused_update.inl>
#include <wordloom/simd/for_each_target.inl>

namespace wordloom {

/// Scores, sigmoid and both rank updates of a block on the rows where they lie, in register tiles:
/// nothing is gathered or packed, each row is read twice and written once. The default kernel.
/// `Dimension`: of all models it will see, so that loops have constant bounds; 0 = any.
template <std::size_t Dimension = 0>
class FusedKernel {
  using Begin = void (*)(Model&, const Block&, simd::FusedBlock&, simd::RepeatFilter&) noexcept;
  using Finish = LossSum (*)(const Model&, const simd::FusedBlock&) noexcept;

 public:
  using Consumes = Block;

  /// Throws InvalidArgument when `parameters.dimension` is not Dimension, and as target() does.
  FusedKernel(const Hyperparameters& parameters, BlockShape most)
      : begin_(WORDLOOM_TARGET_FUNCTION(Begin, fused_begin<Dimension>)),
        finish_with_loss_(WORDLOOM_TARGET_FUNCTION(Finish, fused_finish<Dimension, true>)),
        finish_(WORDLOOM_TARGET_FUNCTION(Finish, fused_finish<Dimension, false>)),
        pair_weights_(most),
        rows_(most.inputs + most.outputs),
        gradients_(1, simd::GradientLayout::most(most)),
        change_(most.inputs, 32),
        ahead_(2 * (most.inputs + most.outputs)) {
    if (Dimension != 0 && parameters.dimension != Dimension)
      throw InvalidArgument("dimension is " + std::to_string(parameters.dimension) +
                            ", this FusedKernel is for " + std::to_string(Dimension));
  }

  template <bool with_loss>
  LossSum update(Model& model, const Block& block, float learning_rate) noexcept {
    begin(model, block, learning_rate);
    return finish<with_loss>(model);
  }

  /// The first half of an update: its scores, which take a while to become gradients. Leaves the
  /// model as it is, and does not need the block any more; `finish` comes before another `begin`.
  void begin(Model& model, const Block& block, float learning_rate) noexcept {
    if (block.inputs.empty() || block.outputs.empty()) return;
    const simd::GradientLayout layout{block.inputs.size(), block.outputs.size()};
    begun_ = {rows_.data(),
              rows_.data() + layout.n,
              gradients_.data(),
              gradients_.data() + layout.tail(),
              layout.n_of_four(),
              change_.data(),
              layout.n,
              layout.m,
              pair_weights_.of(block),
              learning_rate,
              false,
              ahead_.data(),
              0};
    begin_(model, block, begun_, filter_);
  }
  /// The second half; nothing where nothing has begun.
  template <bool with_loss>
  LossSum finish(Model& model) noexcept {
    if (begun_.n == 0) return {};
    begun_.ahead_count = std::exchange(ahead_count_, 0);
    const LossSum loss = (with_loss ? finish_with_loss_ : finish_)(model, begun_);
    begun_.n = 0;
    return loss;
  }

  /// Rows that later blocks need: asked for during the next second half.
  void prefetch(const Model& model, std::span<const WordId> inputs,
                std::span<const WordId> outputs) noexcept {
    const auto add = [&](const RowMatrix& matrix, WordId id) {
      if (ahead_count_ < ahead_.size()) ahead_[ahead_count_++] = matrix.row_data(id);
    };
    for (const WordId id : inputs) add(model.input, id);
    for (const WordId id : outputs) add(model.output, id);
  }

 private:
  Begin begin_;
  Finish finish_with_loss_, finish_;
  simd::PairWeightMaker pair_weights_;
  simd::FusedBlock begun_{};  // n is 0 where there is none
  std::vector<float*> rows_;  // [N] inputs, then [M] outputs of the block at hand
  RowMatrix gradients_;
  RowMatrix change_;  // [N x 32] of an update over several tiles
  simd::RepeatFilter filter_;
  std::vector<const float*> ahead_;
  std::size_t ahead_count_ = 0;
};

static_assert(UpdateKernel<FusedKernel<>> && UpdateKernel<FusedKernel<128>>);

}  // namespace wordloom
