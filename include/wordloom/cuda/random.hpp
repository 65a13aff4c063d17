#pragma once
#include <cstdint>
#include <type_traits>

#include <wordloom/core/alias_table.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/cuda/team.hpp>
#include <wordloom/sampler/window.hpp>

namespace wordloom::cuda {

/// Four random words of Philox4x32-10, a function of counter and key alone (Salmon et al. 2011,
/// "Parallel Random Numbers: As Easy as 1, 2, 3").
struct Philox {
  std::uint32_t x[4];

  WORDLOOM_BOTH Philox(std::uint32_t c0, std::uint32_t c1, std::uint32_t c2, std::uint32_t c3,
                       std::uint32_t k0, std::uint32_t k1)
      : x{c0, c1, c2, c3} {
    WORDLOOM_UNROLL
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t a = std::uint64_t{0xD2511F53} * x[0];
      const std::uint64_t b = std::uint64_t{0xCD9E8D57} * x[2];
      const std::uint32_t y0 = static_cast<std::uint32_t>(b >> 32) ^ x[1] ^ k0;
      const std::uint32_t y2 = static_cast<std::uint32_t>(a >> 32) ^ x[3] ^ k1;
      x[1] = static_cast<std::uint32_t>(b);
      x[3] = static_cast<std::uint32_t>(a);
      x[0] = y0;
      x[2] = y2;
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
  }
};

/// What a random number is for: streams of their own.
enum class Purpose : std::uint32_t { subsample, window, negative };

/// The random numbers of one sentence in one epoch: they depend on nothing else, so that neither
/// the grid nor the order of sentences changes them.
struct SentenceRandom {
  std::uint64_t seed;
  std::uint64_t sentence;
  std::uint32_t epoch;

  WORDLOOM_BOTH Philox operator()(Purpose purpose, std::uint32_t index) const {
    return Philox(index, static_cast<std::uint32_t>(purpose) << 24 ^ epoch,
                  static_cast<std::uint32_t>(sentence), static_cast<std::uint32_t>(sentence >> 32),
                  static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
  }
};

/// An alias table in the device's memory.
struct AliasView {
  const AliasTable::Entry* entries;
  std::uint32_t size;

  WORDLOOM_BOTH WordId draw(std::uint32_t bucket, std::uint32_t fraction) const {
    const auto place = static_cast<std::uint32_t>(std::uint64_t{bucket} * size >> 32);
    const AliasTable::Entry entry = entries[place];
    return fraction < entry.threshold ? place : entry.alias;
  }
};

/// No word: a negative that is left out.
inline constexpr WordId no_word = ~WordId{0};

/// What samplers are told on the device.
struct Sampling {
  AliasView negatives;
  std::uint32_t window;      // W, words
  std::uint32_t per_window;  // K
  bool fixed_window;
  std::uint32_t minibatch = 0;  // B, words, and
  std::uint32_t shared = 0;     // H, negatives of a minibatch, where a scheme has them

  /// The farthest that a window can reach.
  WORDLOOM_BOTH constexpr std::uint32_t largest_reach() const {
    return fixed_window ? (window + 1) / 2 : window;
  }
  /// Of the window of the word at `position`, as RandomWindow and FixedWindow.
  WORDLOOM_BOTH std::uint32_t reach(const SentenceRandom& random, std::uint32_t position) const {
    if (fixed_window) return (window + 1) / 2;
    const Philox draw = random(Purpose::window, position);
    return 1 + static_cast<std::uint32_t>(std::uint64_t{draw.x[0]} * window >> 32);
  }
  /// The negative of that index in its sentence. One that is the positive is drawn once more, then
  /// left out (no_word), as word2vec.c leaves out the first.
  WORDLOOM_BOTH WordId negative(const SentenceRandom& random, std::uint32_t index,
                                WordId positive) const {
    const Philox draw = random(Purpose::negative, index);
    WordId word = negatives.draw(draw.x[0], draw.x[1]);
    if (word == positive) word = negatives.draw(draw.x[2], draw.x[3]);
    return word == positive ? no_word : word;
  }
};

/// What a sampler would do on the host.
template <class Sampler>
Sampling sampling_of(const Hyperparameters& parameters, AliasView negatives) {
  Sampling sampling{negatives, static_cast<std::uint32_t>(parameters.window),
                    static_cast<std::uint32_t>(parameters.negatives),
                    std::is_same_v<typename Sampler::WindowPolicy, FixedWindow>};
  if constexpr (requires { Sampler::minibatch(parameters); }) {
    sampling.minibatch = static_cast<std::uint32_t>(Sampler::minibatch(parameters));
    sampling.shared = static_cast<std::uint32_t>(Sampler::shared_negatives(parameters));
  }
  return sampling;
}

}  // namespace wordloom::cuda
