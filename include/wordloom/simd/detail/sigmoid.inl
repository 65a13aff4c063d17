HWY_BEFORE_NAMESPACE();
namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd { namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Returns the smaller of `limit` and x >= 0; NaN stays NaN.
template <class V>
HWY_INLINE V at_most(V limit, V x) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSSE3
  return hn::Min(limit, x);  // minps gives its second operand where one is NaN
#else
  return hn::IfThenElse(hn::Gt(x, limit), limit, x);
#endif
}

/// Returns exp(-|x|) in each lane, relative error below 2^-22; 0 from |x| > 87.68 on (the true
/// value is below the smallest normal float); NaN stays NaN. Range reduction to |r| <= ln(2) / 2
/// and a minimax polynomial. Kernels wait for the result: as few operations as possible depend on
/// each other.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_minus_abs(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V a = at_most(hn::Set(d, 88.0f), hn::Abs(x));
  const auto exponent = hn::NearestInt(hn::Mul(a, hn::Set(d, -1.44269504088896341f)));
  const V n = hn::ConvertTo(d, exponent);
  V r = hn::NegMulSub(n, hn::Set(d, 0.693359375f), a);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  // 2^exponent; an exponent of -127 gives 0, which is the flush to zero stated above.
  const V scale = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(exponent, hn::Set(di, 127))));
  const V r2 = hn::Mul(r, r);
  const V low = hn::MulAdd(hn::Set(d, 0.16667115389363599f), r, hn::Set(d, 0.49999230305915932f));
  const V high =
      hn::MulAdd(hn::Set(d, 0.0083125014226972105f), r, hn::Set(d, 0.041890332060410734f));
  const V linear = hn::MulAdd(r, scale, scale);
  return hn::MulAdd(hn::MulAdd(high, r2, low), hn::Mul(r2, scale), linear);
}

/// Returns factor / (1 + exp(-x)) in each lane, given e = exp(-|x|).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V sigmoid_from(D d, V x, V e, V factor) {
  const V numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(factor, e), factor);
  return hn::Div(numerator, hn::Add(hn::Set(d, 1.0f), e));
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V sigmoid_from(D d, V x, V e) {
  return sigmoid_from(d, x, e, hn::Set(d, 1.0f));
}

}}}}  // namespace wordloom::WORDLOOM_ABI::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
