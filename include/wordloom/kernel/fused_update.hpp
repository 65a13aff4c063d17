#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <wordloom/core/types.hpp>
#include <wordloom/kernel/pair_weights.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/sampler/block.hpp>

namespace wordloom::inline WORDLOOM_ABI::simd {

/// Tells, for a set of ids, whether one may occur twice: never misses a repeat, and rarely reports
/// one that is not there.
class RepeatFilter {
 public:
  void begin() noexcept {
    if (++set_ == 0) {
      last_.fill(0);
      set_ = 1;
    }
  }
  bool seen(RowId id) noexcept { return std::exchange(last_[id % last_.size()], set_) == set_; }
  bool repeats(std::span<const RowId> ids) noexcept {
    begin();
    bool repeat = false;
    for (const RowId id : ids) repeat |= seen(id);
    return repeat;
  }

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
  LaidOutWeights weights;
  float learning_rate;
  bool may_repeat;                      // whether it may have duplicate rows
  std::span<const float* const> ahead;  // rows that later blocks need
};

/// The vector code of FusedKernel, in two halves: scores, then gradients and updates, indexed by
/// `with_loss`. The staged form scores rows (block, stride) that were found before.
struct FusedFunctions {
  void (*score)(Model&, const Block&, FusedBlock&, RepeatFilter&) noexcept;
  void (*score_staged)(const FusedBlock&, std::size_t) noexcept;
  LossSum (*apply[2])(const Model&, const FusedBlock&) noexcept;
};
FusedFunctions fused_functions();

}  // namespace wordloom::inline WORDLOOM_ABI::simd

#ifndef WORDLOOM_PRECOMPILED
#include <wordloom/objective/logistic.hpp>
#include <wordloom/simd/target.hpp>
#define WORDLOOM_VECTOR_CODE <wordloom/kernel/fused_tile.inl>
#include <wordloom/simd/for_each_target.inl>
#define WORDLOOM_VECTOR_CODE <wordloom/kernel/fused_plain.inl>
#include <wordloom/simd/for_each_target.inl>
#define WORDLOOM_VECTOR_CODE <wordloom/kernel/fused_update.inl>
#include <wordloom/simd/for_each_target.inl>
inline wordloom::simd::FusedFunctions wordloom::simd::fused_functions() {
  return WORDLOOM_OF_TARGET(fused_table());
}
#endif
