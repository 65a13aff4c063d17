#pragma once
#include <cstddef>
#include <cstdint>

#include <wordloom/core/detail/abi.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd {

/// A matrix [rows x stride] that is added with a factor; null: none.
struct AddedRows {
  const float* matrix = nullptr;
  float factor = 0;
};

/// For each row i, with s = scale * row_scales[i] (1 without them):
///
///     y_i = s (sum over entries of value * x_column + loop * x_i) + own * x_i + sum of added_i,
///     total_i += total_factor * y_i.
///
/// y may be one of those that are added, never x. All matrices have this stride.
struct SparseProduct {
  const std::uint64_t* ends;     // [rows]
  const std::uint32_t* columns;  // [entries]
  const float* values;           // [entries]; null: all are 1
  std::size_t rows;
  const float* x;
  float* y;
  std::size_t stride;
  const float* row_scales = nullptr;  // [rows]
  float scale = 1, loop = 0, own = 0;
  AddedRows first_added = {}, second_added = {};
  float* total = nullptr;
  float total_factor = 0;
};

/// c [rows x stride] = a [rows x inner] b [inner x stride]. a is read at any strides, so that it
/// may be a transposed matrix. With `upper`, elements left of the diagonal may be left unwritten.
struct DenseProduct {
  const float* a;
  std::size_t a_row, a_column;  // floats from an element to the next row, the next column
  const float* b;
  float* c;
  std::size_t rows, inner, stride;
  bool upper = false;
};

/// The vector code of products of matrices of rows.
struct RowProductFunctions {
  /// Computes rows first .. last - 1.
  void (*sparse)(const SparseProduct&, std::size_t first, std::size_t last) noexcept;
  void (*dense)(const DenseProduct&) noexcept;
};
RowProductFunctions row_product_functions();

}}}  // namespace wordloom::WORDLOOM_ABI::simd

#ifndef WORDLOOM_PRECOMPILED
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/simd/detail/row_access.hpp>
#include <wordloom/simd/instruction_set.hpp>
#define WORDLOOM_VECTOR_CODE <wordloom/algebra/detail/row_products.inl>
#include <wordloom/simd/detail/for_each_target.inl>
inline wordloom::simd::RowProductFunctions wordloom::simd::row_product_functions() {
  return WORDLOOM_OF_TARGET(row_product_functions_of_target());
}
#endif
