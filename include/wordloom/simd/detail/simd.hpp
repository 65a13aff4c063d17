#pragma once

#ifdef HWY_TARGET_INCLUDE
#error "wordloom: a file that uses hwy/foreach_target.h needs wordloom::precompiled (CMake)"
#endif

// Highway 1.0 stops with an #error under -march=native on a machine that has AVX3_DL (VNNI, VAES,
// ...) unless that target is requested.
#ifndef HWY_WANT_AVX3_DL
#define HWY_WANT_AVX3_DL
#endif
// Without -m flags Highway falls back to single floats with old compilers (GCC bug 106322, which
// concerns integer operations that are not used here), and single floats lack operations that are
// used.
#ifndef HWY_BROKEN_EMU128
#define HWY_BROKEN_EMU128 0
#endif
// Vectors of a size that is not known when they are compiled cannot be members or elements of
// arrays, which the kernels need: machines with SVE run NEON, those with RISC-V's V no vectors.
#if !defined(HWY_DISABLED_TARGETS) && \
    (defined(__ARM_FEATURE_SVE) || defined(__riscv_v) || defined(__riscv_vector))
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif
#include <hwy/highway.h>

/// Vectors (Highway). Vector code is compiled for the instruction set that the compiler's flags
/// allow and, on x86-64, for AVX2 and AVX-512 where the flags allow less. It is in files *.inl,
/// which for_each_target.inl includes once for each instruction set. Each file ends with a table of
/// its functions, chosen at run time (target.hpp). Defining WORDLOOM_ONE_TARGET before including
/// leaves the other instruction sets out. With WORDLOOM_PRECOMPILED the tables come from the
/// library wordloom::precompiled, and this header is not needed: files can then use Highway's own
/// foreach_target.h.
#if HWY_ARCH_X86_64 && !HWY_COMPILER_MSVC && !defined(WORDLOOM_ONE_TARGET)
#define WORDLOOM_COMPILES_AVX3 (HWY_STATIC_TARGET > HWY_AVX3)
#define WORDLOOM_COMPILES_AVX2 (HWY_STATIC_TARGET > HWY_AVX2)
#else
#define WORDLOOM_COMPILES_AVX3 0
#define WORDLOOM_COMPILES_AVX2 0
#endif

// Highway's operations for these targets. Its headers are included again whenever HWY_TARGET_TOGGLE
// has changed, as in its foreach_target.h.
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
#include <wordloom/simd/detail/set_target.inl>
#endif

namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd {

/// The operations for the instruction set of the compiler's flags.
namespace hn = hwy::HWY_NAMESPACE;

}}}  // namespace wordloom::WORDLOOM_ABI::simd

/// The function or variable of this name, in wordloom::simd, of the target that runs (target.hpp).
#define WORDLOOM_OF(of_target, name) ::wordloom::simd::of_target::name
#if WORDLOOM_COMPILES_AVX2
#define WORDLOOM_OF_TARGET(name)                                                          \
  (::wordloom::InstructionSet::chosen().highway == HWY_AVX3   ? WORDLOOM_OF(N_AVX3, name) \
   : ::wordloom::InstructionSet::chosen().highway == HWY_AVX2 ? WORDLOOM_OF(N_AVX2, name) \
                                                              : WORDLOOM_OF(HWY_NAMESPACE, name))
#elif WORDLOOM_COMPILES_AVX3
#define WORDLOOM_OF_TARGET(name)                                                        \
  (::wordloom::InstructionSet::chosen().highway == HWY_AVX3 ? WORDLOOM_OF(N_AVX3, name) \
                                                            : WORDLOOM_OF(HWY_NAMESPACE, name))
#else
#define WORDLOOM_OF_TARGET(name) \
  (static_cast<void>(::wordloom::InstructionSet::chosen()), WORDLOOM_OF(HWY_NAMESPACE, name))
#endif
