// The vector code of FusedKernel for columns and with RowAdaGrad, for wordloom::precompiled.
#include <tuple>
#include <wordloom/kernel/fused_one_side.hpp>
#include <wordloom/kernel/fused_row_ada_grad.hpp>

// References emit the functions, which are inline.
[[gnu::used]] static const auto functions =
    std::tuple(&wordloom::simd::one_side_functions, &wordloom::simd::row_ada_grad_functions);
