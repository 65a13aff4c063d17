#pragma once
#include <bit>
#include <cstdint>
#include <limits>

namespace wordloom {

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

  /// To go on with a stream later: `from_state(state(), gamma())`.
  constexpr std::uint64_t state() const noexcept { return state_; }
  constexpr std::uint64_t gamma() const noexcept { return gamma_; }
  static constexpr Random from_state(std::uint64_t state, std::uint64_t gamma) noexcept {
    Random random(0);
    random.state_ = state;
    random.gamma_ = gamma;
    return random;
  }

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }

  /// 64 random bits.
  constexpr result_type operator()() noexcept { return mix(state_ += gamma_); }

  /// Uniform in [0, bound), bound > 0: the high half of a 128-bit product (Lemire 2019); its bias
  /// is below bound / 2^64.
  constexpr std::uint64_t below(std::uint64_t bound) noexcept {
    return static_cast<std::uint64_t>((wide{(*this)()} * bound) >> 64);
  }

  /// Uniform in [0, 1), a multiple of 2^-53.
  constexpr double uniform() noexcept { return static_cast<double>((*this)() >> 11) * 0x1p-53; }

 private:
  __extension__ typedef unsigned __int128 wide;  // nvcc knows no __extension__ using
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

}  // namespace wordloom
