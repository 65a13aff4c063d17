#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

#include <wordloom/core/types.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd {

/// The vector code that synchronises rows.
struct RowChangeFunctions {
  static WORDLOOM_BOTH float read(const float* from) noexcept { return *from; }
  static WORDLOOM_BOTH void write(float* to, float value) noexcept { *to = value; }

  using TakeChange = float (*)(const float*, const float*, float*, float*, std::size_t) noexcept;
  using SquareOfChange = float (*)(const float*, const float*, std::size_t) noexcept;
  using PutChange = void (*)(float*, float*, const float*, const float*, std::size_t) noexcept;
  using Dot = float (*)(const float*, const float*, std::size_t) noexcept;
  using Mix = void (*)(float*, float, const float*, float, std::size_t) noexcept;
  using Pack = void (*)(const float*, std::uint16_t*, std::size_t) noexcept;
  using Unpack = void (*)(const std::uint16_t*, float*, std::size_t) noexcept;
  using Largest = float (*)(const float*, std::size_t) noexcept;
  using Quantise = float (*)(const float*, float, unsigned, std::uint8_t*, std::size_t) noexcept;
  using Dequantise = void (*)(const std::uint8_t*, float, unsigned, float*, std::size_t) noexcept;
  using Rotate = void (*)(float*, const float*, std::size_t) noexcept;
  using Add = void (*)(const std::uint16_t*, std::uint16_t*, std::size_t) noexcept;

  TakeChange take_change;
  SquareOfChange square_of_change;
  PutChange put_change;
  Dot dot;
  Mix mix;
  Pack pack_bf16;
  Unpack unpack_bf16;
  Add add_bf16;
  Largest largest;
  Quantise quantise;
  Dequantise dequantise;
  Rotate rotate, rotate_back;
};
RowChangeFunctions row_change_functions();

}}}  // namespace wordloom::WORDLOOM_ABI::simd

#ifndef WORDLOOM_PRECOMPILED
#include <wordloom/simd/detail/row_access.hpp>
#include <wordloom/simd/instruction_set.hpp>
#define WORDLOOM_VECTOR_CODE <wordloom/sync/detail/row_changes.inl>
#include <wordloom/simd/detail/for_each_target.inl>
inline wordloom::simd::RowChangeFunctions wordloom::simd::row_change_functions() {
  return WORDLOOM_OF_TARGET(row_change_table());
}
#endif
