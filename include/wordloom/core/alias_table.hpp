#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>

namespace wordloom {

/// Draws an index in proportion to given weights in constant time: one random number, one 8-byte
/// entry (Walker 1977, in Vose's 1991 form). The probability of an index is off by at most
/// 2^-32 / size. Immutable; `draw` is thread-safe with a random stream for each thread.
class AliasTable {
 public:
  /// `weights` [n], 1 to 2^32 - 1 of them, finite and not negative, some above zero; else throws
  /// InvalidArgument.
  explicit AliasTable(std::span<const double> weights) : entries_(weights.size()) {
    const std::size_t n = weights.size();
    if (n == 0 || n > UINT32_MAX)
      throw InvalidArgument("an alias table needs 1 to 4294967295 weights, got " +
                            std::to_string(n));
    double total = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (!(weights[i] >= 0) || !std::isfinite(weights[i]))
        throw InvalidArgument("weight " + std::to_string(i) + " of an alias table is " +
                              std::to_string(weights[i]) + ", must be finite and not negative");
      total += weights[i];
    }
    if (!(total > 0) || !std::isfinite(total))
      throw InvalidArgument("the weights of an alias table sum to " + std::to_string(total) +
                            ", must be finite and above 0");

    // share[i]: what index i still has to give away, in units of one bucket.
    std::vector<double> share(n);
    std::vector<std::uint32_t> small, large;
    for (std::size_t i = 0; i < n; ++i) {
      share[i] = weights[i] / total * static_cast<double>(n);
      (share[i] < 1.0 ? small : large).push_back(static_cast<std::uint32_t>(i));
    }
    while (!small.empty() && !large.empty()) {
      const std::uint32_t taker = small.back();
      const std::uint32_t giver = large.back();
      small.pop_back();
      entries_[taker] = {static_cast<std::uint32_t>(share[taker] * 0x1p32), giver};
      share[giver] -= 1.0 - share[taker];
      if (share[giver] < 1.0) {
        large.pop_back();
        small.push_back(giver);
      }
    }
    // What rounding has left over is full up to rounding: its own alias.
    for (const auto& rest : {small, large})
      for (const std::uint32_t i : rest) entries_[i] = {UINT32_MAX, i};
  }

  std::size_t size() const noexcept { return entries_.size(); }

  WordId draw(Random& random) const noexcept { return finish(draw_place(random)); }

  /// A bucket: its own index below the threshold, in units of 2^-32, else its alias. Side by side,
  /// so that a draw touches one cache line.
  struct Entry {
    std::uint32_t threshold;
    std::uint32_t alias;
  };
  std::span<const Entry> entries() const noexcept { return entries_; }

  /// A draw whose table entry has not been looked at.
  struct Place {
    std::uint32_t bucket;
    std::uint32_t fraction;  // within the bucket, in units of 2^-32
  };

  /// A draw in two steps: begins it and asks for its entry, for `finish` to find it near. A table
  /// of 10^5 words does not fit the fastest cache.
  Place begin(Random& random) const noexcept {
    const Place place = draw_place(random);
    __builtin_prefetch(&entries_[place.bucket]);
    return place;
  }

  WordId finish(Place place) const noexcept {
    const Entry entry = entries_[place.bucket];
    // By mask: a branch would be mispredicted every other draw.
    const std::uint32_t own = 0u - static_cast<std::uint32_t>(place.fraction < entry.threshold);
    return (place.bucket & own) | (entry.alias & ~own);
  }

 private:
  Place draw_place(Random& random) const noexcept {
    __extension__ typedef unsigned __int128 wide;  // nvcc knows no __extension__ using
    const wide product = wide{random()} * entries_.size();
    return {static_cast<std::uint32_t>(product >> 64), static_cast<std::uint32_t>(product >> 32)};
  }

  std::vector<Entry> entries_;
};

}  // namespace wordloom
