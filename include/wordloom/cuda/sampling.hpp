#pragma once
#include <cstdint>
#include <type_traits>

#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/sampler/window.hpp>

/// The sampling of kernels on a device: they subsample and draw windows and negatives themselves.
namespace wordloom::inline WORDLOOM_ABI::cuda {

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

/// The uses of random numbers, each of which has a stream of its own.
enum class Purpose : std::uint32_t { subsample, window, negative };

/// The random numbers of one sentence in one epoch. They depend on nothing else: neither the grid
/// nor the order of sentences changes them.
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

/// An AliasTable in the memory of the machine that trains.
struct AliasView {
  const AliasTable::Entry* entries;
  std::uint32_t size;

  WORDLOOM_BOTH WordId draw(std::uint32_t bucket, std::uint32_t fraction) const {
    const auto place = static_cast<std::uint32_t>(std::uint64_t{bucket} * size >> 32);
    const AliasTable::Entry entry = entries[place];
    return fraction < entry.threshold ? place : entry.alias;
  }
};

/// The table of Subsampling in that memory: word w is kept when a draw is at most entry w, the
/// last entry for all words from `last` on.
struct SubsamplingView {
  const std::uint32_t* highest_kept;  // [last + 1]
  std::uint32_t last;

  WORDLOOM_BOTH bool keeps(WordId word, std::uint32_t draw) const {
    return draw <= highest_kept[word < last ? word : last];
  }
};

/// The id of no word, in place of a negative that is left out.
inline constexpr WordId no_word = ~WordId{0};

/// The parameters of a sampler on a device.
struct Sampling {
  AliasView negatives;
  std::uint32_t max_reach;      // words on each side of a centre
  std::uint32_t per_window;     // K
  bool fixed_window;            // else the reach is uniform from 1 to max_reach
  std::uint32_t minibatch = 0;  // B, words; 0 for samplers without minibatches
  std::uint32_t shared = 0;     // H, negatives of a minibatch

  /// The reach of the window of the word at `position` in its sentence.
  WORDLOOM_BOTH std::uint32_t reach(const SentenceRandom& random, std::uint32_t position) const {
    if (fixed_window) return max_reach;
    const Philox draw = random(Purpose::window, position);
    return 1 + static_cast<std::uint32_t>(std::uint64_t{draw.x[0]} * max_reach >> 32);
  }
  /// The `index`-th negative of a sentence. One that equals the positive is drawn once more, then
  /// left out (no_word), as word2vec.c leaves out the first.
  WORDLOOM_BOTH WordId negative(const SentenceRandom& random, std::uint32_t index,
                                WordId positive) const {
    const Philox draw = random(Purpose::negative, index);
    WordId word = negatives.draw(draw.x[0], draw.x[1]);
    if (word == positive) word = negatives.draw(draw.x[2], draw.x[3]);
    return word == positive ? no_word : word;
  }
};

/// A sampler whose windows and negatives can be drawn on a device.
template <class S>
concept DrawnOnDevice = requires(const S& sampler) {
  sampler.window.max_reach();
  sampler.targets.negatives;
  sampler.targets.exponent;
};

/// Returns the parameters of `sampler`, whose negatives are drawn by `negatives`.
template <DrawnOnDevice Sampler>
Sampling sampling_of(const Sampler& sampler, AliasView negatives) {
  Sampling sampling{negatives, static_cast<std::uint32_t>(sampler.window.max_reach()),
                    static_cast<std::uint32_t>(sampler.targets.negatives),
                    std::is_same_v<decltype(sampler.window), FixedWindow>};
  if constexpr (requires { sampler.shared(); }) {
    sampling.minibatch = static_cast<std::uint32_t>(sampler.minibatch);
    sampling.shared = static_cast<std::uint32_t>(sampler.shared());
  }
  return sampling;
}

/// Copies the words of a sentence that are kept to `kept`, in order, and returns their number. For
/// teams of 32 threads.
template <class Team>
WORDLOOM_BOTH std::uint32_t subsample(const Team& team, const SubsamplingView& table,
                                      const WordId* words, std::uint32_t size,
                                      const SentenceRandom& random, WordId* kept) {
  const auto bits_below = [](std::uint32_t bits, int l) {
    const std::uint32_t below = bits & ((std::uint32_t{1} << l) - 1);
#ifdef __CUDA_ARCH__
    return static_cast<std::uint32_t>(__popc(below));
#else
    return static_cast<std::uint32_t>(__builtin_popcount(below));
#endif
  };
  std::uint32_t count = 0;
  for (std::uint32_t base = 0; base < size; base += 32) {
    const std::uint32_t bits = team.ballot(team.each([&](int l) {
      const std::uint32_t i = base + static_cast<std::uint32_t>(l);
      return i < size && table.keeps(words[i], random(Purpose::subsample, i).x[0]);
    }));
    team.each([&](int l) {
      if (bits >> l & 1u)
        kept[count + bits_below(bits, l)] = words[base + static_cast<std::uint32_t>(l)];
      return 0;
    });
    count += bits_below(bits, 31) + (bits >> 31);
  }
  return count;
}

}  // namespace wordloom::inline WORDLOOM_ABI::cuda
