#pragma once
#include <cmath>

#include <wordloom/core/types.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// The operations of LogisticPair on a float: fast intrinsics on a device, exact ones on the host.
struct FloatOperations {
  using Value = float;

  static WORDLOOM_BOTH float negate_positive(float score, float weight) {
    return weight > 0 ? -score : score;
  }
  static WORDLOOM_BOTH float multiply(float a, float b) { return a * b; }
  static WORDLOOM_BOTH float positive_part(float z) { return z < 0 ? 0 : z; }
  static WORDLOOM_BOTH float exp_minus_abs(float z) {
#ifdef __CUDA_ARCH__
    return __expf(-fabsf(z));
#else
    return std::exp(-std::fabs(z));
#endif
  }
  /// Returns factor * sigma(z). Computed from z alone, which takes fewer instructions than from
  /// exp(-|z|).
  static WORDLOOM_BOTH float sigmoid_times(float factor, float z, float) {
#if defined(__CUDA_ARCH__) && !defined(WORDLOOM_EMULATED_CUDA)
    // Like __fdividef and __expf, but without their steps for denormal numbers: 1 + exp(-z) is
    // never denormal.
    float exp, reciprocal;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(exp) : "f"(z * -1.4426950408889634f));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(1.0f + exp));
    return factor * reciprocal;
#elif defined(__CUDA_ARCH__)
    return __fdividef(factor, 1.0f + __expf(-z));
#else
    return factor / (1.0f + std::exp(-z));
#endif
  }
};

}  // namespace detail

#define WORDLOOM_TERM WORDLOOM_BOTH
#include <wordloom/objective/detail/logistic_terms.inl>
#undef WORDLOOM_TERM

namespace detail {

/// A pair on the host or on a device.
struct FloatPair : LogisticPair<FloatOperations> {
  using LogisticPair::LogisticPair;

  /// Returns the loss, by the natural logarithm.
  WORDLOOM_BOTH float loss() const {
#ifdef __CUDA_ARCH__
    return linear_loss() + __logf(1.0f + e);
#else
    return linear_loss() + std::log1p(e);
#endif
  }
};

}  // namespace detail

}}  // namespace wordloom::WORDLOOM_ABI
