#pragma once
#include <cstddef>

#include <wordloom/core/detail/abi.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd {

/// A row that all threads share and a private copy of it: [stride] floats each, on 64-byte
/// boundaries.
struct PrivateRow {
  float *shared, *own;
  float* base;  // the value of both after the last merge
};

/// Merges a private copy: with the change c = own - base and the unit or zero vector u = direction,
/// shared += c + (along - 1) (c . u) u. Then copies the result to `own` and `base`.
using MergeFunction = void (*)(const PrivateRow&, const float* direction, float along,
                               std::size_t stride) noexcept;
MergeFunction merge_function();

}}}  // namespace wordloom::WORDLOOM_ABI::simd

#ifndef WORDLOOM_PRECOMPILED
#include <wordloom/simd/detail/row_access.hpp>
#include <wordloom/simd/instruction_set.hpp>
#define WORDLOOM_VECTOR_CODE <wordloom/train/detail/merge_rows.inl>
#include <wordloom/simd/detail/for_each_target.inl>
inline wordloom::simd::MergeFunction wordloom::simd::merge_function() {
  return WORDLOOM_OF_TARGET(merge_row_function());
}
#endif
