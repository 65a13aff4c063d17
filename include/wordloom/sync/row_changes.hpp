#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

#include <wordloom/simd/row_access.hpp>
#include <wordloom/simd/target.hpp>

namespace wordloom::simd {

struct ProductAndSquare {
  float product, square;
};

}  // namespace wordloom::simd

#define WORDLOOM_VECTOR_CODE <wordloom/sync/row_changes.inl>
#include <wordloom/simd/for_each_target.inl>

namespace wordloom::simd {

/// What synchronising does with rows, for the instruction set that runs.
struct RowChangeFunctions {
  using TakeChange = float (*)(const float*, const float*, float*, float*, std::size_t) noexcept;
  using PutChange = void (*)(float*, float*, const float*, const float*, std::size_t) noexcept;
  using Product = ProductAndSquare (*)(const float*, const float*, std::size_t) noexcept;
  using Mix = void (*)(float*, float, const float*, float, std::size_t) noexcept;

  using Pack = void (*)(const float*, std::uint16_t*, std::size_t) noexcept;
  using Unpack = void (*)(const std::uint16_t*, float*, std::size_t) noexcept;
  using Add = void (*)(const std::uint16_t*, std::uint16_t*, std::size_t) noexcept;

  TakeChange take_change = WORDLOOM_TARGET_FUNCTION(TakeChange, take_change);
  PutChange put_change = WORDLOOM_TARGET_FUNCTION(PutChange, put_change);
  Product product_and_square = WORDLOOM_TARGET_FUNCTION(Product, product_and_square);
  Mix mix = WORDLOOM_TARGET_FUNCTION(Mix, mix);
  Pack pack_bf16 = WORDLOOM_TARGET_FUNCTION(Pack, pack_bf16);
  Unpack unpack_bf16 = WORDLOOM_TARGET_FUNCTION(Unpack, unpack_bf16);
  Add add_bf16 = WORDLOOM_TARGET_FUNCTION(Add, add_bf16);
};

}  // namespace wordloom::simd
