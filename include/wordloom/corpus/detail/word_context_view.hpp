#pragma once
#include <cstddef>
#include <cstdint>

#include <wordloom/core/types.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The contexts of a word among those of all words.
struct ContextList {
  std::uint64_t first = 0;
  std::uint64_t reciprocal = 0;  // 2^64 / size, rounded up, mod 2^64
  std::uint32_t size = 0;        // at least 1

  ContextList() = default;
  ContextList(std::uint64_t first_, std::uint32_t size_)
      : first(first_), reciprocal(~std::uint64_t{0} / size_ + 1), size(size_) {}

  /// The place of the context in a column: first + column mod size, by two products (Lemire, Kaser
  /// and Kurz 2019, "Faster Remainder by Direct Computation").
  WORDLOOM_BOTH std::uint64_t place(std::uint32_t column) const {
    const std::uint64_t fraction = reciprocal * column;
    return first + static_cast<std::uint64_t>((wide{fraction} * size) >> 64);
  }

 private:
  __extension__ typedef unsigned __int128 wide;  // nvcc does not accept __extension__ using
};

/// The arrays of WordContextLists in the memory of the host or of a device. Thread-safe.
struct WordContextView {
  const ContextList* lists = nullptr;        // of the words that have contexts
  const std::uint16_t* short_ids = nullptr;  // the contexts of all words, where ids have 16 bits
  const WordId* long_ids = nullptr;          // the contexts of all words, where ids have 32 bits

  /// Returns the context of word number `word` in a column, which is taken mod 2^32.
  WORDLOOM_BOTH WordId context(std::size_t word, std::uint64_t column) const {
    const std::uint64_t place = lists[word].place(static_cast<std::uint32_t>(column));
    return short_ids != nullptr ? short_ids[place] : long_ids[place];
  }
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
