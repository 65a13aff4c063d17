HWY_BEFORE_NAMESPACE();
namespace wordloom::inline WORDLOOM_ABI::simd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Adds `scale * (after - before)` to each of the rows in [first, last), one after the other: a
/// duplicate row receives it twice.
HWY_ATTR inline void add_to_rows(float* const* first, float* const* last, float scale,
                                 const float* after, const float* before,
                                 std::size_t stride) noexcept {
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d);
  for_columns<4>(stride, [&]<std::size_t V>(std::size_t c) WORDLOOM_INLINED {
    hn::Vec<RowTag> changes[V];
    unrolled<V>([&](auto v) WORDLOOM_INLINED {
      const auto change =
          hn::Sub(hn::Load(d, after + c + v * lanes), hn::Load(d, before + c + v * lanes));
      changes[v] = hn::Mul(change, hn::Set(d, scale));
    });
    for (float* const* row = first; row != last; ++row)
      unrolled<V>([&](auto v) WORDLOOM_INLINED {
        float* const at = *row + c + v * lanes;
        store_row(d, hn::Add(load_row(d, at), changes[v]), at);
      });
  });
}

inline StagingFunctions staging_table() noexcept { return {mean_of_rows, add_to_rows}; }

}  // namespace wordloom::inline WORDLOOM_ABI::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
