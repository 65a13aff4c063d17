HWY_BEFORE_NAMESPACE();
namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd { namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Columns from c on, V vectors of them, of one row of a sparse product. All sums stay in
/// registers.
template <std::size_t V>
HWY_INLINE void sparse_row_columns(const SparseProduct& p, std::size_t row, std::size_t c) {
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d);
  const std::uint64_t first = row == 0 ? 0 : p.ends[row - 1], last = p.ends[row];
  const std::uint64_t entries = p.ends[p.rows - 1];
  hn::Vec<RowTag> sum[V];
  const float* const own = p.x + row * p.stride + c;
  const auto loop = hn::Set(d, p.loop);
  unrolled<V>([&](auto v) WORDLOOM_INLINED {
    sum[v] = p.loop == 0 ? hn::Zero(d) : hn::Mul(loop, hn::Load(d, own + v * lanes));
  });
  for (std::uint64_t e = first; e < last; ++e) {
    // The first columns prefetch whole rows: those of later columns then find theirs in the cache.
    constexpr std::uint64_t ahead = 6;
    if (c == 0 && e + ahead < entries) {
      const float* const next = p.x + p.columns[e + ahead] * p.stride;
      for (std::size_t line = 0; line < p.stride; line += 16)
        detail::prefetch_line<false>(next + line);
    }
    const float* const x = p.x + p.columns[e] * p.stride + c;
    if (p.values == nullptr) {
      unrolled<V>([&](auto v)
                      WORDLOOM_INLINED { sum[v] = hn::Add(sum[v], hn::Load(d, x + v * lanes)); });
    } else {
      const auto value = hn::Set(d, p.values[e]);
      unrolled<V>([&](auto v) WORDLOOM_INLINED {
        sum[v] = hn::MulAdd(value, hn::Load(d, x + v * lanes), sum[v]);
      });
    }
  }
  const auto scale = hn::Set(d, p.scale * (p.row_scales == nullptr ? 1.0f : p.row_scales[row]));
  const std::size_t at = row * p.stride + c;
  unrolled<V>([&](auto v) WORDLOOM_INLINED {
    auto y = hn::Mul(scale, sum[v]);
    if (p.own != 0) y = hn::MulAdd(hn::Set(d, p.own), hn::Load(d, own + v * lanes), y);
    for (const AddedRows& added : {p.first_added, p.second_added})
      if (added.matrix != nullptr)
        y = hn::MulAdd(hn::Set(d, added.factor), hn::Load(d, added.matrix + at + v * lanes), y);
    hn::Store(y, d, p.y + at + v * lanes);
    if (p.total != nullptr)
      hn::Store(hn::MulAdd(hn::Set(d, p.total_factor), y, hn::Load(d, p.total + at + v * lanes)), d,
                p.total + at + v * lanes);
  });
}

HWY_ATTR inline void sparse_rows(const SparseProduct& p, std::size_t first,
                                 std::size_t last) noexcept {
  const std::size_t lanes = hn::Lanes(RowTag());
  for (std::size_t row = first; row < last; ++row) {
    std::size_t c = 0;
    for (; c + 8 * lanes <= p.stride; c += 8 * lanes) sparse_row_columns<8>(p, row, c);
    for (; c + 2 * lanes <= p.stride; c += 2 * lanes) sparse_row_columns<2>(p, row, c);
    for (; c < p.stride; c += lanes) sparse_row_columns<1>(p, row, c);
  }
}

/// Writes R rows and V vectors of columns of a dense product.
template <std::size_t R, std::size_t V>
HWY_INLINE void dense_tile(const DenseProduct& p, std::size_t i, std::size_t c) {
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<RowTag> sum[R][V];
  unrolled<R>([&](auto r) WORDLOOM_INLINED {
    unrolled<V>([&](auto v) WORDLOOM_INLINED { sum[r][v] = hn::Zero(d); });
  });
  const float* a = p.a + i * p.a_row;
  const float* b = p.b + c;
  for (std::size_t k = 0; k < p.inner; ++k, a += p.a_column, b += p.stride) {
    hn::Vec<RowTag> right[V];
    unrolled<V>([&](auto v) WORDLOOM_INLINED { right[v] = hn::Load(d, b + v * lanes); });
    unrolled<R>([&](auto r) WORDLOOM_INLINED {
      const auto left = hn::Set(d, a[r * p.a_row]);
      unrolled<V>([&](auto v)
                      WORDLOOM_INLINED { sum[r][v] = hn::MulAdd(left, right[v], sum[r][v]); });
    });
  }
  unrolled<R>([&](auto r) WORDLOOM_INLINED {
    unrolled<V>([&](auto v) WORDLOOM_INLINED {
      hn::Store(sum[r][v], d, p.c + (i + r) * p.stride + c + v * lanes);
    });
  });
}

template <std::size_t R>
HWY_INLINE void dense_row_tiles(const DenseProduct& p, std::size_t i) {
  const std::size_t lanes = hn::Lanes(RowTag());
  // AVX-512 has 32 registers, others 16.
  constexpr std::size_t most = HWY_MAX_BYTES >= 64 ? 4 : 2;
  std::size_t c = p.upper ? i / (most * lanes) * (most * lanes) : 0;
  for (; c + most * lanes <= p.stride; c += most * lanes) dense_tile<R, most>(p, i, c);
  for (; c < p.stride; c += lanes) dense_tile<R, 1>(p, i, c);
}

HWY_ATTR inline void dense_product(const DenseProduct& p) noexcept {
  std::size_t i = 0;
  for (; i + 6 <= p.rows; i += 6) dense_row_tiles<6>(p, i);
  for (; i < p.rows; ++i) dense_row_tiles<1>(p, i);
}

inline RowProductFunctions row_product_functions_of_target() noexcept {
  return {sparse_rows, dense_product};
}

}}}}  // namespace wordloom::WORDLOOM_ABI::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
