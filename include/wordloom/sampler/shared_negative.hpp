#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <wordloom/concepts.hpp>
#include <wordloom/core/block.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/sampler/negative_distribution.hpp>
#include <wordloom/sampler/window.hpp>

namespace wordloom {

/// Shared negatives (pWord2Vec: Ji et al. 2016, "Parallelizing Word2Vec in Shared and Distributed
/// Memory", section III-B): all context words of a centre word form one block, n x (1 + K), and
/// share the centre word and the same K negatives, so that the block is a matrix product.
template <class Window = RandomWindow>
class BasicSharedNegative {
 public:
  using Produces = Block;

  /// Throws CorpusError for a vocabulary of fewer than two words.
  BasicSharedNegative(const Hyperparameters& parameters, const Vocabulary& vocabulary)
      : window_(parameters),
        negatives_(vocabulary, parameters.negative_exponent),
        inputs_(2 * window_.largest()),
        outputs_(1 + parameters.negatives),
        drawn_(outputs_ * (lookahead + 1)) {}

  BlockShape max_block() const noexcept { return {inputs_.size(), outputs_}; }

  template <class Sink>
  void sample(std::span<const WordId> sentence, Random& random, Sink&& sink) {
    for (std::size_t i = 0; i < std::min(lookahead, sentence.size()); ++i)
      draw(sentence, i, random, sink);
    for (std::size_t center = 0; center < sentence.size(); ++center) {
      if (center + lookahead < sentence.size()) draw(sentence, center + lookahead, random, sink);
      const std::size_t reach = window_.reach(random);
      const std::size_t first = center - std::min(center, reach);
      const std::size_t last = std::min(sentence.size(), center + reach + 1);
      if (last - first < 2) continue;  // a lone word has no context
      const auto left = sentence.subspan(first, center - first);
      const auto right = sentence.subspan(center + 1, last - center - 1);
      std::copy(right.begin(), right.end(), std::copy(left.begin(), left.end(), inputs_.begin()));
      sink(Block{std::span(inputs_).first(last - first - 1), outputs_of(center), 1, {}});
    }
  }

 private:
  // Words between the drawing of negatives and their use, so that their rows can arrive. Measured
  // with FusedKernel<128> and 68,000 words, M words/s: 0 words 4.2, 1 to 4 words 5.5 to 5.6.
  static constexpr std::size_t lookahead = 2;

  std::span<WordId> outputs_of(std::size_t center) noexcept {
    return std::span(drawn_).subspan(center % (lookahead + 1) * outputs_, outputs_);
  }

  template <class Sink>
  void draw(std::span<const WordId> sentence, std::size_t center, Random& random, Sink& sink) {
    const auto outputs = outputs_of(center);
    outputs[0] = sentence[center];
    for (WordId& negative : outputs.subspan(1))
      negative = negatives_.draw(random, sentence[center]);
    const std::size_t entering = std::min(center + window_.largest(), sentence.size() - 1);
    announce_rows(sink, sentence.subspan(entering, 1), outputs);
  }

  Window window_;
  NegativeDistribution negatives_;
  std::vector<WordId> inputs_;  // [2 window] the context words
  std::size_t outputs_;         // 1 + K
  std::vector<WordId> drawn_;   // [lookahead + 1][1 + K] a centre word and its negatives
};

using SharedNegative = BasicSharedNegative<RandomWindow>;
using SharedNegativeFixedWindow = BasicSharedNegative<FixedWindow>;

static_assert(Sampler<SharedNegative> && Sampler<SharedNegativeFixedWindow>);

}  // namespace wordloom
