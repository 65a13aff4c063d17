// Includes WORDLOOM_VECTOR_CODE, a file of functions in wordloom::simd::HWY_NAMESPACE between
// HWY_BEFORE_NAMESPACE() and HWY_AFTER_NAMESPACE(), once for each target that simd.hpp lists. The
// target of the compiler's flags is last, so that Highway's macros are as before afterwards.
#if WORDLOOM_COMPILES_AVX3
#undef HWY_TARGET
#define HWY_TARGET HWY_AVX3
#include <wordloom/simd/detail/set_target.inl>
#include WORDLOOM_VECTOR_CODE
#endif
#if WORDLOOM_COMPILES_AVX2
#undef HWY_TARGET
#define HWY_TARGET HWY_AVX2
#include <wordloom/simd/detail/set_target.inl>
#include WORDLOOM_VECTOR_CODE
#endif
#undef HWY_TARGET
#define HWY_TARGET HWY_STATIC_TARGET
#include <wordloom/simd/detail/set_target.inl>
#include WORDLOOM_VECTOR_CODE
#undef WORDLOOM_VECTOR_CODE
