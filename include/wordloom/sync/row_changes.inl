HWY_BEFORE_NAMESPACE();
namespace wordloom::simd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// What a row has become more than `base`, twice; returns its squared norm. `row` and `base` are
/// rows of matrices, the others have no alignment.
HWY_ATTR inline float take_change(const float* row, const float* base, float* change, float* own,
                                  std::size_t size) noexcept {
  const RowTag d;
  auto squares = hn::Zero(d);
  std::size_t c = 0;
  for (; c + hn::Lanes(d) <= size; c += hn::Lanes(d)) {
    const auto difference = hn::Sub(load_row(d, row + c), hn::Load(d, base + c));
    hn::StoreU(difference, d, change + c);
    hn::StoreU(difference, d, own + c);
    squares = hn::MulAdd(difference, difference, squares);
  }
  float square = hn::GetLane(hn::SumOfLanes(d, squares));
  const hn::CappedTag<float, 1> one;
  for (; c < size; ++c) {
    change[c] = own[c] = hn::GetLane(load_row(one, row + c)) - base[c];
    square += own[c] * own[c];
  }
  return square;
}

/// What all agree on, `change`, is added to `base`, and takes the place of `own` in `row`, which
/// may have been changed further since: where it has not, it becomes `base`, bit for bit.
HWY_ATTR inline void put_change(float* row, float* base, const float* change, const float* own,
                                std::size_t size) noexcept {
  const RowTag d;
  std::size_t c = 0;
  for (; c + hn::Lanes(d) <= size; c += hn::Lanes(d)) {
    const auto before = hn::Load(d, base + c);
    const auto after = hn::Add(before, hn::LoadU(d, change + c));
    const auto since = hn::Sub(hn::Sub(load_row(d, row + c), before), hn::LoadU(d, own + c));
    hn::Store(after, d, base + c);
    store_row(d, hn::Add(after, since), row + c);
  }
  const hn::CappedTag<float, 1> one;
  for (; c < size; ++c) {
    const float since = hn::GetLane(load_row(one, row + c)) - base[c] - own[c];
    base[c] += change[c];
    store_row(one, hn::Set(one, base[c] + since), row + c);
  }
}

/// The dot product of two vectors, and the squared norm of the first.
HWY_ATTR inline ProductAndSquare product_and_square(const float* a, const float* b,
                                                    std::size_t size) noexcept {
  const RowTag d;
  auto products = hn::Zero(d), squares = hn::Zero(d);
  std::size_t c = 0;
  for (; c + hn::Lanes(d) <= size; c += hn::Lanes(d)) {
    const auto x = hn::LoadU(d, a + c);
    products = hn::MulAdd(x, hn::LoadU(d, b + c), products);
    squares = hn::MulAdd(x, x, squares);
  }
  ProductAndSquare result{hn::GetLane(hn::SumOfLanes(d, products)),
                          hn::GetLane(hn::SumOfLanes(d, squares))};
  for (; c < size; ++c) {
    result.product += a[c] * b[c];
    result.square += a[c] * a[c];
  }
  return result;
}

/// a = by x a + of_b x b.
HWY_ATTR inline void mix(float* a, float by, const float* b, float of_b,
                         std::size_t size) noexcept {
  const RowTag d;
  const auto first = hn::Set(d, by), second = hn::Set(d, of_b);
  std::size_t c = 0;
  for (; c + hn::Lanes(d) <= size; c += hn::Lanes(d))
    hn::StoreU(hn::MulAdd(first, hn::LoadU(d, a + c), hn::Mul(second, hn::LoadU(d, b + c))), d,
               a + c);
  for (; c < size; ++c) a[c] = by * a[c] + of_b * b[c];
}

/// The bits of the nearest bf16, in the lower halves; a NaN stays one.
HWY_ATTR inline auto to_bf16(hn::Vec<RowTag> x) noexcept {
  const hn::Rebind<std::uint32_t, RowTag> u;
  const auto bits = hn::BitCast(u, x);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(u, 1));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(u, 0x7fff)));
  const auto is_nan = hn::RebindMask(u, hn::Not(hn::Eq(x, x)));
  const auto nan = hn::Or(bits, hn::Set(u, 0x400000));
  return hn::ShiftRight<16>(hn::IfThenElse(is_nan, nan, rounded));
}
inline std::uint16_t to_bf16(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (x != x) return static_cast<std::uint16_t>((bits | 0x400000) >> 16);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
inline float from_bf16(std::uint16_t x) noexcept {
  return std::bit_cast<float>(std::uint32_t{x} << 16);
}
HWY_ATTR inline auto load_bf16(RowTag d, const std::uint16_t* from) noexcept {
  const hn::Rebind<std::uint32_t, RowTag> u;
  const hn::Rebind<std::uint16_t, RowTag> half;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(u, hn::LoadU(half, from))));
}
HWY_ATTR inline void store_bf16(hn::Vec<RowTag> x, std::uint16_t* to) noexcept {
  const hn::Rebind<std::int32_t, RowTag> i;
  const hn::Rebind<std::uint16_t, RowTag> half;
  hn::StoreU(hn::DemoteTo(half, hn::BitCast(i, to_bf16(x))), half, to);
}

/// Neither array has an alignment.
HWY_ATTR inline void pack_bf16(const float* from, std::uint16_t* to, std::size_t size) noexcept {
  const RowTag d;
  std::size_t c = 0;
  for (; c + hn::Lanes(d) <= size; c += hn::Lanes(d)) store_bf16(hn::LoadU(d, from + c), to + c);
  for (; c < size; ++c) to[c] = to_bf16(from[c]);
}
HWY_ATTR inline void unpack_bf16(const std::uint16_t* from, float* to, std::size_t size) noexcept {
  const RowTag d;
  std::size_t c = 0;
  for (; c + hn::Lanes(d) <= size; c += hn::Lanes(d)) hn::StoreU(load_bf16(d, from + c), d, to + c);
  for (; c < size; ++c) to[c] = from_bf16(from[c]);
}
/// to += from, rounded.
HWY_ATTR inline void add_bf16(const std::uint16_t* from, std::uint16_t* to,
                              std::size_t size) noexcept {
  const RowTag d;
  std::size_t c = 0;
  for (; c + hn::Lanes(d) <= size; c += hn::Lanes(d))
    store_bf16(hn::Add(load_bf16(d, from + c), load_bf16(d, to + c)), to + c);
  for (; c < size; ++c) to[c] = to_bf16(from_bf16(from[c]) + from_bf16(to[c]));
}

}  // namespace wordloom::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
