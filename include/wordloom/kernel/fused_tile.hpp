#pragma once
#include <cstddef>
#include <type_traits>
#include <utility>

#include <wordloom/core/simd.hpp>
#include <wordloom/kernel/row_access.hpp>

/// Register tiles of FusedKernel. `RowTag` vectors; rows by pointer; scores and gradients lie
/// output by output: [M x ld], ld = N rounded up to 4, so that the sums of 4 inputs are stored at
/// once.
namespace wordloom::simd {

/// Calls `use` with 0 .. N - 1 as integral constants. GCC keeps an array in registers only when all
/// of its indices are constants before its optimiser begins: a loop, even if unrolled, is not
/// enough.
template <std::size_t N, class Use>
HWY_INLINE void unrolled(Use&& use) {
  [&]<std::size_t... k>(std::index_sequence<k...>) __attribute__((always_inline)) {
    (use(std::integral_constant<std::size_t, k>()), ...);
  }
  (std::make_index_sequence<N>());
}
#define WORDLOOM_INLINED __attribute__((always_inline))

/// What fits the registers (32 of AVX-512, SVE and NEON; 16 of AVX2 and SSE).
struct FusedTuning {
  static constexpr bool many_registers =
      HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM || HWY_ARCH_RVV || HWY_ARCH_PPC;
  /// Outputs of a score tile of 4 inputs: 4 x 6 sums and 4 inputs of 32 registers, 4 x 3 of 16.
  static constexpr std::size_t score_outputs = many_registers ? 6 : 3;
  /// Outputs of an update tile, and the vectors of each row that it holds: old and new value.
  static constexpr std::size_t update_outputs = 6;
  static constexpr std::size_t update_vectors = many_registers ? 2 : 1;
};

/// Scores and gradients lie in groups of 4 inputs, each of whole vectors: that of input i and
/// output j is at i / 4 * group_size(M) + 4 j + i % 4.
constexpr std::size_t group_size(std::size_t outputs) {
  constexpr std::size_t lanes = hn::MaxLanes(RowTag());
  return (outputs * 4 + lanes - 1) / lanes * lanes;
}

/// The place of input i and output 0; outputs are 4 floats apart.
constexpr std::size_t gradient_place(std::size_t i, std::size_t outputs) {
  return i / 4 * group_size(outputs) + i % 4;
}

/// In each block of 4 lanes the partial sums of (a, b, c, d).
HWY_INLINE hn::Vec<RowTag> transposed_add(hn::Vec<RowTag> a, hn::Vec<RowTag> b, hn::Vec<RowTag> c,
                                          hn::Vec<RowTag> d) {
  const RowTag tag;
  const hn::Repartition<double, RowTag> wide;
  const auto ab = hn::Add(hn::InterleaveLower(tag, a, b), hn::InterleaveUpper(tag, a, b));
  const auto cd = hn::Add(hn::InterleaveLower(tag, c, d), hn::InterleaveUpper(tag, c, d));
  const auto first = hn::InterleaveLower(wide, hn::BitCast(wide, ab), hn::BitCast(wide, cd));
  const auto second = hn::InterleaveUpper(wide, hn::BitCast(wide, ab), hn::BitCast(wide, cd));
  return hn::Add(hn::BitCast(tag, first), hn::BitCast(tag, second));
}

/// Block k of the result is the sum of all blocks of v[k], for as many as a vector has blocks.
HWY_INLINE hn::Vec<RowTag> sums_of_blocks(const hn::Vec<RowTag>* v) {
  const RowTag tag;
  constexpr std::size_t blocks = hn::MaxLanes(RowTag()) / 4;  // 1, 2 or 4
  const auto pair = [](hn::Vec<RowTag> x, hn::Vec<RowTag> y) {
    return hn::Add(hn::OddEvenBlocks(y, x), hn::SwapAdjacentBlocks(hn::OddEvenBlocks(x, y)));
  };
  if constexpr (blocks == 1) {
    return v[0];
  } else if constexpr (blocks == 2) {
    return pair(v[0], v[1]);
  } else {
    const auto xy = pair(v[0], v[1]);
    const auto zw = pair(v[2], v[3]);
    return hn::Add(hn::ConcatLowerLower(tag, zw, xy), hn::ConcatUpperUpper(tag, zw, xy));
  }
}

/// Scores of I inputs (at most 4) with J outputs, stored from `scores` on, 4 for each output, those
/// beyond I zero. Stores whole vectors, zeros where outputs end.
template <std::size_t I, std::size_t J>
HWY_INLINE void score_tile(const float* const* inputs, const float* const* outputs,
                           std::size_t stride, float* scores) {
  const RowTag d;
  hn::Vec<RowTag> sums[J][4];
  unrolled<J>([&](auto j) WORDLOOM_INLINED {
    unrolled<4>([&](auto i) WORDLOOM_INLINED { sums[j][i] = hn::Zero(d); });
  });
  for (std::size_t c = 0; c < stride; c += hn::Lanes(d)) {
    hn::Vec<RowTag> x[I];
    unrolled<I>([&](auto i) WORDLOOM_INLINED { x[i] = load_row(d, inputs[i] + c); });
    unrolled<J>([&](auto j) WORDLOOM_INLINED {
      const auto y = load_row(d, outputs[j] + c);
      unrolled<I>([&](auto i) WORDLOOM_INLINED { sums[j][i] = hn::MulAdd(x[i], y, sums[j][i]); });
    });
  }
  constexpr std::size_t per_vector = hn::MaxLanes(RowTag()) / 4;
  unrolled<(J + per_vector - 1) / per_vector>([&](auto v) WORDLOOM_INLINED {
    constexpr std::size_t j = v * per_vector;
    hn::Vec<RowTag> parts[per_vector];
    unrolled<per_vector>([&](auto k) WORDLOOM_INLINED {
      if constexpr (j + k < J)
        parts[k] = transposed_add(sums[j + k][0], sums[j + k][1], sums[j + k][2], sums[j + k][3]);
      else
        parts[k] = hn::Zero(d);
    });
    hn::StoreU(sums_of_blocks(parts), d, scores + j * 4);
  });
}

/// What an update tile does with the change of the inputs, which all tiles of outputs add to.
enum class InputChange { whole, first, middle, last };

/// Adds to V vectors of J output rows, from column c on, and computes what they add to the n
/// inputs: at once (`whole`) or over several tiles of outputs by way of `change` [n x V vectors].
/// Inputs are read before their own change is added, outputs stored last to first: a row that
/// stands twice is right when the gradients of its later places are zero (FusedKernel::fold).
template <std::size_t J, std::size_t V, InputChange mode>
HWY_INLINE void update_tile(float* const* inputs, std::size_t n, float* const* outputs,
                            std::size_t c, std::size_t m, const float* gradients, float* change) {
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<RowTag> before[J][V], after[J][V];
  unrolled<J>([&](auto j) WORDLOOM_INLINED {
    unrolled<V>([&](auto v) WORDLOOM_INLINED {
      after[j][v] = before[j][v] = load_row(d, outputs[j] + c + v * lanes);
    });
  });
  for (std::size_t i = 0; i < n; ++i) {
    float* const row = inputs[i] + c;
    const float* const own = gradients + gradient_place(i, m);
    hn::Vec<RowTag> x[V], sum[V];
    unrolled<V>([&](auto v) WORDLOOM_INLINED {
      x[v] = load_row(d, row + v * lanes);
      if constexpr (mode == InputChange::whole)
        sum[v] = x[v];
      else if constexpr (mode == InputChange::first)
        sum[v] = hn::Zero(d);
      else
        sum[v] = hn::Load(d, change + (i * V + v) * lanes);
    });
    unrolled<J>([&](auto j) WORDLOOM_INLINED {
      const auto g = hn::Set(d, own[j * 4]);
      unrolled<V>([&](auto v) WORDLOOM_INLINED {
        sum[v] = hn::MulAdd(g, before[j][v], sum[v]);
        after[j][v] = hn::MulAdd(g, x[v], after[j][v]);
      });
    });
    unrolled<V>([&](auto v) WORDLOOM_INLINED {
      if constexpr (mode == InputChange::whole)
        store_row(d, sum[v], row + v * lanes);
      else if constexpr (mode == InputChange::last)
        store_row(d, hn::Add(x[v], sum[v]), row + v * lanes);
      else
        hn::Store(sum[v], d, change + (i * V + v) * lanes);
    });
  }
  unrolled<J>([&](auto from_last) WORDLOOM_INLINED {
    constexpr std::size_t j = J - 1 - from_last;
    unrolled<V>([&](auto v)
                    WORDLOOM_INLINED { store_row(d, after[j][v], outputs[j] + c + v * lanes); });
  });
}

/// Calls `use.template operator()<count>()` for a run-time `count` in [1, Most].
template <std::size_t Most, class Use>
HWY_INLINE void with_count(std::size_t count, Use&& use) {
  [&]<std::size_t... Less>(std::index_sequence<Less...>) {
    static_cast<void>(
        ((count == Less + 1 ? (use.template operator()<Less + 1>(), true) : false) || ...));
  }
  (std::make_index_sequence<Most>());
}

}  // namespace wordloom::simd
