HWY_BEFORE_NAMESPACE();
namespace wordloom::simd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Calls `use.operator()<V>(c)` so that V vectors from each c on cover a row.
template <class Use>
HWY_INLINE void for_staged_columns(std::size_t stride, Use&& use) {
  const std::size_t lanes = hn::Lanes(RowTag());
  std::size_t c = 0;
  for (; c + 8 * lanes <= stride; c += 8 * lanes) use.template operator()<8>(c);
  for (; c < stride; c += lanes) use.template operator()<1>(c);
}

/// Writes `scale` times the sum of the rows in [first, last) to `to`, and again to `copy`.
HWY_ATTR inline void mean_of_rows(const float* const* first, const float* const* last, float scale,
                                  float* to, float* copy, std::size_t stride) noexcept {
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d);
  for_staged_columns(stride, [&]<std::size_t V>(std::size_t c) WORDLOOM_INLINED {
    hn::Vec<RowTag> sums[V];
    unrolled<V>([&](auto v) WORDLOOM_INLINED { sums[v] = load_row(d, *first + c + v * lanes); });
    for (const float* const* row = first + 1; row != last; ++row)
      unrolled<V>([&](auto v) WORDLOOM_INLINED {
        sums[v] = hn::Add(sums[v], load_row(d, *row + c + v * lanes));
      });
    unrolled<V>([&](auto v) WORDLOOM_INLINED {
      const auto mean = hn::Mul(sums[v], hn::Set(d, scale));
      hn::Store(mean, d, to + c + v * lanes);
      hn::Store(mean, d, copy + c + v * lanes);
    });
  });
}

/// Adds `scale * (after - before)` to each of the rows in [first, last), one after the other: a row
/// that is there twice receives it twice.
HWY_ATTR inline void add_to_rows(float* const* first, float* const* last, float scale,
                                 const float* after, const float* before,
                                 std::size_t stride) noexcept {
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d);
  for_staged_columns(stride, [&]<std::size_t V>(std::size_t c) WORDLOOM_INLINED {
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

/// Writes, for each of `count` bags, `scale` times the sum of the rows in [first, last) without the
/// row at left_out[i], to row i of `to` and of `copies`.
HWY_ATTR inline void means_without_one(const float* const* first, const float* const* last,
                                       const std::uint32_t* left_out, std::size_t count,
                                       float scale, RowMatrix& to, RowMatrix& copies) noexcept {
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d);
  for_staged_columns(to.stride(), [&]<std::size_t V>(std::size_t c) WORDLOOM_INLINED {
    hn::Vec<RowTag> sums[V];
    unrolled<V>([&](auto v) WORDLOOM_INLINED { sums[v] = load_row(d, *first + c + v * lanes); });
    for (const float* const* row = first + 1; row != last; ++row)
      unrolled<V>([&](auto v) WORDLOOM_INLINED {
        sums[v] = hn::Add(sums[v], load_row(d, *row + c + v * lanes));
      });
    for (std::size_t i = 0; i < count; ++i) {
      const float* const without = first[left_out[i]] + c;
      unrolled<V>([&](auto v) WORDLOOM_INLINED {
        const auto mean =
            hn::Mul(hn::Sub(sums[v], load_row(d, without + v * lanes)), hn::Set(d, scale));
        hn::Store(mean, d, to.row_data(i) + c + v * lanes);
        hn::Store(mean, d, copies.row_data(i) + c + v * lanes);
      });
    }
  });
}

/// Adds `scale` times the sum of the changes of `count` bags, from `before` to `after`, to each of
/// the rows in [first, last), and takes that of bag i from the row at left_out[i] again.
HWY_ATTR inline void add_without_one(float* const* first, float* const* last,
                                     const std::uint32_t* left_out, std::size_t count, float scale,
                                     const RowMatrix& after, const RowMatrix& before) noexcept {
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto change = [&](std::size_t i, std::size_t c) WORDLOOM_INLINED {
    return hn::Mul(hn::Sub(hn::Load(d, after.row_data(i) + c), hn::Load(d, before.row_data(i) + c)),
                   hn::Set(d, scale));
  };
  for_staged_columns(after.stride(), [&]<std::size_t V>(std::size_t c) WORDLOOM_INLINED {
    hn::Vec<RowTag> sums[V];
    unrolled<V>([&](auto v) WORDLOOM_INLINED { sums[v] = change(0, c + v * lanes); });
    for (std::size_t i = 1; i < count; ++i)
      unrolled<V>([&](auto v)
                      WORDLOOM_INLINED { sums[v] = hn::Add(sums[v], change(i, c + v * lanes)); });
    for (float* const* row = first; row != last; ++row)
      unrolled<V>([&](auto v) WORDLOOM_INLINED {
        float* const at = *row + c + v * lanes;
        store_row(d, hn::Add(load_row(d, at), sums[v]), at);
      });
    for (std::size_t i = 0; i < count; ++i)
      unrolled<V>([&](auto v) WORDLOOM_INLINED {
        float* const at = first[left_out[i]] + c + v * lanes;
        store_row(d, hn::Sub(load_row(d, at), change(i, c + v * lanes)), at);
      });
  });
}

}  // namespace wordloom::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
