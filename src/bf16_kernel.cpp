// The vector code of Bf16Kernel, for wordloom::precompiled.
#include <wordloom/kernel/bf16_kernel.hpp>

// A reference emits the function, which is inline.
[[gnu::used]] static const auto function = &wordloom::simd::bf16_functions;
