#pragma once
#include <cstddef>

#include <wordloom/core/detail/abi.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd {

/// The dot products of some questions with some rows, each times the scale of its row:
/// products[q * to_next + r] = questions_q . rows_r * scales[r]. The rows are those of a RowMatrix:
/// `stride` floats, a multiple of 16, at addresses that are multiples of 64 bytes.
struct DotProducts {
  const float* questions;  // [question_count x stride]
  std::size_t question_count;
  const float* rows;  // [row_count x stride]
  std::size_t row_count;
  std::size_t stride;
  const float* scales;  // [row_count]
  float* products;      // [question_count x to_next]
  std::size_t to_next;  // at least row_count
};

/// Computes them. The bits of a product depend on its two vectors and the instruction set alone,
/// not on the other questions and rows.
using DotProductFunction = void (*)(const DotProducts&) noexcept;
DotProductFunction dot_product_function();

/// Returns the dot product of two such rows, sooner than the other, with other last bits.
using DotOfTwoFunction = float (*)(const float* a, const float* b, std::size_t stride) noexcept;
DotOfTwoFunction dot_of_two_function();

}}}  // namespace wordloom::WORDLOOM_ABI::simd

#ifndef WORDLOOM_PRECOMPILED
#include <wordloom/simd/detail/row_access.hpp>
#include <wordloom/simd/instruction_set.hpp>
#define WORDLOOM_VECTOR_CODE <wordloom/query/detail/dot_products.inl>
#include <wordloom/simd/detail/for_each_target.inl>
inline wordloom::simd::DotProductFunction wordloom::simd::dot_product_function() {
  return WORDLOOM_OF_TARGET(dot_products);
}
inline wordloom::simd::DotOfTwoFunction wordloom::simd::dot_of_two_function() {
  return WORDLOOM_OF_TARGET(dot_product_of_two);
}
#endif
