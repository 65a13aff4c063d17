#pragma once
#include <cstdint>
#include <string_view>

namespace wordloom::detail {

inline constexpr std::uint64_t fnv_basis = 0xcbf29ce484222325;

/// FNV-1a, 64 bits, of what `hash` is of and then `bytes`: the same on every machine.
constexpr std::uint64_t fnv(std::string_view bytes, std::uint64_t hash = fnv_basis) noexcept {
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace wordloom::detail
