HWY_BEFORE_NAMESPACE();
namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd { namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

HWY_ATTR inline void max_over_time(const ConvolutionTable& table, const std::uint32_t* symbols,
                                   std::size_t length, const float* bias, float* hidden,
                                   std::int32_t* places) noexcept {
  const RowTag d;
  const hn::RebindToSigned<RowTag> integers;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t places_tried =
      length > table.width ? (length - table.width) / table.step + 1 : 1;
  const std::size_t width = (std::min)(table.width, length);
  for_columns<4>(table.stride, [&]<std::size_t V>(std::size_t first) WORDLOOM_INLINED {
    hn::Vec<RowTag> best[V], sum[V];
    hn::Vec<hn::RebindToSigned<RowTag>> place[V];
    const std::uint32_t* window = symbols;
    for (std::size_t p = 0; p < places_tried; ++p, window += table.step) {
      for (std::size_t k = 0; k < width; ++k) {
        const float* const row =
            table.rows + (k * table.symbols + window[k]) * table.stride + first;
        unrolled<V>([&](auto v) WORDLOOM_INLINED {
          const auto more = hn::Load(d, row + v * lanes);
          sum[v] = k == 0 ? more : hn::Add(sum[v], more);
        });
      }
      unrolled<V>([&](auto v) WORDLOOM_INLINED {
        if (p == 0) {
          best[v] = sum[v];
          place[v] = hn::Zero(integers);
          return;
        }
        const auto is_better = hn::Gt(sum[v], best[v]);
        best[v] = hn::IfThenElse(is_better, sum[v], best[v]);
        place[v] = hn::IfThenElse(hn::RebindMask(integers, is_better),
                                  hn::Set(integers, static_cast<std::int32_t>(p)), place[v]);
      });
    }
    unrolled<V>([&](auto v) WORDLOOM_INLINED {
      const std::size_t c = first + v * lanes;
      hn::Store(hn::Max(hn::Add(best[v], hn::Load(d, bias + c)), hn::Set(d, table.least)), d,
                hidden + c);
      hn::StoreU(place[v], integers, places + c);
    });
  });
}

HWY_ATTR inline void all_windows(const ConvolutionTable& table, const std::uint32_t* symbols,
                                 std::size_t length, const float* bias, std::size_t positions,
                                 float* hidden) noexcept {
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t width = (std::min)(table.width, length);
  const std::size_t windows = (std::min)(positions, length - width + 1);
  std::fill_n(hidden + windows * table.stride, (positions - windows) * table.stride, 0.0f);
  for (std::size_t p = 0; p < windows; ++p)
    for_columns<4>(table.stride, [&]<std::size_t V>(std::size_t first) WORDLOOM_INLINED {
      hn::Vec<RowTag> sum[V];
      unrolled<V>([&](auto v) WORDLOOM_INLINED { sum[v] = hn::Load(d, bias + first + v * lanes); });
      for (std::size_t k = 0; k < width; ++k) {
        const float* const row =
            table.rows + (k * table.symbols + symbols[p + k]) * table.stride + first;
        unrolled<V>([&](auto v) WORDLOOM_INLINED {
          sum[v] = hn::Add(sum[v], hn::Load(d, row + v * lanes));
        });
      }
      unrolled<V>([&](auto v) WORDLOOM_INLINED {
        hn::Store(hn::Max(sum[v], hn::Zero(d)), d, hidden + p * table.stride + first + v * lanes);
      });
    });
}

HWY_ATTR inline void pass_positive(const float* hidden, float* gradient,
                                   std::size_t size) noexcept {
  const RowTag d;
  for (std::size_t c = 0; c < size; c += hn::Lanes(d)) {
    const auto passes = hn::Gt(hn::Load(d, hidden + c), hn::Zero(d));
    hn::Store(hn::IfThenElseZero(passes, hn::Load(d, gradient + c)), d, gradient + c);
  }
}

inline ConvolutionFunctions convolution_table() noexcept {
  return {max_over_time, all_windows, pass_positive};
}

}}}}  // namespace wordloom::WORDLOOM_ABI::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
