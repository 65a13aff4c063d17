#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/sampler/block.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The parts of a column of words in two-step training. Each part draws from random streams of its
/// own, which are equal on the host, on a device and on any number of ranks.
struct ColumnParts {
  static constexpr std::size_t part_words = 256;
  std::size_t words;

  constexpr std::size_t count() const noexcept { return (words + part_words - 1) / part_words; }
  /// Returns the first word of a part; `words` for part count().
  constexpr std::size_t first_word(std::size_t part) const noexcept {
    return (std::min)(part * part_words, words);
  }
  /// Returns the random numbers of a part in a step. `column` is counted over all epochs.
  static constexpr Random random(std::uint64_t seed, std::size_t part, Block::Sides step,
                                 std::uint64_t column) {
    return Random(seed, 2 * part + (step == Block::Sides::inputs ? 0 : 1), column);
  }
  /// Returns whether the loss of a part is computed: one part in eight, different ones in each
  /// column of an epoch.
  static constexpr bool has_loss(std::size_t part, std::size_t column) noexcept {
    return (part + column) % 8 == 0;
  }
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
