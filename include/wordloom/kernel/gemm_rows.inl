HWY_BEFORE_NAMESPACE();
namespace wordloom::simd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Copies rows of `from` into those of `to`.
HWY_ATTR inline void gather_rows(const RowMatrix& from, std::span<const WordId> rows,
                                 RowMatrix& to) noexcept {
  const RowTag d;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t c = 0; c < to.stride(); c += hn::Lanes(d))
      hn::Store(load_row(d, from.row_data(rows[i]) + c), d, to.row_data(i) + c);
}

/// Adds rows of `changes` to those of `to`.
HWY_ATTR inline void scatter_rows(const RowMatrix& changes, std::span<const WordId> rows,
                                  RowMatrix& to) noexcept {
  const RowTag d;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    float* const row = to.row_data(rows[i]);
    for (std::size_t c = 0; c < to.stride(); c += hn::Lanes(d))
      store_row(d, hn::Add(load_row(d, row + c), hn::Load(d, changes.row_data(i) + c)), row + c);
  }
}

}  // namespace wordloom::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
