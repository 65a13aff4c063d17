// The vector code of all kernels except FusedKernel, for wordloom::precompiled.
#include <tuple>
#include <wordloom/algebra/detail/row_products.hpp>
#include <wordloom/encoder/detail/max_over_time.hpp>
#include <wordloom/kernel/detail/gemm_functions.hpp>
#include <wordloom/kernel/dot_kernel.hpp>
#include <wordloom/model/detail/compressed_functions.hpp>
#include <wordloom/optimizer/detail/optimizer_steps.hpp>
#include <wordloom/query/detail/dot_products.hpp>
#include <wordloom/simd/instruction_set.hpp>
#include <wordloom/sync/detail/row_changes.hpp>
#include <wordloom/train/detail/merge_rows.hpp>

// References emit the functions, which are inline.
[[gnu::used]] static const auto functions = std::tuple(
    &wordloom::simd::dot_functions, &wordloom::simd::staging_functions,
    &wordloom::simd::row_change_functions, &wordloom::simd::merge_function,
    &wordloom::simd::optimizer_functions, &wordloom::simd::convolution_functions,
    &wordloom::simd::gemm_functions, &wordloom::simd::row_product_functions,
    &wordloom::simd::compressed_functions, &wordloom::simd::dot_product_function,
    &wordloom::simd::dot_of_two_function, &wordloom::detail::available_instruction_sets);
