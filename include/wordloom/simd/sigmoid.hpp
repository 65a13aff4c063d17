#pragma once
#include <wordloom/simd/detail/simd.hpp>

#define WORDLOOM_VECTOR_CODE <wordloom/simd/detail/sigmoid.inl>
#include <wordloom/simd/detail/for_each_target.inl>

namespace wordloom { inline namespace WORDLOOM_ABI {
namespace simd {
using HWY_NAMESPACE::exp_minus_abs;
using HWY_NAMESPACE::sigmoid_from;
}  // namespace simd

namespace detail {

/// The logistic function 1 / (1 + exp(-x)), without a table and without saturation at +-6: its
/// relative error is below 2^-21 for every float above -87.68, below which it is 0 (the true value
/// is below the smallest normal float). NaN gives NaN. The kernels run this code on whole vectors.
inline float sigmoid(float x) {
  const simd::hn::CappedTag<float, 1> d;
  const auto v = simd::hn::Set(d, x);
  return simd::hn::GetLane(simd::sigmoid_from(d, v, simd::exp_minus_abs(d, v)));
}

}  // namespace detail

}}  // namespace wordloom::WORDLOOM_ABI
