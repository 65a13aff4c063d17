// The vector code of FusedKernel, for wordloom::precompiled.
#include <tuple>
#include <wordloom/kernel/fused_kernel.hpp>

// References emit the functions, which are inline.
[[gnu::used]] static const auto functions =
    std::tuple(&wordloom::simd::fused_functions, &wordloom::simd::bag_functions);
