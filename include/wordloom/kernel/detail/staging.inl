HWY_BEFORE_NAMESPACE();
namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd { namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <std::size_t... v>
HWY_INLINE void add_to_columns(float* const* first, float* const* last, float scale,
                               const float* after, const float* before, std::size_t c,
                               Indices<v...>) {
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<RowTag> changes[sizeof...(v)];
  ((changes[v] =
        hn::Mul(hn::Sub(hn::Load(d, after + c + v * lanes), hn::Load(d, before + c + v * lanes)),
                hn::Set(d, scale))),
   ...);
  for (float* const* row = first; row != last; ++row) {
    float* const at = *row + c;
    (store_row(d, hn::Add(load_row(d, at + v * lanes), changes[v]), at + v * lanes), ...);
  }
}

/// Adds `scale * (after - before)` to each of the rows in [first, last), one after the other: a
/// duplicate row receives it twice.
HWY_ATTR inline void add_to_rows(float* const* first, float* const* last, float scale,
                                 const float* after, const float* before,
                                 std::size_t stride) noexcept {
  for_columns<4>(stride, [&]<std::size_t V>(std::size_t c) WORDLOOM_INLINED {
    add_to_columns(first, last, scale, after, before, c, UpTo<V>());
  });
}

inline StagingFunctions staging_table() noexcept { return {mean_of_rows, add_to_rows}; }

}}}}  // namespace wordloom::WORDLOOM_ABI::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
