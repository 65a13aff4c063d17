#pragma once
#include <cstddef>

#include <wordloom/core/target.hpp>
#include <wordloom/kernel/gradient.hpp>

namespace wordloom::simd {

struct ProductAndSquare {
  float product, square;
};

}  // namespace wordloom::simd

#define WORDLOOM_VECTOR_CODE <wordloom/sync/row_changes.inl>
#include <wordloom/core/for_each_target.inl>

namespace wordloom::simd {

/// What synchronising does with rows, for the instruction set that runs.
struct RowChangeFunctions {
  using TakeChange = float (*)(const float*, const float*, float*, float*, std::size_t) noexcept;
  using PutChange = void (*)(float*, float*, const float*, const float*, std::size_t) noexcept;
  using Product = ProductAndSquare (*)(const float*, const float*, std::size_t) noexcept;
  using Mix = void (*)(float*, float, const float*, float, std::size_t) noexcept;

  TakeChange take_change = WORDLOOM_TARGET_FUNCTION(TakeChange, take_change);
  PutChange put_change = WORDLOOM_TARGET_FUNCTION(PutChange, put_change);
  Product product_and_square = WORDLOOM_TARGET_FUNCTION(Product, product_and_square);
  Mix mix = WORDLOOM_TARGET_FUNCTION(Mix, mix);
};

}  // namespace wordloom::simd
