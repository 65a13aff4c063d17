// The vector code that nearly all programs use besides FusedKernel, for wordloom::precompiled.
#include <tuple>
#include <wordloom/kernel/detail/staging.hpp>
#include <wordloom/query/detail/dot_products.hpp>
#include <wordloom/simd/instruction_set.hpp>
#include <wordloom/train/detail/merge_rows.hpp>

// References emit the functions, which are inline.
[[gnu::used]] static const auto functions =
    std::tuple(&wordloom::simd::staging_functions, &wordloom::simd::merge_function,
               &wordloom::simd::dot_product_function, &wordloom::simd::dot_of_two_function,
               &wordloom::detail::available_instruction_sets);
