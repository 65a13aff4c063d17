HWY_BEFORE_NAMESPACE();
namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd { namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Copies `count` rows into those of `to`.
HWY_ATTR inline void gather_rows(const float* const* rows, std::size_t count,
                                 RowMatrix& to) noexcept {
  const RowTag d;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t c = 0; c < to.stride(); c += hn::Lanes(d))
      hn::Store(load_row(d, rows[i] + c), d, to.row_data(i) + c);
}

/// Adds the first `count` rows of `changes` to `rows`.
HWY_ATTR inline void scatter_rows(const RowMatrix& changes, std::size_t count,
                                  float* const* rows) noexcept {
  const RowTag d;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t c = 0; c < changes.stride(); c += hn::Lanes(d))
      store_row(d, hn::Add(load_row(d, rows[i] + c), hn::Load(d, changes.row_data(i) + c)),
                rows[i] + c);
}

inline GemmFunctions gemm_table() noexcept {
  return {{block_gradients<false>, block_gradients<true>}, gather_rows, scatter_rows};
}

}}}}  // namespace wordloom::WORDLOOM_ABI::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
