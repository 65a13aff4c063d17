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

/// Vectors of the best instruction set that the compiler's flags allow (Highway, static dispatch).
namespace wordloom::simd {

namespace hn = hwy::HWY_NAMESPACE;

}  // namespace wordloom::simd
