#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/sampler/block.hpp>

namespace wordloom::inline WORDLOOM_ABI::detail {

/// How two-step training cuts a column of so many words into parts, each of which draws from random
/// streams of its own: on the host, on a device and on any number of ranks alike.
struct ColumnParts {
  static constexpr std::size_t part_words = 256;
  std::size_t words;

  constexpr std::size_t count() const noexcept { return (words + part_words - 1) / part_words; }
  /// The first word of a part; `words` for part count().
  constexpr std::size_t first_word(std::size_t part) const noexcept {
    return std::min(part * part_words, words);
  }
  /// The random numbers of a part in a step, in a column of all epochs together.
  static constexpr Random random(std::uint64_t seed, std::size_t part, Sides step,
                                 std::uint64_t column) {
    return Random(seed, 2 * part + (step == Sides::inputs ? 0 : 1), column);
  }
  /// Whether the loss of a part is computed: of one in eight, others in each column of an epoch.
  static constexpr bool has_loss(std::size_t part, std::size_t column) noexcept {
    return (part + column) % 8 == 0;
  }
};

}  // namespace wordloom::inline WORDLOOM_ABI::detail
