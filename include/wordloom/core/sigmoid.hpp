#pragma once
#include <cstdint>

#include <wordloom/core/simd.hpp>

namespace wordloom {
namespace simd {

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
  V p = hn::Set(d, 1.9875691500e-4f);
  p = hn::MulAdd(p, r, hn::Set(d, 1.3981999507e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 8.3334519073e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.1665795894e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.6666665459e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 5.0000001201e-1f));
  p = hn::MulAdd(p, hn::Mul(r, r), hn::Add(r, hn::Set(d, 1.0f)));
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

}  // namespace simd

/// The logistic function 1 / (1 + exp(-x)), without a table and without saturation at +-6: its
/// relative error is below 2^-21 for every float above -87.68, below which it is 0 (the true value
/// is below the smallest normal float). NaN gives NaN. The kernels run this code on whole vectors.
inline float sigmoid(float x) {
  const simd::hn::CappedTag<float, 1> d;
  const auto v = simd::hn::Set(d, x);
  return simd::hn::GetLane(simd::sigmoid_from(d, v, simd::exp_minus_abs(d, v)));
}

}  // namespace wordloom
