// The only functions that read and write rows of the model in training, which all threads do
// without locks (Hogwild: Recht et al. 2011). Torn or lost updates are part of the method. Built
// with WORDLOOM_ATOMIC_ROWS every float is accessed by a relaxed atomic instead, slowly: a thread
// sanitizer then reports any other race and none of these.
HWY_BEFORE_NAMESPACE();
namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd { namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Vectors of a row: at most the 16 floats to which rows are padded (RowMatrix).
using RowTag = hn::CappedTag<float, 16>;

#ifndef WORDLOOM_ATOMIC_ROWS

/// Loads a vector of a row; `p` is aligned to the vector.
template <class D>
HWY_INLINE hn::Vec<D> load_row(D d, const float* p) {
  return hn::Load(d, p);
}
template <class D>
HWY_INLINE void store_row(D d, hn::Vec<D> v, float* p) {
  hn::Store(v, d, p);
}

#else

template <class D>
HWY_INLINE hn::Vec<D> load_row(D d, const float* p) {
  alignas(64) float lanes[HWY_MAX_BYTES / sizeof(float)];
  for (std::size_t i = 0; i < hn::Lanes(d); ++i)
    lanes[i] = std::atomic_ref<float>(const_cast<float&>(p[i])).load(std::memory_order_relaxed);
  return hn::Load(d, lanes);
}
template <class D>
HWY_INLINE void store_row(D d, hn::Vec<D> v, float* p) {
  alignas(64) float lanes[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(v, d, lanes);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i)
    std::atomic_ref<float>(p[i]).store(lanes[i], std::memory_order_relaxed);
}

#endif

/// Calls `use.operator()<V>(c)` for columns c such that V vectors from each c on cover a row
/// together; V is `most` except at the end.
template <std::size_t most, class Use>
HWY_INLINE void for_columns(std::size_t stride, Use&& use) {
  const std::size_t lanes = hn::Lanes(RowTag());
  std::size_t c = 0;
  for (; c + most * lanes <= stride; c += most * lanes) use.template operator()<most>(c);
  if constexpr (most > 1)
    for (; c < stride; c += lanes) use.template operator()<1>(c);
}

template <std::size_t... v>
HWY_INLINE void mean_of_columns(const float* const* rows, std::size_t count, float scale,
                                std::size_t c, float* mean, Indices<v...>) {
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<RowTag> sum[sizeof...(v)];
  ((sum[v] = load_row(d, rows[0] + c + v * lanes)), ...);
  for (std::size_t k = 1; k < count; ++k)
    ((sum[v] = hn::Add(sum[v], load_row(d, rows[k] + c + v * lanes))), ...);
  (hn::Store(hn::Mul(sum[v], hn::Set(d, scale)), d, mean + c + v * lanes), ...);
}

/// Writes the mean of `count` rows to `mean`.
HWY_ATTR inline void mean_of_rows(const float* const* rows, std::size_t count, std::size_t stride,
                                  float* mean) noexcept {
  const float scale = 1.0f / static_cast<float>(count);
  for_columns<4>(stride, [&]<std::size_t V>(std::size_t c) WORDLOOM_INLINED {
    mean_of_columns(rows, count, scale, c, mean, UpTo<V>());
  });
}

}}}}  // namespace wordloom::WORDLOOM_ABI::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
