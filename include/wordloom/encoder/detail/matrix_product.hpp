#pragma once
#include <cblas.h>

#include <concepts>
#include <cstddef>
#include <type_traits>

#include <wordloom/core/row_matrix.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// A view of consecutive rows and columns of a row-major matrix. `stride` is the distance of rows
/// in floats.
template <class Float>
struct MatrixPart {
  Float* data;
  std::size_t rows, columns, stride;

  MatrixPart(Float* first, std::size_t row_count, std::size_t column_count,
             std::size_t row_stride) noexcept
      : data(first), rows(row_count), columns(column_count), stride(row_stride) {}
  template <class Matrix>
  requires std::same_as<std::remove_const_t<Matrix>, RowMatrix> MatrixPart(Matrix& all)
  noexcept : MatrixPart(all.data(), all.rows(), all.columns(), all.stride()) {}
  template <class Other>
  requires std::same_as<const Other, Float> MatrixPart(const MatrixPart<Other>& other)
  noexcept : MatrixPart(other.data, other.rows, other.columns, other.stride) {}

  MatrixPart some_rows(std::size_t first, std::size_t count) const noexcept {
    return {data + first * stride, count, columns, stride};
  }
  MatrixPart some_columns(std::size_t first, std::size_t count) const noexcept {
    return {data + first, rows, count, stride};
  }
};
using Floats = MatrixPart<float>;
using ConstFloats = MatrixPart<const float>;

/// A factor of a matrix product, with the flag that says whether it is transposed.
struct Factor {
  ConstFloats part;
  CBLAS_TRANSPOSE transpose;
  Factor(ConstFloats plain, CBLAS_TRANSPOSE how = CblasNoTrans) noexcept
      : part(plain), transpose(how) {}
};
inline Factor transposed(ConstFloats part) noexcept { return {part, CblasTrans}; }

/// Sets c = scale x a x b + keep x c with CBLAS (sgemm). Equal operands of equal shapes give equal
/// bits.
inline void multiply(float scale, const Factor& a, const Factor& b, float keep,
                     const Floats& c) noexcept {
  const auto number = [](std::size_t n) { return static_cast<int>(n); };
  const std::size_t inner = a.transpose == CblasNoTrans ? a.part.columns : a.part.rows;
  cblas_sgemm(CblasRowMajor, a.transpose, b.transpose, number(c.rows), number(c.columns),
              number(inner), scale, a.part.data, number(a.part.stride), b.part.data,
              number(b.part.stride), keep, c.data, number(c.stride));
}

}}}  // namespace wordloom::WORDLOOM_ABI::detail
