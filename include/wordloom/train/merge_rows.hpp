#pragma once
#include <cstddef>

#include <wordloom/core/abi.hpp>

namespace wordloom::inline WORDLOOM_ABI::simd {

/// A thread's private copy of a row that all threads share; each is `stride` floats on a 64-byte
/// boundary.
struct PrivateRow {
  float *shared, *own;
  float* base;  // what both were when they were merged last
};

/// Adds the change of a private copy to the shared row, of its part along `direction`, which has
/// length 1 or 0, only the share `along`; makes `own` and `base` what the shared row then is.
using MergeFunction = void (*)(const PrivateRow&, const float* direction, float along,
                               std::size_t stride) noexcept;
MergeFunction merge_function();

}  // namespace wordloom::inline WORDLOOM_ABI::simd

#ifndef WORDLOOM_PRECOMPILED
#include <wordloom/simd/row_access.hpp>
#include <wordloom/simd/target.hpp>
#define WORDLOOM_VECTOR_CODE <wordloom/train/merge_rows.inl>
#include <wordloom/simd/for_each_target.inl>
inline wordloom::simd::MergeFunction wordloom::simd::merge_function() {
  return WORDLOOM_OF_TARGET(merge_row_function());
}
#endif
