HWY_BEFORE_NAMESPACE();
namespace wordloom::simd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// exp(-|x|) in each lane, relative error below 2^-22; 0 from |x| > 87.68 on (the true value is
/// below the smallest normal float); NaN stays NaN. Range reduction to |r| <= ln(2) / 2 and the
/// minimax polynomial of Cephes' expf (Moshier).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_minus_abs(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V limit = hn::Set(d, 88.0f);
  const V absolute = hn::Abs(x);
  // A comparison and not Min, which may replace NaN.
  const V a = hn::Neg(hn::IfThenElse(hn::Gt(absolute, limit), limit, absolute));
  const auto exponent = hn::NearestInt(hn::Mul(a, hn::Set(d, 1.44269504088896341f)));
  const V n = hn::ConvertTo(d, exponent);
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), a);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  // In pairs (Estrin), because kernels wait for the result.
  const V r2 = hn::Mul(r, r);
  const V high = hn::MulAdd(hn::Set(d, 1.9875691500e-4f), r, hn::Set(d, 1.3981999507e-3f));
  const V middle = hn::MulAdd(hn::Set(d, 8.3334519073e-3f), r, hn::Set(d, 4.1665795894e-2f));
  const V low = hn::MulAdd(hn::Set(d, 1.6666665459e-1f), r, hn::Set(d, 5.0000001201e-1f));
  V p = hn::MulAdd(hn::MulAdd(high, r2, middle), r2, low);
  p = hn::MulAdd(p, r2, hn::Add(r, hn::Set(d, 1.0f)));
  // 2^exponent; an exponent of -127 gives 0, which is the flush to zero stated above.
  const auto bits = hn::ShiftLeft<23>(hn::Add(exponent, hn::Set(di, 127)));
  return hn::Mul(p, hn::BitCast(d, bits));
}

/// 1 / (1 + exp(-x)) in each lane, given e = exp(-|x|).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V sigmoid_from(D d, V x, V e) {
  const V one = hn::Set(d, 1.0f);
  const V numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one);
  return hn::Div(numerator, hn::Add(one, e));
}

}  // namespace wordloom::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
