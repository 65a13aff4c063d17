HWY_BEFORE_NAMESPACE();
namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd { namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Calls use(tag, c) for each vector of `size` floats, which begins at float c: whole vectors, then
/// single floats.
template <class Use>
HWY_INLINE void for_each_vector(std::size_t size, Use use) noexcept {
  const RowTag d;
  const hn::CappedTag<float, 1> one;
  std::size_t c = 0;
  for (; c + hn::Lanes(d) <= size; c += hn::Lanes(d)) use(d, c);
  for (; c < size; ++c) use(one, c);
}

/// Returns the sum over `size` floats to which use(tag, c, sum) adds the vector at float c.
template <class Use>
HWY_INLINE float sum_vectors(std::size_t size, Use use) noexcept {
  const RowTag d;
  const hn::CappedTag<float, 1> one;
  auto vectors = hn::Zero(d);
  std::size_t c = 0;
  for (; c + hn::Lanes(d) <= size; c += hn::Lanes(d)) vectors = use(d, c, vectors);
  auto sum = hn::Set(one, hn::GetLane(hn::SumOfLanes(d, vectors)));
  for (; c < size; ++c) sum = use(one, c, sum);
  return hn::GetLane(sum);
}

/// Writes the difference of a row to `base` to `change` and `own`; returns its squared norm. `row`
/// and `base` are rows of matrices, the others are unaligned.
HWY_ATTR inline float take_change(const float* row, const float* base, float* change, float* own,
                                  std::size_t size) noexcept {
  return sum_vectors(size, [=](auto d, std::size_t c, auto squares) WORDLOOM_INLINED {
    const auto difference = hn::Sub(load_row(d, row + c), hn::Load(d, base + c));
    hn::StoreU(difference, d, change + c);
    hn::StoreU(difference, d, own + c);
    return hn::MulAdd(difference, difference, squares);
  });
}

/// Returns the squared norm that take_change() returns, bit for bit.
HWY_ATTR inline float square_of_change(const float* row, const float* base,
                                       std::size_t size) noexcept {
  return sum_vectors(size, [=](auto d, std::size_t c, auto squares) WORDLOOM_INLINED {
    const auto difference = hn::Sub(load_row(d, row + c), hn::Load(d, base + c));
    return hn::MulAdd(difference, difference, squares);
  });
}

/// Adds the agreed `change` to `base`, and replaces `own` by it in `row`, which may have been
/// changed further since: if not, it becomes `base`, bit for bit.
HWY_ATTR inline void put_change(float* row, float* base, const float* change, const float* own,
                                std::size_t size) noexcept {
  for_each_vector(size, [=](auto d, std::size_t c) WORDLOOM_INLINED {
    const auto before = hn::Load(d, base + c);
    const auto after = hn::Add(before, hn::LoadU(d, change + c));
    const auto since = hn::Sub(hn::Sub(load_row(d, row + c), before), hn::LoadU(d, own + c));
    hn::Store(after, d, base + c);
    store_row(d, hn::Add(after, since), row + c);
  });
}

HWY_ATTR inline float dot_unaligned(const float* a, const float* b, std::size_t size) noexcept {
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d);
  // Four sums, so that no addition waits for the one before.
  auto sum0 = hn::Zero(d), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  std::size_t first = 0;
  for (; first + 4 * lanes <= size; first += 4 * lanes) {
    const float *const x = a + first, *const y = b + first;
    sum0 = hn::MulAdd(hn::LoadU(d, x), hn::LoadU(d, y), sum0);
    sum1 = hn::MulAdd(hn::LoadU(d, x + lanes), hn::LoadU(d, y + lanes), sum1);
    sum2 = hn::MulAdd(hn::LoadU(d, x + 2 * lanes), hn::LoadU(d, y + 2 * lanes), sum2);
    sum3 = hn::MulAdd(hn::LoadU(d, x + 3 * lanes), hn::LoadU(d, y + 3 * lanes), sum3);
  }
  const auto sums = hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3));
  return hn::GetLane(hn::SumOfLanes(d, sums)) +
         sum_vectors(size - first, [=](auto tag, std::size_t c, auto sum) WORDLOOM_INLINED {
           return hn::MulAdd(hn::LoadU(tag, a + first + c), hn::LoadU(tag, b + first + c), sum);
         });
}

