// Vectors of 32 values of bfloat16, for Bf16Kernel alone: intrinsics for one instruction set, since
// Highway has no operations for most of this.
#define WORDLOOM_BF16 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))
#define WORDLOOM_BF16_INLINE __attribute__((always_inline)) WORDLOOM_BF16 inline
#define WORDLOOM_BF16_INLINED WORDLOOM_BF16 __attribute__((always_inline))

namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd { namespace HWY_NAMESPACE { namespace bf16 {

/// Calls `use` with 0 .. N - 1 as integral constants.
template <std::size_t N, class Use>
WORDLOOM_BF16_INLINE void unrolled(Use&& use) {
  [&]<std::size_t... k>(std::index_sequence<k...>) WORDLOOM_BF16_INLINED {
    (use(std::integral_constant<std::size_t, k>()), ...);
  }
  (std::make_index_sequence<N>());
}

/// Calls `use.operator()<count>()`, for a count from 1 to `most`.
template <std::size_t most, class Use>
WORDLOOM_BF16_INLINE void with_count(std::size_t count, Use&& use) {
  [&]<std::size_t... k>(std::index_sequence<k...>) WORDLOOM_BF16_INLINED {
    static_cast<void>(((count == k + 1 ? (use.template operator()<k + 1>(), true) : false) || ...));
  }
  (std::make_index_sequence<most>());
}

/// Loads and stores 64 bytes of a packed row, which other threads may access at the same time (see
/// simd/row_access.inl).
WORDLOOM_BF16_INLINE __m512i load_packed(const std::uint8_t* row) {
#ifdef WORDLOOM_ATOMIC_ROWS
  alignas(64) float lanes[16];
  for (std::size_t k = 0; k < 16; ++k)
    lanes[k] = detail::read_racing(reinterpret_cast<const float*>(row) + k);
  return _mm512_load_si512(lanes);
#else
  return _mm512_load_si512(row);
#endif
}
WORDLOOM_BF16_INLINE void store_packed(std::uint8_t* row, __m512i v) {
#ifdef WORDLOOM_ATOMIC_ROWS
  alignas(64) float lanes[16];
  _mm512_store_si512(lanes, v);
  for (std::size_t k = 0; k < 16; ++k)
    detail::write_racing(reinterpret_cast<float*>(row) + k, lanes[k]);
#else
  _mm512_store_si512(row, v);
#endif
}

/// Adds to each float the products of two pairs of bf16.
WORDLOOM_BF16_INLINE __m512 add_products(__m512 sum, __m512i a, __m512i b) {
  return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
}

/// Copies two bf16 to all pairs. By assembly: GCC otherwise loads early and shuffles.
WORDLOOM_BF16_INLINE __m512i broadcast(const std::uint32_t* pair) {
  __m512i v;
  asm("vpbroadcastd %1, %0" : "=v"(v) : "m"(*pair));
  return v;
}

/// Returns the even words of a and the odd words of b.
WORDLOOM_BF16_INLINE __m512i even_and_odd(__m512i a, __m512i b) {
  return _mm512_mask_blend_epi16(0x55555555u, b, a);
}
/// Moves even words to the odd places, or odd ones to the even places; the others become zero.
WORDLOOM_BF16_INLINE __m512i to_odd(__m512i v) { return _mm512_slli_epi32(v, 16); }
WORDLOOM_BF16_INLINE __m512i to_even(__m512i v) { return _mm512_srli_epi32(v, 16); }

/// Returns the odd words of a in even places, those of b in odd places. `index`: odd_words().
WORDLOOM_BF16_INLINE __m512i zip_odd(__m512i a, __m512i index, __m512i b) {
  return _mm512_permutex2var_epi16(a, index, b);
}
struct alignas(64) WordIndex {
  std::uint16_t at[32];
};
inline constexpr WordIndex odd_word_index = [] {
  WordIndex index{};
  for (std::uint16_t k = 0; k < 32; ++k)
    index.at[k] = static_cast<std::uint16_t>(k % 2 == 0 ? k + 1 : 32 + k);
  return index;
}();
WORDLOOM_BF16_INLINE __m512i odd_words() { return _mm512_load_si512(odd_word_index.at); }

/// Random words: 16 generators (xorshift, Marsaglia 2003), seeded by a hash of the block. All rows
/// of a block receive the same bits in a column: each row is rounded without bias, independently
/// over its columns and over blocks.
class Noise {
 public:
  WORDLOOM_BF16_INLINE explicit Noise(std::uint32_t seed) {
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m512i s = _mm512_add_epi32(_mm512_set1_epi32(static_cast<int>(seed)),
                                 _mm512_mullo_epi32(lane, _mm512_set1_epi32(-0x61c88647)));
    s = _mm512_xor_si512(s, _mm512_srli_epi32(s, 16));
    s = _mm512_mullo_epi32(s, _mm512_set1_epi32(static_cast<int>(0x85ebca6bu)));
    s = _mm512_xor_si512(s, _mm512_srli_epi32(s, 13));
    s = _mm512_mullo_epi32(s, _mm512_set1_epi32(static_cast<int>(0xc2b2ae35u)));
    s = _mm512_xor_si512(s, _mm512_srli_epi32(s, 16));
    state_ = _mm512_or_si512(s, _mm512_set1_epi32(1));  // not 0, a fixed point of xorshift
  }
  WORDLOOM_BF16_INLINE __m512i next() {
    state_ = _mm512_xor_si512(state_, _mm512_slli_epi32(state_, 13));
    state_ = _mm512_xor_si512(state_, _mm512_srli_epi32(state_, 17));
    return state_ = _mm512_xor_si512(state_, _mm512_slli_epi32(state_, 5));
  }

 private:
  __m512i state_;
};

/// 32 columns of a row as floats, the even and the odd ones.
struct Expanded {
  __m512 even, odd;

  WORDLOOM_BF16_INLINE Expanded() {}
  WORDLOOM_BF16_INLINE explicit Expanded(__m512i packed)
      : even(_mm512_castsi512_ps(to_odd(packed))),
        odd(_mm512_castsi512_ps(even_and_odd(_mm512_setzero_si512(), packed))) {}

  /// Rounds stochastically: adds 16 random bits below those of a bf16, then truncates. The result
  /// is the next bf16 of larger magnitude with the probability of the fraction that is cut off, so
  /// that its expectation is the float. A value that is a bf16 does not change.
  WORDLOOM_BF16_INLINE __m512i rounded(__m512i random, __m512i index) const {
    return zip_odd(
        _mm512_add_epi32(_mm512_castps_si512(even), to_even(random)), index,
        _mm512_add_epi32(_mm512_castps_si512(odd), even_and_odd(random, _mm512_setzero_si512())));
  }
};

}}}}}  // namespace wordloom::WORDLOOM_ABI::simd::HWY_NAMESPACE::bf16
