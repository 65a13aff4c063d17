#pragma once
#include <cstddef>

#include <wordloom/core/detail/abi.hpp>
#include <wordloom/kernel/detail/bag_update.hpp>
#include <wordloom/kernel/detail/fused_update.hpp>
#include <wordloom/objective/loss.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd {

/// The vector code of FusedKernel under RowAdaGrad: second halves, indexed by `with_loss`, whose
/// first halves are those of FusedKernel. `scales` [R and slack] belong to the rows of a block:
/// inputs, or members of a bag, then outputs.
struct RowAdaGradFunctions {
  /// Takes (block, scales, gradients, stride): `gradients` has room for two copies of the block's,
  /// the second from block.for_outputs on.
  LossSum (*apply[2])(const FusedBlock&, const float*, float*, std::size_t) noexcept;
  /// Takes (block, scales, stride) for a bag of which outputs leave out no members.
  LossSum (*apply_bag[2])(const BagBlock&, const float*, std::size_t) noexcept;
  /// Copies (row, to, stride).
  void (*copy)(const float*, float*, std::size_t) noexcept;
  /// Returns |row - before|^2 of (row, before, stride).
  float (*squared_change)(const float*, const float*, std::size_t) noexcept;
};
RowAdaGradFunctions row_ada_grad_functions();

}}}  // namespace wordloom::WORDLOOM_ABI::simd

#ifndef WORDLOOM_PRECOMPILED
#define WORDLOOM_VECTOR_CODE <wordloom/kernel/detail/row_ada_grad_update.inl>
#include <wordloom/simd/detail/for_each_target.inl>
inline wordloom::simd::RowAdaGradFunctions wordloom::simd::row_ada_grad_functions() {
  return WORDLOOM_OF_TARGET(row_ada_grad_table());
}
#endif