/// Computes a = by x a + of_b x b.
HWY_ATTR inline void mix(float* a, float by, const float* b, float of_b,
                         std::size_t size) noexcept {
  for_each_vector(size, [=](auto d, std::size_t c) WORDLOOM_INLINED {
    const auto of_other = hn::Mul(hn::Set(d, of_b), hn::LoadU(d, b + c));
    hn::StoreU(hn::MulAdd(hn::Set(d, by), hn::LoadU(d, a + c), of_other), d, a + c);
  });
}

template <class D>
HWY_INLINE hn::Vec<D> load_bf16(D d, const std::uint16_t* from) noexcept {
  const hn::Rebind<std::uint32_t, D> u;
  const hn::Rebind<std::uint16_t, D> half;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(u, hn::LoadU(half, from))));
}
/// Stores the nearest bf16; NaN stays NaN.
template <class D>
HWY_INLINE void store_bf16(D, hn::Vec<D> x, std::uint16_t* to) noexcept {
  const hn::Rebind<std::uint32_t, D> u;
  const hn::Rebind<std::int32_t, D> i;
  const hn::Rebind<std::uint16_t, D> half;
  const auto bits = hn::BitCast(u, x);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(u, 1));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(u, 0x7fff)));
  const auto is_nan = hn::RebindMask(u, hn::Not(hn::Eq(x, x)));
  const auto nan = hn::Or(bits, hn::Set(u, 0x400000));
  const auto high = hn::ShiftRight<16>(hn::IfThenElse(is_nan, nan, rounded));
  hn::StoreU(hn::DemoteTo(half, hn::BitCast(i, high)), half, to);
}

/// Converts floats to bf16. Both arrays may be unaligned.
HWY_ATTR inline void pack_bf16(const float* from, std::uint16_t* to, std::size_t size) noexcept {
  for_each_vector(size, [=](auto d, std::size_t c)
                            WORDLOOM_INLINED { store_bf16(d, hn::LoadU(d, from + c), to + c); });
}
HWY_ATTR inline void unpack_bf16(const std::uint16_t* from, float* to, std::size_t size) noexcept {
  for_each_vector(size, [=](auto d, std::size_t c)
                            WORDLOOM_INLINED { hn::StoreU(load_bf16(d, from + c), d, to + c); });
}
/// Computes to += from, rounded.
HWY_ATTR inline void add_bf16(const std::uint16_t* from, std::uint16_t* to,
                              std::size_t size) noexcept {
  for_each_vector(size, [=](auto d, std::size_t c) WORDLOOM_INLINED {
    store_bf16(d, hn::Add(load_bf16(d, from + c), load_bf16(d, to + c)), to + c);
  });
}

/// Returns the largest magnitude.
HWY_ATTR inline float largest(const float* values, std::size_t size) noexcept {
  const RowTag d;
  auto most = hn::Zero(d);
  std::size_t c = 0;
  for (; c + hn::Lanes(d) <= size; c += hn::Lanes(d))
    most = hn::Max(most, hn::Abs(hn::LoadU(d, values + c)));
  float result = hn::GetLane(hn::MaxOfLanes(d, most));
  for (; c < size; ++c) result = std::fmax(result, std::fabs(values[c]));
  return result;
}

