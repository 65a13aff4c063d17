#pragma once
#include <cstddef>
#include <cstdint>

#include <wordloom/core/detail/abi.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd {

/// The vector code of compressed vectors.
struct CompressedFunctions {
  /// Writes the dot products of a vector [D], padded with zeros to a multiple of 64 numbers, with
  /// `count` rows of D numbers, one behind the other, of float32, float16 or int8. Reads up to 63
  /// bytes behind the last row.
  using Dots = void (*)(const float* vector, const char* rows, std::size_t dimension,
                        std::size_t count, float* products) noexcept;
  Dots float32, float16, int8;

  /// Writes the numbers, each `step` bytes from the one before, of the centres nearest to `count`
  /// points: |centre|^2 / 2 - point . centre is smallest, and of equal ones the first. `centres`
  /// [columns x 256], `halves` [256] |centre|^2 / 2, `points` [count x stride].
  void (*nearest)(const float* centres, const float* halves, std::size_t columns,
                  const float* points, std::size_t stride, std::size_t count, std::uint8_t* numbers,
                  std::size_t step) noexcept;
};
CompressedFunctions compressed_functions();

}}}  // namespace wordloom::WORDLOOM_ABI::simd

#ifndef WORDLOOM_PRECOMPILED
#include <limits>

#include <wordloom/simd/detail/simd.hpp>
#include <wordloom/simd/instruction_set.hpp>
#define WORDLOOM_VECTOR_CODE <wordloom/model/detail/compressed_functions.inl>
#include <wordloom/simd/detail/for_each_target.inl>
inline wordloom::simd::CompressedFunctions wordloom::simd::compressed_functions() {
  return WORDLOOM_OF_TARGET(compressed_functions_of_target());
}
#endif
