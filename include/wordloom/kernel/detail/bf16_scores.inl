// Scores of Bf16Kernel: register tiles of 4 inputs x 6 outputs, like those of
// kernel/fused_tile.inl.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd { namespace HWY_NAMESPACE {
namespace bf16 {

/// Returns sums of neighbouring lanes of a (even lanes of the result) and b (odd lanes).
WORDLOOM_BF16_INLINE __m512 add_lanes(__m512 a, __m512 b) {
  const __m512 ba = _mm512_mask_blend_ps(0xaaaa, a, b), ab = _mm512_mask_blend_ps(0xaaaa, b, a);
  return _mm512_add_ps(ba, _mm512_permute_ps(ab, 0xb1));
}
/// Returns sums of neighbouring pairs of lanes, placed likewise.
WORDLOOM_BF16_INLINE __m512 add_pairs(__m512 a, __m512 b) {
  const __m512d x = _mm512_castps_pd(a), y = _mm512_castps_pd(b);
  return _mm512_add_ps(_mm512_castpd_ps(_mm512_mask_blend_pd(0xaa, x, y)),
                       _mm512_castpd_ps(_mm512_permute_pd(_mm512_mask_blend_pd(0xaa, y, x), 0x55)));
}
/// Returns sums of neighbouring blocks of 4 lanes, placed likewise.
WORDLOOM_BF16_INLINE __m512 add_blocks(__m512 a, __m512 b) {
  const __m512 ba = _mm512_mask_blend_ps(0xf0f0, a, b), ab = _mm512_mask_blend_ps(0xf0f0, b, a);
  return _mm512_add_ps(ba, _mm512_shuffle_f32x4(ab, ab, 0xb1));
}

/// Returns a vector whose block k is the sum of all blocks of v[k], for the first `used` of 4.
template <std::size_t used>
WORDLOOM_BF16_INLINE __m512 sums_of_blocks(const __m512* v) {
  const __m512 low = add_blocks(v[0], v[used == 1 ? 0 : 1]);
  const __m512 high = used <= 2 ? low : add_blocks(v[2], v[used == 3 ? 2 : 3]);
  return _mm512_add_ps(_mm512_shuffle_f32x4(low, high, 0xe4),
                       _mm512_shuffle_f32x4(low, high, 0x4e));
}

/// Scores I inputs from i on with J outputs from j on; scores beyond I are zero. Stores whole
/// vectors; values beyond the tile are not used.
template <std::size_t I, std::size_t J>
WORDLOOM_BF16_INLINE void score_tile(const Bf16Block& block, std::size_t i, std::size_t j) {
  const std::uint8_t* x[I];
  const std::uint8_t* y[J];
  std::copy_n(block.inputs + i, I, x);
  std::copy_n(block.outputs + j, J, y);
  __m512 sums[J * 4];
  unrolled<J * 4>([&](auto k) WORDLOOM_BF16_INLINED { sums[k] = _mm512_setzero_ps(); });
  for (std::size_t at = 0; at < block.bytes; at += 64) {
    __m512i xs[I];
    unrolled<I>([&](auto k) WORDLOOM_BF16_INLINED { xs[k] = load_packed(x[k] + at); });
    unrolled<J>([&](auto l) WORDLOOM_BF16_INLINED {
      __m512i ys = load_packed(y[l] + at);
      asm("" : "+v"(ys));  // as hold() in kernel/fused_tile.inl
      unrolled<I>([&](auto k) WORDLOOM_BF16_INLINED {
        sums[l * 4 + k] = add_products(sums[l * 4 + k], xs[k], ys);
      });
    });
  }
  constexpr std::size_t vectors = (J + 3) / 4;
  __m512 parts[vectors * 4];
  unrolled<J>([&](auto q) WORDLOOM_BF16_INLINED {
    parts[q] = add_pairs(add_lanes(sums[4 * q], sums[4 * q + 1]),
                         add_lanes(sums[4 * q + 2], sums[4 * q + 3]));
  });
  float* const to = block.gradients + Bf16Layout{block.n, block.m}.place(i, j);
  unrolled<vectors>([&](auto v) WORDLOOM_BF16_INLINED {
    _mm512_storeu_ps(to + v * 16,
                     sums_of_blocks<(std::min<std::size_t>)(4, J - v * 4)>(parts + v * 4));
  });
}

/// Does the first half of an update.
WORDLOOM_BF16 inline void score(const Bf16Block& block) noexcept {
  for (std::size_t i = 0; i < block.n; i += 4) {
    with_count<4>((std::min<std::size_t>)(4, block.n - i),
                  [&]<std::size_t I>() WORDLOOM_BF16_INLINED {
                    for (std::size_t j = 0; j < block.m; j += 6)
                      with_count<6>((std::min<std::size_t>)(6, block.m - j),
                                    [&]<std::size_t J>()
                                        WORDLOOM_BF16_INLINED { score_tile<I, J>(block, i, j); });
                  });
    if (block.m % 2 == 1)
      std::fill_n(block.gradients + Bf16Layout{block.n, block.m}.place(i, block.m), 4, 0.0f);
  }
}

}}}}}  // namespace wordloom::WORDLOOM_ABI::simd::HWY_NAMESPACE::bf16