/// Writes the codes of `vectors` vectors at `values`, `distance` apart; adds their products with
/// the values of the codes, and the squares of these.
template <class D>
HWY_INLINE void quantise_vectors(D d, const float* values, std::size_t distance,
                                 std::size_t vectors, float by, unsigned bits, std::uint8_t* codes,
                                 hn::Vec<D>& products, hn::Vec<D>& squares) noexcept {
  const hn::Rebind<std::int32_t, D> i;
  const hn::Rebind<std::uint8_t, D> u8;
  const float top = static_cast<float>((1u << bits) - 1);
  const auto half = hn::Set(d, (top + 1) / 2), middle = hn::Set(d, top / 2);
  auto all = hn::Zero(i);
  for (std::size_t k = 0; k < vectors; ++k) {
    const auto x = hn::LoadU(d, values + k * distance);
    const auto place = hn::MulAdd(x, hn::Set(d, by), half);
    const auto code = hn::ConvertTo(i, hn::Min(hn::Max(place, hn::Zero(d)), hn::Set(d, top)));
    const auto value = hn::Sub(hn::ConvertTo(d, code), middle);
    products = hn::MulAdd(x, value, products);
    squares = hn::MulAdd(value, value, squares);
    all = hn::Or(all, hn::ShiftLeftSame(code, static_cast<int>(k * bits)));
  }
  hn::StoreU(hn::DemoteTo(u8, all), u8, codes);
}
/// Writes the codes of finite `values` times `by`, see QuantisedRows; returns the scale by which
/// they have the least squared error.
HWY_ATTR inline float quantise(const float* values, float by, unsigned bits, std::uint8_t* codes,
                               std::size_t size) noexcept {
  const RowTag d;
  const hn::CappedTag<float, 1> one;
  const std::size_t bytes = (size * bits + 7) / 8, most = 8 / bits;
  const std::size_t before = (most - 1) * bytes;  // values in all bits of bytes but the last ones
  const std::size_t whole = size > before ? size - before : 0;  // bytes without free bits
  auto products = hn::Zero(d), squares = products;
  auto products_of_rest = hn::Zero(one), squares_of_rest = products_of_rest;
  std::size_t j = 0;
  for (; j + hn::Lanes(d) <= whole; j += hn::Lanes(d))
    quantise_vectors(d, values + j, bytes, most, by, bits, codes + j, products, squares);
  for (; j < bytes; ++j)
    quantise_vectors(one, values + j, bytes, j < whole ? most : (size - j + bytes - 1) / bytes, by,
                     bits, codes + j, products_of_rest, squares_of_rest);
  return (hn::GetLane(hn::SumOfLanes(d, products)) + hn::GetLane(products_of_rest)) /
         (hn::GetLane(hn::SumOfLanes(d, squares)) + hn::GetLane(squares_of_rest));
}
/// Writes the values of `codes` with a scale: see QuantisedRows. The loops are for the compiler to
/// vectorise.
HWY_ATTR inline void dequantise(const std::uint8_t* codes, float scale, unsigned bits,
                                float* values, std::size_t size) noexcept {
  const std::size_t bytes = (size * bits + 7) / 8;
  const unsigned top = (1u << bits) - 1;
  const float middle = static_cast<float>(top) / 2;
  for (unsigned shift = 0; size > 0; shift += bits) {
    const std::size_t part = size < bytes ? size : bytes;
    for (std::size_t i = 0; i < part; ++i)
      values[i] = (static_cast<float>(static_cast<int>(codes[i] >> shift & top)) - middle) * scale;
    values += part;
    size -= part;
  }
}

