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

/// Decoupled attraction and repulsion (PAR-Word2Vec: Moon et al. 2019, "Parallel Data-Local
/// Training for Optimizing Word2Vec Embeddings for Word and Graph Embeddings"): of each sentence
/// first the positives of all windows, n x 1, then minibatches of B words of the sentence against H
/// shared negatives, B x H. A word that is context of w windows would meet K w negatives in
/// word2vec: here H, each with weight K w / H. `minibatch` is B, 16 when it is 0;
/// `shared_negatives` is H, when it is 0 the number that gives weight 1 in the mean, K (W + 1) for
/// random windows.
template <class Window = RandomWindow>
class BasicSentenceMinibatch {
 public:
  using Produces = Block;
  using WindowPolicy = Window;

  /// B, words.
  static std::size_t minibatch(const Hyperparameters& parameters) {
    return parameters.minibatch == 0 ? 16 : parameters.minibatch;
  }
  /// H.
  static std::size_t shared_negatives(const Hyperparameters& parameters) {
    return parameters.shared_negatives != 0
               ? parameters.shared_negatives
               : parameters.negatives * Window(parameters).mean_context();
  }

  /// Throws CorpusError for a vocabulary of fewer than two words.
  BasicSentenceMinibatch(const Hyperparameters& parameters, const Vocabulary& vocabulary)
      : window_(parameters),
        per_pair_(static_cast<float>(parameters.negatives)),
        context_(2 * window_.largest()),
        words_(minibatch(parameters)),
        weights_(words_),
        shared_(shared_negatives(parameters)),
        negatives_(vocabulary, parameters.negative_exponent, shared_),
        drawn_(2 * shared_) {}

  BlockShape max_block() const noexcept { return {std::max(context_.size(), words_), shared_}; }

  template <class Sink>
  void sample(std::span<const WordId> sentence, Random& random, Sink&& sink) {
    windows_.assign(sentence.size(), 0.0f);
    for (std::size_t center = 0; center < sentence.size(); ++center) {
      if (center + 1 < sentence.size()) {
        const std::size_t entering = std::min(center + 1 + window_.largest(), sentence.size() - 1);
        announce_rows(sink, sentence.subspan(entering, 1), sentence.subspan(center + 1, 1));
      }
      const std::size_t reach = window_.reach(random);
      const std::size_t first = center - std::min(center, reach);
      const std::size_t last = std::min(sentence.size(), center + reach + 1);
      WordId* input = context_.data();
      for (std::size_t i = first; i < last; ++i) {
        if (i == center) continue;
        *input++ = sentence[i];
        windows_[i] += 1.0f;
      }
      const auto count = static_cast<std::size_t>(input - context_.data());
      if (count > 0)
        sink(Block{std::span(context_).first(count), sentence.subspan(center, 1), 1, {}});
    }
    if (sentence.size() < 2) return;
    const float weight = per_pair_ / static_cast<float>(shared_);
    negatives_.begin(random, shared_);
    announce(sentence, 0, random, sink);
    for (std::size_t first = 0; first < sentence.size(); first += words_) {
      if (first + words_ < sentence.size()) announce(sentence, first + words_, random, sink);
      const std::size_t count = std::min(words_, sentence.size() - first);
      for (std::size_t i = 0; i < count; ++i) weights_[i] = weight * windows_[first + i];
      sink(Block{sentence.subspan(first, count), negatives_of(first), 0,
                 std::span(weights_).first(count)});
    }
  }

 private:
  std::span<WordId> negatives_of(std::size_t first) noexcept {
    return std::span(drawn_).subspan(first / words_ % 2 * shared_, shared_);
  }

  /// Draws the negatives of the words from `first` on and tells which rows they need.
  template <class Sink>
  void announce(std::span<const WordId> sentence, std::size_t first, Random& random, Sink& sink) {
    negatives_.finish(negatives_of(first));
    if (first + words_ < sentence.size()) negatives_.begin(random, shared_);
    announce_rows(sink, sentence.subspan(first, std::min(words_, sentence.size() - first)),
                  negatives_of(first));
  }

  Window window_;
  float per_pair_;               // K
  std::vector<WordId> context_;  // [2 window]
  std::size_t words_;            // B
  std::vector<float> weights_;   // [B]
  std::size_t shared_;           // H
  NegativeBatch negatives_;
  std::vector<WordId> drawn_;   // [2][H] negatives of two minibatches
  std::vector<float> windows_;  // of the sentence: how many windows a word is context of
};

using SentenceMinibatch = BasicSentenceMinibatch<RandomWindow>;
using SentenceMinibatchFixedWindow = BasicSentenceMinibatch<FixedWindow>;

static_assert(Sampler<SentenceMinibatch> && Sampler<SentenceMinibatchFixedWindow>);

}  // namespace wordloom
