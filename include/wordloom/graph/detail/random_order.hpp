#pragma once
#include <bit>
#include <cstdint>

#include <wordloom/core/random.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The numbers from 0 to count - 1 in a random order that takes no memory: a Feistel network of
/// four rounds over the next power of four, walked until a number falls below `count` (Black and
/// Rogaway 2002, "Ciphers with Arbitrary Finite Domains"). Immutable; thread-safe.
class RandomOrder {
 public:
  /// Makes an order that is a function of `count`, above 0, and of `random`.
  RandomOrder(std::uint64_t count, Random random) : count_(count) {
    half_bits_ = (static_cast<unsigned>(std::bit_width(count - 1)) + 1) / 2;
    for (std::uint64_t& key : keys_) key = random();
  }

  /// Returns the i-th number; i < count.
  std::uint64_t operator[](std::uint64_t i) const noexcept {
    do i = permute(i);
    while (i >= count_);
    return i;
  }

 private:
  std::uint64_t permute(std::uint64_t x) const noexcept {
    const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
    std::uint64_t left = x >> half_bits_, right = x & mask;
    for (const std::uint64_t key : keys_) {
      std::uint64_t mixed = (right ^ key) * 0xbf58476d1ce4e5b9;
      mixed = (mixed ^ mixed >> 29) * 0x94d049bb133111eb;
      const std::uint64_t next = left ^ (mixed >> 32 & mask);
      left = right;
      right = next;
    }
    return left << half_bits_ | right;
  }

  std::uint64_t count_;
  unsigned half_bits_;
  std::uint64_t keys_[4];
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
