#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include <wordloom/core/row_matrix.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/sampler/block.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd {

/// Packed rows: D values of bfloat16, then zeros to a multiple of 64 bytes. They always fit, as
/// rows of floats are multiples of 64 bytes.
inline constexpr std::size_t packed_bytes(std::size_t dimension) {
  return (dimension + 31) / 32 * 64;
}

/// Returns the packed row i: at the beginning of its row of floats, or at the end if i is odd. With
/// all at the beginning, half of the sets of each cache would hold none of them: blocks of rows in
/// the third-level cache then took 1.4 to 1.5 times as long (Zen 4, D = 128).
inline std::uint8_t* packed_row(const RowMatrix& matrix, std::size_t i) {
  const std::size_t shift =
      i % 2 * (matrix.stride() * sizeof(float) - packed_bytes(matrix.columns()));
  return reinterpret_cast<std::uint8_t*>(const_cast<float*>(matrix.row_data(i))) + shift;
}

/// The gradients of Bf16Kernel are in groups of 4 inputs, each group output by output, 4 for each
/// output. Padding completes the last group to 4 inputs, and zeros complete each group to an even
/// number of outputs.
struct Bf16Layout {
  std::size_t n, m;

  constexpr std::size_t padded_m() const { return (m + 1) / 2 * 2; }
  constexpr std::size_t place(std::size_t i, std::size_t j) const {
    return (i / 4 * padded_m() + j) * 4 + i % 4;
  }
  constexpr std::size_t count() const { return (n + 3) / 4 * 4 * padded_m(); }
  /// Returns the floats that hold any block of up to n x m; whole vectors may be written past the
  /// end.
  static constexpr std::size_t most(Block::Shape shape) {
    return (shape.inputs + 3) / 4 * 4 * (shape.outputs + 1) + 64;
  }
};

/// A block in the form that Bf16Kernel trains.
struct Bf16Block {
  std::uint8_t** inputs;   // [N] packed rows
  std::uint8_t** outputs;  // [M] packed rows
  std::size_t n, m;
  std::size_t bytes;                // of a packed row
  float* gradients;                 // first scores, then gradients: Bf16Layout
  std::uint32_t* pairs_of_inputs;   // two bf16 each: the gradients of inputs i and i + 1, i even
  std::uint32_t* pairs_of_outputs;  // of outputs j and j + 1, j even
  float* change;                    // [N x 32] of an update over several tiles
  bool may_repeat;                  // whether the block may have duplicate rows
  std::uint32_t hash;               // chooses the random bits of its rounding
  std::span<const std::uint8_t* const> ahead;  // packed rows that later blocks need
};

/// The vector code of Bf16Kernel.
struct Bf16Functions {
  /// Turns scores into gradients (scores, weights, count, learning rate), indexed by `with_loss`.
  LossSum (*gradients[2])(float*, const float*, std::size_t, float) noexcept = {};
  void (*score)(const Bf16Block&) noexcept = nullptr;
  void (*update)(const Bf16Block&) noexcept = nullptr;
};

/// Returns the functions, or null pointers if the processor lacks AVX512_BF16 or WORDLOOM_TARGET
/// names a lesser instruction set than AVX-512. Throws as InstructionSet::chosen() does.
Bf16Functions bf16_functions();

}}}  // namespace wordloom::WORDLOOM_ABI::simd

#ifndef WORDLOOM_PRECOMPILED
#include <wordloom/objective/detail/logistic.hpp>
#include <wordloom/simd/instruction_set.hpp>
#define WORDLOOM_VECTOR_CODE <wordloom/kernel/detail/bf16_gradients.inl>
#include <wordloom/simd/detail/for_each_target.inl>
#if HWY_ARCH_X86_64 && !HWY_COMPILER_MSVC
#include <immintrin.h>

#include <wordloom/kernel/detail/bf16_vectors.inl>
// Included with the vectors of that file.
#include <wordloom/kernel/detail/bf16_scores.inl>
// Included last, because it undefines the macros of the first file.
#include <wordloom/kernel/detail/bf16_tile.inl>
#endif
inline wordloom::simd::Bf16Functions wordloom::simd::bf16_functions() {
  Bf16Functions functions = WORDLOOM_OF_TARGET(bf16_gradients_table());
#if HWY_ARCH_X86_64 && !HWY_COMPILER_MSVC
  if (InstructionSet::chosen().highway <= HWY_AVX3 && __builtin_cpu_supports("avx512bf16")) {
    functions.score = HWY_NAMESPACE::bf16::score;
    functions.update = HWY_NAMESPACE::bf16::update;
  }
#endif
  return functions;
}
#endif
