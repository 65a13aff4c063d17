#pragma once

// Highway 1.0 stops with an #error under -march=native on a machine that has AVX3_DL (VNNI, VAES,
// ...) unless that target is asked for.
#ifndef HWY_WANT_AVX3_DL
#define HWY_WANT_AVX3_DL
#endif
// Without -m flags Highway falls back to single floats with old compilers (GCC bug 106322, which
// concerns integer operations that are not used here), and those lack operations that are.
#ifndef HWY_BROKEN_EMU128
#define HWY_BROKEN_EMU128 0
#endif
#include <hwy/highway.h>

/// Vectors (Highway). Vector code is compiled for the instruction set that the compiler's flags
/// allow and, on x86-64, for AVX2 and AVX-512 where the flags allow less: target.hpp chooses one at
/// run time. It is in files *.inl, which for_each_target.inl includes once for each of them.
/// Defining WORDLOOM_ONE_TARGET before leaves the others out; a source file that uses Highway's own
/// foreach_target.h has to.
#if HWY_ARCH_X86_64 && !HWY_COMPILER_MSVC && !defined(WORDLOOM_ONE_TARGET)
#define WORDLOOM_COMPILES_AVX3 (HWY_STATIC_TARGET > HWY_AVX3)
#define WORDLOOM_COMPILES_AVX2 (HWY_STATIC_TARGET > HWY_AVX2)
#else
#define WORDLOOM_COMPILES_AVX3 0
#define WORDLOOM_COMPILES_AVX2 0
#endif

// Highway's operations for these targets. Its headers come in again whenever HWY_TARGET_TOGGLE has
// changed, as in its foreach_target.h.
#if WORDLOOM_COMPILES_AVX3
#define HWY_TARGET_TOGGLE
#undef HWY_TARGET
#define HWY_TARGET HWY_AVX3
#include <hwy/highway.h>
#if WORDLOOM_COMPILES_AVX2
#undef HWY_TARGET_TOGGLE
#undef HWY_TARGET
#define HWY_TARGET HWY_AVX2
#include <hwy/highway.h>
#endif
#undef HWY_TARGET
#define HWY_TARGET HWY_STATIC_TARGET
#include <wordloom/simd/set_target.inl>
#endif

namespace wordloom::inline WORDLOOM_ABI::simd {

/// Of the compiler's flags.
namespace hn = hwy::HWY_NAMESPACE;

}  // namespace wordloom::inline WORDLOOM_ABI::simd
