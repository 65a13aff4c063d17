#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/sampler/block.hpp>
#include <wordloom/sampler/concept.hpp>
#include <wordloom/sampler/negative_sampling.hpp>
#include <wordloom/sampler/window.hpp>

namespace wordloom {

/// Shared negatives (pWord2Vec: Ji et al. 2016, "Parallelizing Word2Vec in Shared and Distributed
/// Memory", section III-B): all context words of a centre word form one block, n x (1 + K), and
/// share the centre word and the same K negatives, so that the block is a matrix product.
template <class Window = RandomWindow>
class BasicSharedNegative {
 public:
  using Produces = Block;
  using WindowPolicy = Window;

  /// Throws CorpusError for a vocabulary of fewer than two words.
  BasicSharedNegative(const Hyperparameters& parameters, const Vocabulary& vocabulary)
      : window_(parameters),
        negatives_(vocabulary, parameters.negative_exponent, at_once * parameters.negatives),
        inputs_(2 * window_.largest()),
        outputs_(1 + parameters.negatives),
        drawn_(outputs_ * 2 * at_once) {}

  BlockShape max_block() const noexcept { return {inputs_.size(), outputs_}; }

  template <class Sink>
  void sample(std::span<const WordId> sentence, Random& random, Sink&& sink) {
    std::size_t drawn = 0;
    begin(sentence, 0, random);
    for (std::size_t center = 0; center < sentence.size(); ++center) {
      for (; drawn < sentence.size() && drawn <= center + lookahead; ++drawn)
        announce(sentence, drawn, random, sink);
      const std::size_t reach = window_.reach(random);
      const std::size_t left = std::min(center, reach);
      const std::size_t right = std::min(sentence.size() - 1 - center, reach);
      if (left + right == 0) continue;  // a lone word has no context
      // The whole window is copied and a part of it used: the reach is random, and loops of random
      // length cost more than a few words.
      const std::size_t most = window_.largest();
      const std::size_t before = std::min(center, most);
      const std::size_t after = std::min(sentence.size() - 1 - center, most);
      for (std::size_t i = 0; i < before; ++i)
        inputs_[most - before + i] = sentence[center - before + i];
      for (std::size_t i = 0; i < after; ++i) inputs_[most + i] = sentence[center + 1 + i];
      sink(Block{std::span(inputs_).subspan(most - left, left + right), outputs_of(center), 1, {}});
    }
  }

 private:
  // Words between the announcement of rows and their use, so that they can arrive. Measured with an
  // earlier FusedKernel<128> and 68,000 words, M words/s: 0 words 4.2, 1 to 4 words 5.5 to 5.6.
  static constexpr std::size_t lookahead = 2;
  // Words whose negatives are drawn together.
  static constexpr std::size_t at_once = 4;

  std::span<WordId> outputs_of(std::size_t center) noexcept {
    return std::span(drawn_).subspan(center % (2 * at_once) * outputs_, outputs_);
  }

  void begin(std::span<const WordId> sentence, std::size_t center, Random& random) noexcept {
    negatives_.begin(random, std::min(at_once, sentence.size() - center) * (outputs_ - 1));
  }

  template <class Sink>
  void announce(std::span<const WordId> sentence, std::size_t center, Random& random, Sink& sink) {
    if (center % at_once == 0) {
      const std::size_t count = std::min(at_once, sentence.size() - center);
      negatives_.finish(
          random, sentence.subspan(center, count),
          std::span(drawn_).subspan(center % (2 * at_once) * outputs_, count * outputs_));
      begin(sentence, center + count, random);
    }
    const std::size_t entering = std::min(center + window_.largest(), sentence.size() - 1);
    announce_rows(sink, sentence.subspan(entering, 1), outputs_of(center));
  }

  Window window_;
  NegativeBatch negatives_;
  std::vector<WordId> inputs_;  // [2 window] the context words
  std::size_t outputs_;         // 1 + K
  std::vector<WordId> drawn_;   // [2 at_once][1 + K] centre words and their negatives
};

using SharedNegative = BasicSharedNegative<RandomWindow>;
using SharedNegativeFixedWindow = BasicSharedNegative<FixedWindow>;

static_assert(Sampler<SharedNegative> && Sampler<SharedNegativeFixedWindow>);

}  // namespace wordloom
