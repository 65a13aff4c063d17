HWY_BEFORE_NAMESPACE();
namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd { namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The vectors that products are summed in: as many floats as one load of int8 fills.
using ProductTag = hn::CappedTag<float, 16>;

/// Loads a vector of floats from numbers of another type.
struct LoadFloat32 {
  static constexpr std::size_t bytes = 4;
  HWY_INLINE hn::Vec<ProductTag> operator()(ProductTag d, const char* from) const {
    return hn::LoadU(d, reinterpret_cast<const float*>(from));
  }
};
struct LoadFloat16 {
  static constexpr std::size_t bytes = 2;
  HWY_INLINE hn::Vec<ProductTag> operator()(ProductTag d, const char* from) const {
    const hn::Rebind<hwy::float16_t, ProductTag> half;
    return hn::PromoteTo(d, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(from)));
  }
};
struct LoadInt8 {
  static constexpr std::size_t bytes = 1;
  HWY_INLINE hn::Vec<ProductTag> operator()(ProductTag d, const char* from) const {
    const hn::Rebind<std::int8_t, ProductTag> small;
    const hn::Rebind<std::int32_t, ProductTag> whole;
    return hn::ConvertTo(
        d, hn::PromoteTo(whole, hn::LoadU(small, reinterpret_cast<const std::int8_t*>(from))));
  }
};

/// CompressedFunctions::Dots. Two rows at a time and four vectors of each, whose sums do not wait
/// for each other.
template <class LoadNumbers>
HWY_ATTR void compressed_dots(const float* vector, const char* rows, std::size_t dimension,
                              std::size_t count, float* products) noexcept {
  const ProductTag d;
  const LoadNumbers load;
  constexpr std::size_t bytes = LoadNumbers::bytes;
  const std::size_t lanes = hn::Lanes(d), row_bytes = dimension * bytes;
  for (std::size_t i = 0; i < count; i += 2) {
    const char* const a = rows + i * row_bytes;
    const char* const b = i + 1 < count ? a + row_bytes : a;
    auto a0 = hn::Zero(d), a1 = a0, b0 = a0, b1 = a0;
    std::size_t c = 0;
    for (; c + 2 * lanes <= dimension; c += 2 * lanes) {
      const auto x = hn::LoadU(d, vector + c), y = hn::LoadU(d, vector + c + lanes);
      a0 = hn::MulAdd(x, load(d, a + c * bytes), a0);
      a1 = hn::MulAdd(y, load(d, a + (c + lanes) * bytes), a1);
      b0 = hn::MulAdd(x, load(d, b + c * bytes), b0);
      b1 = hn::MulAdd(y, load(d, b + (c + lanes) * bytes), b1);
    }
    for (; c < dimension; c += lanes) {
      // Numbers behind the row are left out: they may not be finite.
      const auto own = hn::FirstN(d, dimension - c);
      const auto x = hn::LoadU(d, vector + c);
      a0 = hn::MulAdd(x, hn::IfThenElseZero(own, load(d, a + c * bytes)), a0);
      b0 = hn::MulAdd(x, hn::IfThenElseZero(own, load(d, b + c * bytes)), b0);
    }
    products[i] = hn::GetLane(hn::SumOfLanes(d, hn::Add(a0, a1)));
    if (i + 1 < count) products[i + 1] = hn::GetLane(hn::SumOfLanes(d, hn::Add(b0, b1)));
  }
}

HWY_ATTR inline void nearest_centres(const float* centres, const float* halves, std::size_t columns,
                                     const float* points, std::size_t stride, std::size_t count,
                                     std::uint8_t* numbers, std::size_t step) noexcept {
  constexpr std::size_t most = 256;
  const ProductTag d;
  const std::size_t lanes = hn::Lanes(d);
  alignas(64) float values[16], of[16];
  for (std::size_t i = 0; i < count; ++i) {
    const float* const point = points + i * stride;
    auto best = hn::Set(d, std::numeric_limits<float>::infinity()), number = hn::Iota(d, 0.0f);
    for (std::size_t c = 0; c < most; c += lanes) {
      auto value = hn::LoadU(d, halves + c);
      for (std::size_t k = 0; k < columns; ++k)
        value = hn::NegMulAdd(hn::Set(d, point[k]), hn::LoadU(d, centres + k * most + c), value);
      const auto is_nearer = hn::Lt(value, best);
      best = hn::IfThenElse(is_nearer, value, best);
      number = hn::IfThenElse(is_nearer, hn::Iota(d, static_cast<float>(c)), number);
    }
    hn::Store(best, d, values);
    hn::Store(number, d, of);
    std::size_t first = 0;
    for (std::size_t k = 1; k < lanes; ++k)
      if (values[k] < values[first] || (values[k] == values[first] && of[k] < of[first])) first = k;
    numbers[i * step] = static_cast<std::uint8_t>(of[first]);
  }
}

inline CompressedFunctions compressed_functions_of_target() noexcept {
  return {compressed_dots<LoadFloat32>, compressed_dots<LoadFloat16>, compressed_dots<LoadInt8>,
          nearest_centres};
}

}}}}  // namespace wordloom::WORDLOOM_ABI::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
