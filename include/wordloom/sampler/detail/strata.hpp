#pragma once
#include <cstdint>

#include <wordloom/core/types.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The rows of a side of the model, by descending count, dealt out to strata back and forth: all
/// have equally many rows, give or take one, and words of all frequencies.
struct Strata {
  std::uint32_t count = 1;  // P
  std::uint32_t rows = 0;

  static constexpr std::uint32_t max_rows = 65536;  // of a stratum

  constexpr std::uint32_t of(RowId row) const noexcept { return turned(row / count, row % count); }
  /// Returns the number of a row in its stratum.
  constexpr std::uint32_t place(RowId row) const noexcept { return row / count; }
  constexpr RowId row(std::uint32_t stratum, std::uint32_t place) const noexcept {
    return place * count + turned(place, stratum);
  }
  /// Returns the number of rows of a stratum.
  constexpr std::uint32_t size(std::uint32_t stratum) const noexcept {
    const std::uint32_t whole = rows / count;
    return whole + (turned(whole, stratum) < rows % count ? 1 : 0);
  }

 private:
  constexpr std::uint32_t turned(std::uint32_t turn, std::uint32_t at) const noexcept {
    return turn % 2 == 0 ? at : count - 1 - at;
  }
};

/// A pair of a block of two strata: the places of its input and its output.
struct StratumPair {
  static constexpr std::uint32_t code(std::uint32_t input, std::uint32_t output) noexcept {
    return input << 16 | output;
  }
  static constexpr std::uint32_t input(std::uint32_t code) noexcept { return code >> 16; }
  static constexpr std::uint32_t output(std::uint32_t code) noexcept { return code & 0xffff; }
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
