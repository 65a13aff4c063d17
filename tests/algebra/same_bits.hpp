#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/model/embeddings.hpp>

inline bool has_same_bits(const wordloom::RowMatrix& a, const wordloom::RowMatrix& b) {
  bool same = a.rows() == b.rows() && a.columns() == b.columns();
  for (std::size_t i = 0; same && i < a.rows(); ++i)
    same = std::ranges::equal(a.row(i), b.row(i), [](float x, float y) {
      return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
    });
  return same;
}
inline bool has_same_bits(const wordloom::Embeddings& a, const wordloom::Embeddings& b) {
  return has_same_bits(a.vectors(), b.vectors());
}
