#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <wordloom/core/detail/finite.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/types.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// A splittable random stream, SplitMix64 with a gamma of its own for each stream (Steele, Lea and
/// Flood 2014, "Fast Splittable Pseudorandom Number Generators"). The stream depends on
/// (seed, thread, epoch) alone, never on what another stream has drawn. Eight bytes of state and a
/// nanosecond a draw; a UniformRandomBitGenerator. Not for cryptography; not thread-safe.
class Random {
 public:
  using result_type = std::uint64_t;

  explicit constexpr Random(std::uint64_t seed, std::uint64_t thread = 0, std::uint64_t epoch = 0)
      : state_(mix(mix(mix(seed + golden) ^ (thread + golden)) ^ (epoch + golden))),
        gamma_(mix_gamma(state_ + golden)) {}

  /// The position in the stream: `from_state(state(), gamma())` continues it.
  constexpr std::uint64_t state() const noexcept { return state_; }
  constexpr std::uint64_t gamma() const noexcept { return gamma_; }
  static constexpr Random from_state(std::uint64_t state, std::uint64_t gamma) noexcept {
    Random random(0);
    random.state_ = state;
    random.gamma_ = gamma;
    return random;
  }

  static constexpr result_type(min)() { return 0; }
  static constexpr result_type(max)() { return (std::numeric_limits<result_type>::max)(); }

  /// Returns 64 random bits.
  constexpr result_type operator()() noexcept { return mix(state_ += gamma_); }

  /// Skips `count` draws.
  constexpr void skip(std::uint64_t count) noexcept { state_ += count * gamma_; }

  /// Uniform in [0, bound), bound > 0: the high half of a 128-bit product (Lemire 2019); its bias
  /// is below bound / 2^64.
  constexpr std::uint64_t below(std::uint64_t bound) noexcept {
    return static_cast<std::uint64_t>((wide{(*this)()} * bound) >> 64);
  }

  /// Uniform in [0, 1), a multiple of 2^-53.
  constexpr double uniform() noexcept { return static_cast<double>((*this)() >> 11) * 0x1p-53; }

 private:
  __extension__ typedef unsigned __int128 wide;  // nvcc does not accept __extension__ using
  static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;

  static constexpr std::uint64_t mix(std::uint64_t z) noexcept {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // Odd, and with enough bit changes that successive states differ in many bits.
  static constexpr std::uint64_t mix_gamma(std::uint64_t z) noexcept {
    z = (z ^ (z >> 33)) * 0xff51afd7ed558ccd;
    z = (z ^ (z >> 33)) * 0xc4ceb9fe1a85ec53;
    z = (z ^ (z >> 33)) | 1;
    return std::popcount(z ^ (z >> 1)) < 24 ? z ^ 0xaaaaaaaaaaaaaaaa : z;
  }

  std::uint64_t state_;
  std::uint64_t gamma_;
};

namespace detail {

/// Draws an index in proportion to given weights in constant time: one random number, one 8-byte
/// entry (Walker 1977, in Vose's 1991 form). The probability of an index is off by at most
/// 2^-32 / size. Immutable; `draw` is thread-safe with a random stream for each thread.
class AliasTable {
 public:
  /// `weights` [n], 1 to 2^32 - 1 of them, finite and not negative, some above zero; else throws
  /// InvalidArgument.
  explicit AliasTable(std::span<const double> weights);

  std::size_t size() const noexcept { return entries_.size(); }

  WordId draw(Random& random) const noexcept {
    return end_draw(draw_place(random, entries_.size()));
  }

  /// A bucket: its own index below the threshold, in units of 2^-32, else its alias. Both are in
  /// one entry, so that a draw touches one cache line.
  struct alignas(8) Entry {  // a device reads it by one load
    std::uint32_t threshold;
    std::uint32_t alias;
  };
  std::span<const Entry> entries() const noexcept { return entries_; }

  /// Fills a table [n] for weights [n] that sum to `total`. The caller has validated the weights.
  template <class Weight>
  static void fill(std::span<const Weight> weights, double total, std::span<Entry> entries) {
    const std::size_t n = weights.size();
    // share[i]: the weight that index i still has to give away, in units of one bucket.
    std::vector<double> share(n);
    std::vector<std::uint32_t> light, heavy;
    for (std::size_t i = 0; i < n; ++i) {
      share[i] = static_cast<double>(weights[i]) / total * static_cast<double>(n);
      (share[i] < 1.0 ? light : heavy).push_back(static_cast<std::uint32_t>(i));
    }
    while (!light.empty() && !heavy.empty()) {
      const std::uint32_t taker = light.back();
      const std::uint32_t giver = heavy.back();
      light.pop_back();
      entries[taker] = {static_cast<std::uint32_t>(share[taker] * 0x1p32), giver};
      share[giver] -= 1.0 - share[taker];
      if (share[giver] < 1.0) {
        heavy.pop_back();
        light.push_back(giver);
      }
    }
    // An index that is left over fills its bucket, except for rounding errors: it is its own alias.
    for (const auto& rest : {light, heavy})
      for (const std::uint32_t i : rest) entries[i] = {UINT32_MAX, i};
  }

  /// A draw whose table entry has not been read.
  struct Place {
    std::uint32_t bucket;
    std::uint32_t fraction;  // within the bucket, in units of 2^-32
  };

  /// Begins a draw and prefetches its table entry; `finish` completes it. A table of 10^5 words
  /// does not fit into the first-level cache.
  Place begin_draw(Random& random) const noexcept {
    const Place place = draw_place(random, entries_.size());
    __builtin_prefetch(&entries_[place.bucket]);
    return place;
  }

  WordId end_draw(Place place) const noexcept { return end_draw(entries_.data(), place); }

  /// Begins a draw from a table [size] that fill() has written, wherever it is in memory.
  static constexpr Place draw_place(Random& random, std::uint64_t size) noexcept {
    __extension__ typedef unsigned __int128 wide;  // nvcc does not accept __extension__ using
    const wide product = wide{random()} * size;
    return {static_cast<std::uint32_t>(product >> 64), static_cast<std::uint32_t>(product >> 32)};
  }
  static constexpr WordId end_draw(const Entry* entries, Place place) noexcept {
    const Entry entry = entries[place.bucket];
    // A mask, because a branch would be mispredicted every other draw.
    const std::uint32_t own = 0u - static_cast<std::uint32_t>(place.fraction < entry.threshold);
    return (place.bucket & own) | (entry.alias & ~own);
  }

 private:
  std::vector<Entry> entries_;
};

}  // namespace detail

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

WORDLOOM_FUNCTION AliasTable::AliasTable(std::span<const double> weights)
    : entries_(weights.size()) {
  const std::size_t n = weights.size();
  if (n == 0 || n > UINT32_MAX)
    throw InvalidArgument{"an alias table needs 1 to 4294967295 weights, got ", n};
  double total = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!(weights[i] >= 0) || !is_finite(weights[i]))
      throw InvalidArgument{"weight ", i, " of an alias table is ", weights[i],
                            ", must be finite and not negative"};
    total += weights[i];
  }
  if (!(total > 0) || !is_finite(total))
    throw InvalidArgument{"the weights of an alias table sum to ", total,
                          ", must be finite and above 0"};

  fill(weights, total, entries_);
}

}  // namespace detail

#endif

}}  // namespace wordloom::WORDLOOM_ABI
