#pragma once
#include <cmath>
#include <cstddef>

#include <wordloom/core/detail/abi.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd {

/// The state of a row under Adam.
struct AdamState {
  float* mean;    // [stride] of gradients
  float* square;  // [stride] mean of squared gradients
  float* steps;   // [1] number of updates so far
};

/// The constants of Adam.
struct AdamConstants {
  float beta1, beta2;
  float rest1, rest2;       // 1 - beta
  double log_of1, log_of2;  // logarithms of both betas
  float epsilon;
};

/// The constants of RMSProp.
struct RmsPropConstants {
  float decay, rest;  // 1 - decay
  float epsilon;
};

/// The vector code of optimizers: each function changes one row by its gradient. Arrays have
/// `stride` floats, aligned to 64 bytes.
struct OptimizerFunctions {
  /// Takes (row, gradient, stride, rate).
  void (*sgd)(float*, const float*, std::size_t, float) noexcept;
  /// Takes (row, sums of squares, gradient, stride, rate, epsilon).
  void (*ada_grad)(float*, float*, const float*, std::size_t, float, float) noexcept;
  /// Takes (row, sum of mean squares [1], gradient, stride, rate, epsilon, 1 / columns).
  void (*ada_grad_by_row)(float*, float*, const float*, std::size_t, float, float, float) noexcept;
  /// Takes (row, sum of mean squares [1], gradient, stride, rate, sum at the start, 1 / columns).
  void (*row_ada_grad)(float*, float*, const float*, std::size_t, float, float, float) noexcept;
  /// Takes (row, means of squares, gradient, stride, rate, constants).
  void (*rms_prop)(float*, float*, const float*, std::size_t, float,
                   const RmsPropConstants&) noexcept;
  /// Takes (row, state, gradient, stride, rate, constants).
  void (*adam)(float*, const AdamState&, const float*, std::size_t, float,
               const AdamConstants&) noexcept;
};
OptimizerFunctions optimizer_functions();

}}}  // namespace wordloom::WORDLOOM_ABI::simd

#ifndef WORDLOOM_PRECOMPILED
#include <wordloom/simd/detail/row_access.hpp>
#include <wordloom/simd/instruction_set.hpp>
#define WORDLOOM_VECTOR_CODE <wordloom/optimizer/detail/optimizer_steps.inl>
#include <wordloom/simd/detail/for_each_target.inl>
inline wordloom::simd::OptimizerFunctions wordloom::simd::optimizer_functions() {
  return WORDLOOM_OF_TARGET(optimizer_table());
}
#endif
