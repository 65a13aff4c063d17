// Dot products of rows with one row, and of pairs of rows, with the tools of fused_tile.inl.
#if HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR  // see fused_plain.inl
HWY_BEFORE_NAMESPACE();
namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd { namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Stores the dot products rows[k] * with of Q times 4 rows, of which `count` are used.
template <std::size_t Q>
HWY_INLINE void score_quads(const float* const* rows, std::size_t count, const float* with,
                            std::size_t stride, float* scores) {
  const RowTag d;
  hn::Vec<RowTag> sums[4 * Q], quads[Q];
  const float* at[4 * Q];
  unrolled<4 * Q>([&](auto k) WORDLOOM_INLINED {
    at[k] = rows[(std::min<std::size_t>)(k, count - 1)];
    sums[k] = hn::Zero(d);
  });
  for (std::size_t c = 0; c < stride; c += hn::Lanes(d)) {
    const auto x = hn::Load(d, with + c);
    unrolled<4 * Q>(
        [&](auto k) WORDLOOM_INLINED { sums[k] = hn::MulAdd(load_row(d, at[k] + c), x, sums[k]); });
  }
  unrolled<Q>([&](auto q) WORDLOOM_INLINED {
    quads[q] = transposed_add(sums[4 * q], sums[4 * q + 1], sums[4 * q + 2], sums[4 * q + 3]);
    hn::StoreU(sums_of_blocks<1>(quads + q), d, scores + 4 * q);
  });
}

/// Stores the dot products rows[k] * with, and padding after them. In ascending order, so that the
/// next store overwrites what is stored past an end. 8 rows at a time: their sums do not wait for
/// each other.
HWY_INLINE void score_rows(const float* const* rows, std::size_t count, const float* with,
                           std::size_t stride, float* scores) {
  std::size_t k = 0;
  for (; k + 4 < count; k += 8) score_quads<2>(rows + k, count - k, with, stride, scores + k);
  if (k < count) score_quads<1>(rows + k, count - k, with, stride, scores + k);
}

/// Stores the dot products a[i] * b[i] of I pairs, at most 4, and padding after them.
template <std::size_t I>
HWY_INLINE void dot_pairs(const float* const* a, const float* const* b, std::size_t stride,
                          float* products) {
  const RowTag d;
  hn::Vec<RowTag> sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  for (std::size_t c = 0; c < stride; c += hn::Lanes(d))
    unrolled<I>([&](auto i) WORDLOOM_INLINED {
      sums[i] = hn::MulAdd(load_row(d, a[i] + c), load_row(d, b[i] + c), sums[i]);
    });
  const auto quad = transposed_add(sums[0], sums[1], sums[2], sums[3]);
  hn::StoreU(sums_of_blocks<1>(&quad), d, products);
}

/// Stores the dot products a[k] * b[k], and padding after them.
HWY_NOINLINE HWY_ATTR inline void score_pairs(const float* const* a, const float* const* b,
                                              std::size_t count, std::size_t stride,
                                              float* scores) noexcept {
  for (std::size_t k = 0; k < count; k += 4)
    with_count<4>((std::min<std::size_t>)(4, count - k), [&]<std::size_t I>() WORDLOOM_INLINED {
      dot_pairs<I>(a + k, b + k, stride, scores + k);
    });
}

}}}}  // namespace wordloom::WORDLOOM_ABI::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
