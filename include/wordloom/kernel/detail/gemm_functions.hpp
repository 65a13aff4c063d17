#pragma once
#include <cstddef>

#include <wordloom/core/row_matrix.hpp>
#include <wordloom/objective/loss.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd {

/// The vector code of GemmKernel.
struct GemmFunctions {
  /// Turns scores into gradients (scores, weights, count, learning rate), indexed by `with_loss`.
  LossSum (*gradients[2])(float*, const float*, std::size_t, float) noexcept;
  void (*gather)(const float* const*, std::size_t, RowMatrix&) noexcept;
  void (*scatter_add)(const RowMatrix&, std::size_t, float* const*) noexcept;
};
GemmFunctions gemm_functions();

}}}  // namespace wordloom::WORDLOOM_ABI::simd

#ifndef WORDLOOM_PRECOMPILED
#include <wordloom/objective/detail/logistic.hpp>
#include <wordloom/simd/instruction_set.hpp>
#define WORDLOOM_VECTOR_CODE <wordloom/kernel/detail/gemm_rows.inl>
#include <wordloom/simd/detail/for_each_target.inl>
inline wordloom::simd::GemmFunctions wordloom::simd::gemm_functions() {
  return WORDLOOM_OF_TARGET(gemm_table());
}
#endif
