#pragma once
#include <cstdint>
#include <type_traits>

#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/cuda/detail/team.hpp>
#include <wordloom/sampler/block.hpp>
#include <wordloom/sampler/hogwild.hpp>
#include <wordloom/sampler/huffman_path.hpp>
#include <wordloom/sampler/window.hpp>

/// The sampling of kernels on a device, which subsample and draw windows and negatives themselves.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

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

/// The uses of random numbers, each with a stream of its own.
enum class Purpose : std::uint32_t { subsample, window, negative, node, order };

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
  const detail::AliasTable::Entry* entries;
  std::uint32_t size;

  WORDLOOM_BOTH WordId draw(std::uint32_t bucket, std::uint32_t fraction) const {
    const auto place = static_cast<std::uint32_t>(std::uint64_t{bucket} * size >> 32);
    const detail::AliasTable::Entry entry = entries[place];
    return fraction < entry.threshold ? place : entry.alias;
  }
  /// Returns the word that AliasTable::draw would return.
  WORDLOOM_BOTH WordId draw(Random& random) const {
    return detail::AliasTable::end_draw(entries, detail::AliasTable::draw_place(random, size));
  }
};

/// The table of Subsampling in that memory: word w is kept if a draw is at most entry w; all words
/// from `last` on have the last entry.
struct SubsamplingView {
  const std::uint32_t* highest_kept;  // [last + 1]
  std::uint32_t last;

  WORDLOOM_BOTH bool keeps(WordId word, std::uint32_t draw) const {
    return draw <= highest_kept[word < last ? word : last];
  }
};

/// The paths of HuffmanPath in that memory.
struct PathView {
  const std::uint32_t* ends;       // [V] of the paths in `nodes`
  const RowId* nodes;              // of all words: the first carry label 1, see HuffmanTree::path
  const std::uint32_t* positives;  // [V] how many carry label 1
  const std::uint32_t* kept;       // [last + 1] the probability that a node is kept, times 2^16
  std::uint32_t last;              // its entry is for all nodes from it on
  std::uint32_t most;              // nodes of the longest path
};

/// The id of no word, in place of a negative that is left out.
inline constexpr WordId no_word = ~WordId{0};

/// The parameters of a sampler on a device.
struct Sampling {
  AliasView negatives = {};
  std::uint32_t max_reach = 0;   // words on each side of a centre
  std::uint32_t per_window = 0;  // K; 0 for samplers without negatives
  bool fixed_window = false;     // else the reach is uniform from 1 to max_reach
  std::uint32_t minibatch = 0;   // B, words; 0 for samplers without minibatches
  std::uint32_t shared = 0;      // H, negatives of a minibatch or a group
  std::uint32_t group = 0;  // G, words that share their context and negatives; 0 without groups
  std::uint32_t side = 0;   // S, more context words on each side of a group
  bool has_paths = false;   // whether centres are scored against their paths in a tree
  PathView paths = {};
  bool has_bags = false;  // whether the mean of a window is scored
  BagGradient bag_gradient = BagGradient::mean;
  bool draws_for_pairs = false;  // whether each pair has negatives of its own, else each window

  /// Returns the reach of the window of the word at `position` in its sentence.
  WORDLOOM_BOTH std::uint32_t reach(const SentenceRandom& random, std::uint32_t position) const {
    if (fixed_window) return max_reach;
    WORDLOOM_MARK(13);
    const Philox draw = random(Purpose::window, position);
    return 1 + static_cast<std::uint32_t>(std::uint64_t{draw.x[0]} * max_reach >> 32);
  }
  /// Returns the number of a pair in its sentence, from the positions of its words.
  WORDLOOM_BOTH std::uint32_t pair(std::uint32_t center, std::uint32_t context) const {
    return center * (2 * max_reach + 1) + (context + max_reach - center);
  }
  /// Returns the `index`-th negative of a sentence. One that equals the positive is drawn once
  /// more, then left out (no_word); word2vec.c leaves it out at once.
  WORDLOOM_BOTH WordId negative(const SentenceRandom& random, std::uint32_t index,
                                WordId positive) const {
    return negative_unless(random, index, [=](WordId word) { return word == positive; });
  }
  /// Returns that negative if several words, for which `is_positive` is true, are positives.
  template <class IsPositive>
  WORDLOOM_BOTH WordId negative_unless(const SentenceRandom& random, std::uint32_t index,
                                       const IsPositive& is_positive) const {
    const Philox draw = random(Purpose::negative, index);
    WordId word = negatives.draw(draw.x[0], draw.x[1]);
    if (is_positive(word)) {
      WORDLOOM_MARK(11);
      word = negatives.draw(draw.x[2], draw.x[3]);
    }
    return is_positive(word) ? no_word : word;
  }
  /// Returns the row of Model::output of a word or a node: see HuffmanPathAndNegatives.
  WORDLOOM_BOTH RowId row_of_word(WordId word) const { return has_paths ? 2 * word : word; }
  WORDLOOM_BOTH RowId row_of_node(RowId node) const { return per_window > 0 ? 2 * node + 1 : node; }
};

