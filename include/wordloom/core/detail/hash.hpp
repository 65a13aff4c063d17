#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <wordloom/core/detail/abi.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// A running 64-bit hash of a stream of bytes: for fingerprints, checksums against damage (not
/// against an attacker) and hash tables. It depends on the bytes and their order alone, not on how
/// they are divided between calls, and is equal on all little-endian machines. Takes 8 bytes a
/// step.
class Hash {
 public:
  void add(const void* data, std::size_t size) noexcept;
  void add(std::uint64_t number) noexcept { add(&number, sizeof(number)); }
  /// Adds the size and the bytes of a text, so that "ab", "c" is not "a", "bc".
  void add(std::string_view text) noexcept {
    add(std::uint64_t{text.size()});
    add(text.data(), text.size());
  }

  /// Returns the hash of all that was added so far; more may follow.
  std::uint64_t value() const noexcept {
    std::uint64_t mixed = mix(state_, open_) ^ size_;
    mixed = (mixed ^ mixed >> 33) * prime2;
    return mixed ^ mixed >> 29;
  }

  static std::uint64_t of(std::string_view text) noexcept {
    Hash hash;
    hash.add(text.data(), text.size());
    return hash.value();
  }

 private:
  static constexpr std::uint64_t prime1 = 0x9e3779b185ebca87, prime2 = 0xc2b2ae3d27d4eb4f;

  /// The round of XXH64 for 8 bytes. The word is multiplied as well as the state: without that, a
  /// change of one bit in a word could undo the change of one bit in the word before.
  static std::uint64_t mix(std::uint64_t state, std::uint64_t word) noexcept {
    return std::rotl(state ^ std::rotl(word * prime2, 31) * prime1, 27) * prime1 + prime2;
  }

  template <class Word>
  static Word load(const unsigned char* from) noexcept {
    Word word;
    std::memcpy(&word, from, sizeof(word));
    return word;
  }
  /// Returns 1 to 7 bytes as a number. Loads that overlap read the same bits twice.
  static std::uint64_t load_short(const unsigned char* from, std::size_t size) noexcept {
    const auto byte = [&](std::size_t i) { return std::uint64_t{from[i]} << i * 8; };
    if (size < 4) return byte(0) | byte(size / 2) | byte(size - 1);
    return load<std::uint32_t>(from) | std::uint64_t{load<std::uint32_t>(from + size - 4)}
                                           << (size - 4) * 8;
  }

  std::uint64_t state_ = 0x243f6a8885a308d3;
  std::uint64_t open_ = 0;  // the last size_ % 8 bytes, which no step has taken yet
  std::uint64_t size_ = 0;  // bytes
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION void Hash::add(const void* data, std::size_t size) noexcept {
  const auto* from = static_cast<const unsigned char*>(data);
  const auto open_bits = static_cast<unsigned>(size_ % 8 * 8);
  const auto add_word = [&](std::uint64_t word, bool fills_a_step) {
    open_ |= word << open_bits;
    if (!fills_a_step) return;
    state_ = mix(state_, open_);
    open_ = word >> 1 >> (63 - open_bits);  // `word >> 64` is not defined
  };
  size_ += size;
  for (; size >= 8; from += 8, size -= 8) add_word(load<std::uint64_t>(from), true);
  if (size > 0) add_word(load_short(from, size), open_bits / 8 + size >= 8);
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
