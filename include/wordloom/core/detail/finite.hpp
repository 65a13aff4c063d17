#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include <wordloom/core/detail/abi.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Returns the bits of a number without its sign. Infinity has more than finite numbers, NaN more
/// than infinity.
template <class Float>
constexpr auto magnitude_bits(Float x) noexcept {
  using Bits = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;
  return static_cast<Bits>(std::bit_cast<Bits>(x) << 1);
}
template <class Float>
inline constexpr auto infinity_bits = magnitude_bits(std::numeric_limits<Float>::infinity());

/// Returns std::isfinite(x), which is always true in a program compiled with -ffast-math.
template <class Float>
constexpr bool is_finite(Float x) noexcept {
  return magnitude_bits(x) < infinity_bits<Float>;
}
inline bool all_finite(std::span<const float> numbers) noexcept {
  return std::all_of(numbers.begin(), numbers.end(), is_finite<float>);
}
/// Returns std::isnan(x), which is always false in a program compiled with -ffast-math.
template <class Number>
constexpr bool is_nan(Number x) noexcept {
  if constexpr (std::is_floating_point_v<Number>)
    return magnitude_bits(x) > infinity_bits<Number>;
  else
    return false;
}

}}}  // namespace wordloom::WORDLOOM_ABI::detail
