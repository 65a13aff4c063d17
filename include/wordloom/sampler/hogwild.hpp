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

/// Skip-gram with negative sampling as word2vec does it (Mikolov et al. 2013b; word2vec.c): each
/// context word of each centre word is a block of its own, 1 x (1 + K), with K negatives drawn
/// afresh. As there, the context word is the input and the centre word the positive output.
template <class Window = RandomWindow>
class BasicHogwild {
 public:
  using Produces = Block;
  using WindowPolicy = Window;

  /// Throws CorpusError for a vocabulary of fewer than two words.
  BasicHogwild(const Hyperparameters& parameters, const Vocabulary& vocabulary)
      : window_(parameters),
        negatives_(vocabulary, parameters.negative_exponent),
        outputs_(1 + parameters.negatives),
        drawn_(outputs_ * (lookahead + 1)),
        contexts_(lookahead + 1) {}

  BlockShape max_block() const noexcept { return {1, outputs_}; }

  template <class Sink>
  void sample(std::span<const WordId> sentence, Random& random, Sink&& sink) {
    std::size_t drawn = 0, used = 0;
    const auto use = [&] {
      const std::size_t slot = used++ % (lookahead + 1);
      sink(Block{std::span(contexts_).subspan(slot, 1), outputs_of(slot), 1, {}});
    };
    for (std::size_t center = 0; center < sentence.size(); ++center) {
      const std::size_t reach = window_.reach(random);
      const std::size_t first = center - std::min(center, reach);
      const std::size_t last = std::min(sentence.size(), center + reach + 1);
      for (std::size_t context = first; context < last; ++context) {
        if (context == center) continue;
        const std::size_t slot = drawn++ % (lookahead + 1);
        contexts_[slot] = sentence[context];
        const auto outputs = outputs_of(slot);
        outputs[0] = sentence[center];
        for (WordId& negative : outputs.subspan(1))
          negative = negatives_.draw(random, sentence[center]);
        announce_rows(sink, std::span(contexts_).subspan(slot, 1), outputs);
        if (drawn > lookahead) use();
      }
    }
    while (used < drawn) use();
  }

 private:
  // Blocks between the drawing of negatives and their use, so that a kernel can prefetch rows.
  static constexpr std::size_t lookahead = 3;

  std::span<WordId> outputs_of(std::size_t slot) noexcept {
    return std::span(drawn_).subspan(slot * outputs_, outputs_);
  }

  Window window_;
  NegativeDistribution negatives_;
  std::size_t outputs_;           // 1 + K
  std::vector<WordId> drawn_;     // [lookahead + 1][1 + K] a centre word and its negatives
  std::vector<WordId> contexts_;  // [lookahead + 1] the context word of each
};

using Hogwild = BasicHogwild<RandomWindow>;
using HogwildFixedWindow = BasicHogwild<FixedWindow>;

static_assert(Sampler<Hogwild> && Sampler<HogwildFixedWindow>);

}  // namespace wordloom
