#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <wordloom/core/types.hpp>
#include <wordloom/kernel/detail/pair_weights.hpp>
#include <wordloom/kernel/detail/repeat_filter.hpp>
#include <wordloom/kernel/row_map.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/sampler/block.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd {

/// A block in the form that FusedKernel trains.
struct FusedBlock {
  float** inputs;         // [N] rows
  float** outputs;        // [M] rows
  float* gradients;       // see GradientLayout
  float* tail;            // likewise
  std::size_t n_of_four;  // likewise
  float* change;          // [N x 32] of an update over several tiles
  std::size_t n, m;       // n is 1 for inputs in turn
  LaidOutWeights weights;
  float learning_rate;
  bool may_repeat;                      // whether the block may have duplicate rows
  std::span<const float* const> ahead;  // rows that later blocks need
  std::size_t in_turn = 0;              // inputs to train one after the other; 0: all together
  std::size_t for_outputs = 0;  // distance from a gradient to the output's, under an optimizer
};

/// The vector code of FusedKernel, in two halves: scores, then gradients and updates, indexed by
/// `with_loss`. The staged form scores rows (block, stride) that were found before. `find` finds
/// the rows of a block whose inputs `train_in_turn` scores and trains.
struct FusedFunctions {
  void (*score)(Model&, const Block&, FusedBlock&, RepeatFilter&, const detail::RowMaps&) noexcept;
  void (*score_staged)(const FusedBlock&, std::size_t) noexcept;
  LossSum (*apply[2])(const Model&, const FusedBlock&) noexcept;
  void (*find)(Model&, const Block&, FusedBlock&, RepeatFilter&, const detail::RowMaps&) noexcept;
  LossSum (*train_in_turn[2])(const Model&, const FusedBlock&) noexcept;
};
FusedFunctions fused_functions();

}}}  // namespace wordloom::WORDLOOM_ABI::simd

#ifndef WORDLOOM_PRECOMPILED
#include <wordloom/objective/detail/logistic.hpp>
#include <wordloom/simd/instruction_set.hpp>
#define WORDLOOM_VECTOR_CODE <wordloom/kernel/detail/fused_tile.inl>
#include <wordloom/simd/detail/for_each_target.inl>
#define WORDLOOM_VECTOR_CODE <wordloom/kernel/detail/row_scores.inl>
#include <wordloom/simd/detail/for_each_target.inl>
#define WORDLOOM_VECTOR_CODE <wordloom/kernel/detail/fused_plain.inl>
#include <wordloom/simd/detail/for_each_target.inl>
#define WORDLOOM_VECTOR_CODE <wordloom/kernel/detail/fused_update.inl>
#include <wordloom/simd/detail/for_each_target.inl>
inline wordloom::simd::FusedFunctions wordloom::simd::fused_functions() {
  return WORDLOOM_OF_TARGET(fused_table());
}
#endif
