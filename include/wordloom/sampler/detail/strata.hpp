#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/types.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The rows of a side of the model in P strata. All have equally many rows, give or take one, and
/// nearly equal weights, unless a single row has more weight than a stratum should.
class Strata {
 public:
  static constexpr std::uint32_t max_rows = 65536;  // of a stratum

  /// A row's stratum, and its number in it.
  class Place {
   public:
    Place() = default;
    constexpr Place(std::uint32_t stratum, std::uint32_t place) : both_(stratum << 16 | place) {}
    constexpr std::uint32_t stratum() const noexcept { return both_ >> 16; }
    constexpr std::uint32_t place() const noexcept { return both_ & 0xffff; }

   private:
    std::uint32_t both_ = 0;
  };

  /// Gives the rows, in their order, each to the stratum that has the least weight so far, of those
  /// with room. `weights`: [rows] the heaviest first.
  Strata(std::uint32_t count, std::span<const double> weights)
      : places_(weights.size()), rows_(count) {
    const std::size_t least = weights.size() / count;
    std::size_t longer = weights.size() % count;  // strata that have a row more
    using Load = std::pair<double, std::uint32_t>;
    std::priority_queue<Load, std::vector<Load>, std::greater<>> with_room;
    for (std::uint32_t s = 0; s < count; ++s) with_room.emplace(0.0, s);
    for (std::size_t row = 0; row < weights.size();) {
      const auto [load, s] = with_room.top();
      with_room.pop();
      if (rows_[s].size() == least) {
        if (longer == 0) continue;
        --longer;
      }
      places_[row] = {s, static_cast<std::uint32_t>(rows_[s].size())};
      rows_[s].push_back(static_cast<RowId>(row));
      if (rows_[s].size() <= least) with_room.emplace(load + weights[row], s);
      ++row;
    }
  }

  /// Returns P.
  std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(rows_.size()); }
  /// Returns the rows of all strata.
  std::size_t rows() const noexcept { return places_.size(); }
  /// Returns the rows of the largest stratum.
  std::uint32_t most_rows() const noexcept {
    return static_cast<std::uint32_t>((rows() + rows_.size() - 1) / rows_.size());
  }
  Place at(RowId row) const noexcept { return places_[row]; }
  /// Returns the rows of a stratum.
  const std::vector<RowId>& of(std::size_t stratum) const noexcept { return rows_[stratum]; }

 private:
  std::vector<Place> places_;             // [rows]
  std::vector<std::vector<RowId>> rows_;  // [P]
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
