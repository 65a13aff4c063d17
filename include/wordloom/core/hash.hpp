#pragma once
#include <bit>
#include <cstdint>
#include <span>
#include <string_view>

#include <wordloom/core/types.hpp>

namespace wordloom::detail {

inline constexpr std::uint64_t fnv_basis = 0xcbf29ce484222325;

/// FNV-1a, 64 bits, of what `hash` is of and then `bytes`: the same on every machine.
constexpr std::uint64_t fnv(std::string_view bytes, std::uint64_t hash = fnv_basis) noexcept {
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

/// A running hash of ids, eight bytes at a time.
class IdsHash {
 public:
  void add(std::span<const WordId> ids) noexcept {
    for (const WordId id : ids) hash_ = std::rotl(hash_ ^ id, 29) * 0x9e3779b97f4a7c15;
  }
  std::uint64_t value() const noexcept { return hash_; }

 private:
  std::uint64_t hash_ = 0x243f6a8885a308d3;
};

}  // namespace wordloom::detail