/// Calls use(tag, c) for each vector of `size` floats, a power of two, which begins at float c.
template <class Use>
HWY_INLINE void for_each_vector_of_power(std::size_t size, Use use) noexcept {
  const RowTag d;
  const hn::CappedTag<float, 4> four;
  const hn::CappedTag<float, 1> one;
  if (size >= hn::Lanes(d)) {
    for (std::size_t c = 0; c < size; c += hn::Lanes(d)) use(d, c);
  } else if (size >= hn::Lanes(four)) {
    for (std::size_t c = 0; c < size; c += hn::Lanes(four)) use(four, c);
  } else {
    for (std::size_t c = 0; c < size; ++c) use(one, c);
  }
}
#if HWY_TARGET != HWY_SCALAR  // which has vectors of one value
/// The first steps of walsh_hadamard(), of values that are in one vector: the swapped values plus
/// or minus the values. Returns the size of the blocks that remain to be added and subtracted.
template <class D>
HWY_INLINE std::size_t walsh_hadamard_within(D d, float* x, std::size_t size) noexcept {
  alignas(16) static constexpr float of_pairs[4] = {1, -1, 1, -1}, of_fours[4] = {1, 1, -1, -1};
  alignas(64) static constexpr float of_eights[16] = {1, 1, 1, 1, -1, -1, -1, -1,
                                                      1, 1, 1, 1, -1, -1, -1, -1};
  const auto pairs = hn::LoadDup128(d, of_pairs), fours = hn::LoadDup128(d, of_fours);
  const bool has_eight = hn::Lanes(d) >= 8;
  for (std::size_t c = 0; c < size; c += hn::Lanes(d)) {
    auto v = hn::LoadU(d, x + c);
    v = hn::MulAdd(v, pairs, hn::Shuffle2301(v));
    v = hn::MulAdd(v, fours, hn::Shuffle1032(v));
    if (has_eight) v = hn::MulAdd(v, hn::Load(d, of_eights), hn::SwapAdjacentBlocks(v));
    hn::StoreU(v, d, x + c);
  }
  return has_eight ? 8 : 4;
}
#endif
/// Replaces `size` values, a power of two, by their Walsh-Hadamard transform, two steps at a time.
HWY_ATTR inline void walsh_hadamard(float* x, std::size_t size) noexcept {
  std::size_t h = 1;
#if HWY_TARGET != HWY_SCALAR
  if (size >= hn::Lanes(RowTag()))
    h = walsh_hadamard_within(RowTag(), x, size);
  else if (size >= 4)
    h = walsh_hadamard_within(hn::CappedTag<float, 4>(), x, size);
#endif
  for (; 4 * h <= size; h *= 4)
    for (std::size_t first = 0; first < size; first += 4 * h)
      for_each_vector_of_power(h, [=](auto d, std::size_t c) WORDLOOM_INLINED {
        float* const at = x + first + c;
        const auto a0 = hn::LoadU(d, at), a1 = hn::LoadU(d, at + h);
        const auto a2 = hn::LoadU(d, at + 2 * h), a3 = hn::LoadU(d, at + 3 * h);
        const auto sum = hn::Add(a0, a1), difference = hn::Sub(a0, a1);
        const auto sum2 = hn::Add(a2, a3), difference2 = hn::Sub(a2, a3);
        hn::StoreU(hn::Add(sum, sum2), d, at);
        hn::StoreU(hn::Add(difference, difference2), d, at + h);
        hn::StoreU(hn::Sub(sum, sum2), d, at + 2 * h);
        hn::StoreU(hn::Sub(difference, difference2), d, at + 3 * h);
      });
  if (h < size)
    for_each_vector_of_power(h, [=](auto d, std::size_t c) WORDLOOM_INLINED {
      const auto a = hn::LoadU(d, x + c), b = hn::LoadU(d, x + h + c);
      hn::StoreU(hn::Add(a, b), d, x + c);
      hn::StoreU(hn::Sub(a, b), d, x + h + c);
    });
}
HWY_ATTR inline void multiply(float* x, const float* by, std::size_t size) noexcept {
  for_each_vector(size, [=](auto d, std::size_t c) WORDLOOM_INLINED {
    hn::StoreU(hn::Mul(hn::LoadU(d, x + c), hn::LoadU(d, by + c)), d, x + c);
  });
}
/// Rotates `size` values: signs and the transform of the first ones, as many as the largest power
/// of two that fits, then of the last ones. `signs`: see QuantisedRows.
HWY_ATTR inline void rotate(float* x, const float* signs, std::size_t size) noexcept {
  const std::size_t part = std::bit_floor(size), rest = size - part;
  multiply(x, signs, part);
  walsh_hadamard(x, part);
  if (rest == 0) return;
  multiply(x + rest, signs + part, part);
  walsh_hadamard(x + rest, part);
}
/// Reverses rotate().
HWY_ATTR inline void rotate_back(float* x, const float* signs, std::size_t size) noexcept {
  const std::size_t part = std::bit_floor(size), rest = size - part;
  if (rest > 0) {
    walsh_hadamard(x + rest, part);
    multiply(x + rest, signs + part, part);
  }
  walsh_hadamard(x, part);
  multiply(x, signs, part);
}

inline RowChangeFunctions row_change_table() noexcept {
  return {take_change, square_of_change, put_change, dot_unaligned, mix,    pack_bf16,  unpack_bf16,
          add_bf16,    largest,          quantise,   dequantise,    rotate, rotate_back};
}

}}}}  // namespace wordloom::WORDLOOM_ABI::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
