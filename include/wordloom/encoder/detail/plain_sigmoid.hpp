#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

#include <wordloom/core/detail/abi.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Returns 1 / (1 + exp(-x)) with an error of about 1e-7; |x| above 87 and NaN count as 87. No
/// floats are compared, so that compilers turn loops over it into vector code.
inline float plain_sigmoid(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto size = static_cast<std::int32_t>(bits & 0x7fffffffu);
  const auto bounded = static_cast<std::uint32_t>((std::min)(size, 0x42ae0000));  // of 87
  const float power = std::bit_cast<float>(bounded | (bits & 0x80000000u)) *
                      -1.44269504088896341f;  // exp(-x) = 2^power
  constexpr float rounding = 12582912.0f;     // 1.5 x 2^23: the sum has no fraction
  const float shifted = power + rounding;
  const float r = (power - (shifted - rounding)) * 0.693147180559945f;
  const std::uint32_t exponent =
      std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(rounding);
  const float scale = std::bit_cast<float>((exponent + 127) << 23);
  const float e =
      1 + r * (1 + r * (1.0f / 2 + r * (1.0f / 6 + r * (1.0f / 24 + r * (1.0f / 120 + r / 720)))));
  return 1 / (1 + scale * e);
}
inline float plain_tanh(float x) noexcept { return 2 * plain_sigmoid(2 * x) - 1; }

}}}  // namespace wordloom::WORDLOOM_ABI::detail
