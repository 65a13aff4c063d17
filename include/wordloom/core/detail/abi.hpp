#pragma once

// A missing header ends the compilation: no pages of consequences.
#if __cplusplus < 202002L
#error "Wordloom needs C++20: compile with -std=c++20"
#include <wordloom/core/needs_cpp20>
#endif
#if !defined(__cpp_exceptions)
#error "Wordloom needs exceptions: compile without -fno-exceptions"
#include <wordloom/core/needs_exceptions>
#endif
#if !defined(__OPTIMIZE__) && !defined(WORDLOOM_PRECOMPILED) && !defined(WORDLOOM_UNOPTIMIZED)
#pragma message( \
    "Wordloom is compiled without optimisation and trains some 40 times as slowly: compile with -O2, or link wordloom::precompiled (CMake). -DWORDLOOM_UNOPTIMIZED ends this message")
#endif

// Blocks of custom samplers are checked in debug builds. This is in the type of their trainers, and
// not in WORDLOOM_ABI: programs with checks link the same wordloom::precompiled.
#if !defined(WORDLOOM_CHECKED)
#ifdef NDEBUG
#define WORDLOOM_CHECKED 0
#else
#define WORDLOOM_CHECKED 1
#endif
#endif

// Optional libraries that the compiler's options do not name are not used.
#ifndef WORDLOOM_HAS_BLAS
#define WORDLOOM_HAS_BLAS 0
#endif
#ifndef WORDLOOM_HAS_HNSWLIB
#define WORDLOOM_HAS_HNSWLIB 0
#endif
#ifndef WORDLOOM_HAS_LIBLINEAR
#define WORDLOOM_HAS_LIBLINEAR 0
#endif
#ifndef WORDLOOM_HAS_ZLIB
#define WORDLOOM_HAS_ZLIB 0
#endif

// All of the library is in an inline namespace that names the instruction set. Translation units
// with other flags then share no function: else the linker would keep one of two that differ, and
// a unit for older CPUs could run code for newer ones. Passing a type of the library between such
// units does not link. `avx2a1`: AVX2, WORDLOOM_ATOMIC_ROWS and WORDLOOM_ONE_TARGET; `d`: the
// containers of _GLIBCXX_DEBUG. Optional libraries (WORDLOOM_HAS_...) add functions and types and
// change none, so that units with and without them link.
#if defined(__AVX512F__)
#define WORDLOOM_ABI_ISA avx512
#elif defined(__AVX2__)
#define WORDLOOM_ABI_ISA avx2
#elif defined(__AVX__)
#define WORDLOOM_ABI_ISA avx
#elif defined(__SSE4_1__)
#define WORDLOOM_ABI_ISA sse4
#else
#define WORDLOOM_ABI_ISA base
#endif
// Highway's own choice where its header came first and the compiler is old: no vectors at all.
#if defined(HWY_STATIC_TARGET)
#if HWY_STATIC_TARGET == HWY_SCALAR
#undef WORDLOOM_ABI_ISA
#define WORDLOOM_ABI_ISA scalar
#endif
#endif
#if defined(WORDLOOM_ATOMIC_ROWS)
#define WORDLOOM_ABI_ROWS a
#else
#define WORDLOOM_ABI_ROWS
#endif
#if defined(WORDLOOM_ONE_TARGET)
#define WORDLOOM_ABI_TARGETS 1
#else
#define WORDLOOM_ABI_TARGETS
#endif
// Containers then have other members.
#if defined(_GLIBCXX_DEBUG)
#define WORDLOOM_ABI_CONTAINERS d
#else
#define WORDLOOM_ABI_CONTAINERS
#endif

#define WORDLOOM_ABI_JOINED(a, b, c, d) a##b##c##d
#define WORDLOOM_ABI_JOIN(...) WORDLOOM_ABI_JOINED(__VA_ARGS__)
#define WORDLOOM_ABI                                                           \
  WORDLOOM_ABI_JOIN(WORDLOOM_ABI_ISA, WORDLOOM_ABI_ROWS, WORDLOOM_ABI_TARGETS, \
                    WORDLOOM_ABI_CONTAINERS)

// Most long functions that are not templates are only declared where their documentation is, and
// are defined at the end of their header as WORDLOOM_FUNCTION: in each file that includes it, or
// once, in wordloom::precompiled. Its src/functions.cpp defines WORDLOOM_FUNCTION as nothing, which
// makes them ordinary functions: Clang leaves out inline constructors that nobody calls.
#if !defined(WORDLOOM_PRECOMPILED)
#define WORDLOOM_DEFINES_FUNCTIONS 1
#define WORDLOOM_FUNCTION inline
#elif defined(WORDLOOM_FUNCTION)
#define WORDLOOM_DEFINES_FUNCTIONS 1
#else
#define WORDLOOM_DEFINES_FUNCTIONS 0
#endif
