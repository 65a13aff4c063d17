// The only place where training reads and writes rows of the model, which all threads do without
// locks (Hogwild: Recht et al. 2011). Torn or lost updates are part of the method. Built with
// WORDLOOM_ATOMIC_ROWS every float is accessed by a relaxed atomic instead, slowly: a thread
// sanitizer then sees any other race and nothing of these.
HWY_BEFORE_NAMESPACE();
namespace wordloom::simd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Vectors of a row: at most the 16 floats to which rows are padded (RowMatrix).
using RowTag = hn::CappedTag<float, 16>;

#ifndef WORDLOOM_ATOMIC_ROWS

/// A vector of a row; `p` aligned to the vector.
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

}  // namespace wordloom::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
