// The vector code that few programs use, and those with wordloom::any_trainer, for
// wordloom::precompiled.
#include <tuple>
#include <wordloom/algebra/detail/row_products.hpp>
#include <wordloom/encoder/detail/max_over_time.hpp>
#include <wordloom/kernel/detail/gemm_functions.hpp>
#include <wordloom/kernel/dot_kernel.hpp>
#include <wordloom/model/detail/compressed_functions.hpp>
#include <wordloom/optimizer/detail/optimizer_steps.hpp>
#include <wordloom/sync/detail/row_changes.hpp>

// References emit the functions, which are inline.
[[gnu::used]] static const auto functions =
    std::tuple(&wordloom::simd::dot_functions, &wordloom::simd::row_change_functions,
               &wordloom::simd::optimizer_functions, &wordloom::simd::convolution_functions,
               &wordloom::simd::gemm_functions, &wordloom::simd::row_product_functions,
               &wordloom::simd::compressed_functions);
