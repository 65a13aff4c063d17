HWY_BEFORE_NAMESPACE();
namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd { namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR  // its vectors have one float

struct FourSums {
  float of_row[4];
};

/// Returns the sums of four times 16 floats [4 x 16], in one order on all vectors.
HWY_INLINE FourSums sums_of_four(const float* parts) {
  FourSums sums;
  for (std::size_t i = 0; i < 4; ++i) {
    const float* const part = parts + i * 16;
    float quarter[4];
    for (std::size_t k = 0; k < 4; ++k)
      quarter[k] = (part[k] + part[k + 4]) + (part[k + 8] + part[k + 12]);
    sums.of_row[i] = (quarter[0] + quarter[1]) + (quarter[2] + quarter[3]);
  }
  return sums;
}
/// Writes the sums times scales.
HWY_INLINE void store_scaled(FourSums sums, const float* scales, float* to) {
  for (std::size_t i = 0; i < 4; ++i) to[i] = sums.of_row[i] * scales[i];
}

#else

using FourSums = hn::Vec<hn::CappedTag<float, 4>>;

/// Returns the sums of four times 16 floats [4 x 16], in one order on all vectors.
HWY_INLINE FourSums sums_of_four(const float* parts) {
  const hn::CappedTag<float, 4> d;
  FourSums quarter[4];
  unrolled<4>([&](auto i) WORDLOOM_INLINED {
    const float* const part = parts + i * 16;
    quarter[i] = hn::Add(hn::Add(hn::Load(d, part), hn::Load(d, part + 4)),
                         hn::Add(hn::Load(d, part + 8), hn::Load(d, part + 12)));
  });
  const auto add_neighbours = [&](auto a, auto b) WORDLOOM_INLINED {
    return hn::Add(hn::ConcatEven(d, b, a), hn::ConcatOdd(d, b, a));
  };
  return add_neighbours(add_neighbours(quarter[0], quarter[1]),
                        add_neighbours(quarter[2], quarter[3]));
}
/// Writes the sums times scales, which are aligned.
HWY_INLINE void store_scaled(FourSums sums, const float* scales, float* to) {
  const hn::CappedTag<float, 4> d;
  hn::StoreU(hn::Mul(sums, hn::Load(d, scales)), d, to);
}

#endif

/// Writes the products of Q questions with four rows, the last of which may be one row several
/// times; R of them at a time. All sums stay in registers: 16 floats of each product.
template <std::size_t Q, std::size_t R>
HWY_INLINE void dot_tile(const float* const* questions, const float* const* rows,
                         std::size_t stride, FourSums* sums) {
  const RowTag d;
  constexpr std::size_t V = 16 / hn::MaxLanes(RowTag());
  alignas(64) float parts[Q][4 * 16];
  for (std::size_t first = 0; first < 4; first += R) {
    hn::Vec<RowTag> sum[Q * R * V];
    unrolled<Q * R * V>([&](auto i) WORDLOOM_INLINED { sum[i] = hn::Zero(d); });
    for (std::size_t c = 0; c < stride; c += 16)
      unrolled<V>([&](auto v) WORDLOOM_INLINED {
        const std::size_t at = c + v * hn::MaxLanes(d);
        hn::Vec<RowTag> row[R];
        unrolled<R>([&](auto r) WORDLOOM_INLINED { row[r] = hn::Load(d, rows[first + r] + at); });
        unrolled<Q>([&](auto q) WORDLOOM_INLINED {
          const auto question = hn::Load(d, questions[q] + at);
          unrolled<R>([&](auto r) WORDLOOM_INLINED {
            auto& s = sum[(q * R + r) * V + v];
            s = hn::MulAdd(question, row[r], s);
          });
        });
      });
    unrolled<Q>([&](auto q) WORDLOOM_INLINED {
      unrolled<R>([&](auto r) WORDLOOM_INLINED {
        unrolled<V>([&](auto v) WORDLOOM_INLINED {
          hn::Store(sum[(q * R + r) * V + v], d, parts[q] + (first + r) * 16 + v * hn::MaxLanes(d));
        });
      });
    });
  }
  unrolled<Q>([&](auto q) WORDLOOM_INLINED { sums[q] = sums_of_four(parts[q]); });
}

/// Writes the products of Q questions from the first on with all rows.
template <std::size_t Q>
HWY_INLINE void dot_tiles(const DotProducts& p, std::size_t first) {
  // The most that 32 registers of AVX-512 and 16 of others hold, with those of the rows.
  constexpr std::size_t R = hn::MaxLanes(RowTag()) == 16 ? 4 : 2;
  const float* questions[Q];
  unrolled<Q>([&](auto q)
                  WORDLOOM_INLINED { questions[q] = p.questions + (first + q) * p.stride; });
  for (std::size_t r = 0; r < p.row_count; r += 4) {
    const std::size_t last = p.row_count - 1;
    const float* rows[4];
    alignas(16) float scales[4], products[4];
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t row = r + i < last ? r + i : last;
      rows[i] = p.rows + row * p.stride;
      scales[i] = p.scales[row];
    }
    FourSums sums[Q];
    dot_tile<Q, R>(questions, rows, p.stride, sums);
    unrolled<Q>([&](auto q) WORDLOOM_INLINED {
      float* const to = p.products + (first + q) * p.to_next + r;
      if (r + 4 <= p.row_count) {
        store_scaled(sums[q], scales, to);
      } else {
        store_scaled(sums[q], scales, products);
        for (std::size_t i = 0; r + i < p.row_count; ++i) to[i] = products[i];
      }
    });
  }
}

HWY_ATTR inline void dot_products(const DotProducts& p) noexcept {
  constexpr std::size_t lanes = hn::MaxLanes(RowTag());
  constexpr std::size_t most = lanes == 16 ? 6 : lanes == 8 ? 3 : 1;
  std::size_t q = 0;
  for (; q + most <= p.question_count; q += most) dot_tiles<most>(p, q);
  if constexpr (most > 3)
    for (; q + 3 <= p.question_count; q += 3) dot_tiles<3>(p, q);
  for (; q < p.question_count; ++q) dot_tiles<1>(p, q);
}

HWY_ATTR inline float dot_product_of_two(const float* a, const float* b,
                                         std::size_t stride) noexcept {
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<RowTag> sum[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  std::size_t c = 0;
  for (; c + 4 * lanes <= stride; c += 4 * lanes)
    unrolled<4>([&](auto i) WORDLOOM_INLINED {
      const std::size_t at = c + i * lanes;
      sum[i] = hn::MulAdd(hn::Load(d, a + at), hn::Load(d, b + at), sum[i]);
    });
  for (; c < stride; c += lanes)
    sum[0] = hn::MulAdd(hn::Load(d, a + c), hn::Load(d, b + c), sum[0]);
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(sum[0], sum[1]), hn::Add(sum[2], sum[3]))));
}

}}}}  // namespace wordloom::WORDLOOM_ABI::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