/// Calls use(node, is_positive) for the nodes of a word's path that are kept. `window` numbers the
/// windows of a sentence. The last node is always kept.
template <class Use>
WORDLOOM_BOTH void for_each_node(const PathView& paths, const SentenceRandom& random, WordId word,
                                 std::uint32_t window, Use&& use) {
  const std::uint32_t first = word == 0 ? 0 : paths.ends[word - 1], end = paths.ends[word];
  const std::uint32_t positives = first + paths.positives[word];
  // Both parts of a path go down from the root, to nodes of ascending numbers.
  RowId last = paths.nodes[end - 1];
  if (positives > first && paths.nodes[positives - 1] > last) last = paths.nodes[positives - 1];
  constexpr std::uint32_t draws = 4;  // from one call
  const std::uint32_t call = window * ((paths.most + draws - 1) / draws);
  for (std::uint32_t base = first; base < end; base += draws) {
    const Philox drawn = random(Purpose::node, call + (base - first) / draws);
    WORDLOOM_UNROLL
    for (std::uint32_t i = 0; i < draws; ++i) {
      if (base + i >= end) break;
      const RowId node = paths.nodes[base + i];
      const std::uint32_t kept = paths.kept[node < paths.last ? node : paths.last];
      if (node == last || (drawn.x[i] >> 16) < kept) use(node, base + i < positives);
    }
  }
}

/// A sampler that scores the mean of a window, such as Cbow.
template <class S>
concept ScoresBags = requires(const S& sampler) {
  sampler.gradient;
};

/// A sampler that cuts sentences into groups of words, such as GroupedWindow.
template <class S>
concept GroupsWords = requires(const S& sampler) {
  sampler.group();
  sampler.side();
};

/// A sampler whose windows and negatives can be drawn on a device, by any scheme.
template <class S>
concept DrawnOnDevice = !ScoresBags<S> && requires(const S& sampler) {
  sampler.window.size;
  sampler.targets.negatives;
  sampler.targets.exponent;
};

/// True for samplers in which each pair of words has targets of its own.
template <class Sampler>
inline constexpr bool draws_for_pairs = false;
template <class Targets>
inline constexpr bool draws_for_pairs<BasicHogwild<Targets>> = true;

/// Calls use(part) with each part of targets, or of their tables: negatives and paths.
template <class Targets, class Use>
void for_each_part(const Targets& targets, Use use) {
  if constexpr (requires { targets.for_each_part(use); })
    targets.for_each_part(use);
  else
    use(targets);
}

/// Returns the parameters of `sampler`, without its tables.
template <class Sampler>
Sampling sampling_of(const Sampler& sampler) {
  Sampling sampling;
  if constexpr (GroupsWords<Sampler>) {
    sampling.group = static_cast<std::uint32_t>(sampler.group());
    sampling.side = static_cast<std::uint32_t>(sampler.side());
    sampling.max_reach = sampling.group + sampling.side - 1;
  } else {
    sampling.max_reach = static_cast<std::uint32_t>(sampler.window.size);
    sampling.fixed_window = sampler.window.is_fixed;
  }
  for_each_part(sampler.targets, [&](const auto& part) {
    if constexpr (requires { part.negatives; })
      sampling.per_window = static_cast<std::uint32_t>(part.negatives);
    else
      sampling.has_paths = true;
  });
  if constexpr (ScoresBags<Sampler>) {
    sampling.has_bags = true;
    sampling.bag_gradient = sampler.gradient;
  }
  sampling.draws_for_pairs = draws_for_pairs<Sampler>;
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

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
