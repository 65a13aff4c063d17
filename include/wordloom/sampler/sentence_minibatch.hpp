#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <wordloom/sampler/concept.hpp>
#include <wordloom/sampler/negative_sampling.hpp>
#include <wordloom/sampler/shared_outputs.hpp>
#include <wordloom/sampler/window.hpp>

namespace wordloom::inline WORDLOOM_ABI {

/// Decoupled attraction and repulsion (PAR-Word2Vec: Moon et al. 2019, "Parallel Data-Local
/// Training for Optimizing Word2Vec Embeddings for Word and Graph Embeddings"): of each sentence
/// first the positives of all windows, n x 1, then minibatches of B words of the sentence against H
/// shared negatives, B x H. A word that is context of w windows would meet K w negatives in
/// word2vec: here H, each with weight K w / H.
template <class Window = RandomWindow>
struct BasicSentenceMinibatch {
  Window window = {};
  NegativeSampling targets = {};
  std::size_t minibatch = 16;        // B, words
  std::size_t shared_negatives = 0;  // H; 0: K (W + 1) for random windows, weight 1 in the mean

  static constexpr BlockFeatures uses = {.weights = true};

  static BasicSentenceMinibatch from(const Hyperparameters& parameters) {
    return {Window::from(parameters), NegativeSampling::from(parameters),
            parameters.minibatch == 0 ? 16 : parameters.minibatch, parameters.shared_negatives};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    detail::visit_all(visit, window, targets);
    visit("minibatch", minibatch, 1, 1000);
    visit("shared_negatives", shared_negatives, 0, 10'000);
  }
  /// H.
  std::size_t shared() const noexcept {
    return shared_negatives != 0 ? shared_negatives : targets.negatives * window.mean_context();
  }

  class Worker;
  /// Throws CorpusError for a vocabulary of fewer than two words.
  auto start(const Vocabulary& vocabulary) const {
    return detail::SamplerRun(*this, targets.start(vocabulary));
  }
};

/// The scratch of one thread.
template <class Window>
class BasicSentenceMinibatch<Window>::Worker {
 public:
  template <class Tables>
  Worker(const BasicSentenceMinibatch& policy, const Tables& tables)
      : window_(policy.window),
        weight_(-static_cast<float>(policy.targets.negatives) /
                static_cast<float>(policy.shared())),
        words_(policy.minibatch),
        context_(2 * window_.max_reach()),
        negatives_(tables.distribution(), 0, policy.shared()),
        weights_(max_block()) {}

  BlockShape max_block() const noexcept {
    return {.inputs = std::max(context_.size(), words_), .outputs = negatives_.shared()};
  }

  template <class Sink>
  void sample(std::span<const WordId> sentence, Random& random, Sink&& sink) {
    windows_.assign(sentence.size(), 0.0f);
    for (std::size_t center = 0; center < sentence.size(); ++center) {
      if (center + 1 < sentence.size()) {
        const std::size_t entering =
            std::min(center + 1 + window_.max_reach(), sentence.size() - 1);
        announce_rows(sink, sentence.subspan(entering, 1), sentence.subspan(center + 1, 1));
      }
      const WindowRange range(center, window_.reach(random), sentence.size());
      RowId* input = context_.data();
      for (std::size_t i = range.first; i < range.end; ++i) {
        if (i == center) continue;
        *input++ = sentence[i];
        windows_[i] += 1.0f;
      }
      const auto count = static_cast<std::size_t>(input - context_.data());
      if (count > 0)
        sink(Block{.inputs = std::span(context_).first(count),
                   .outputs = sentence.subspan(center, 1),
                   .positives = 1,
                   .examples = count});
    }
    if (sentence.size() < 2) return;
    negatives_.begin(sentence, random);
    auto negatives = announce(sentence, 0, random, sink);
    for (std::size_t first = 0; first < sentence.size(); first += words_) {
      const auto current = negatives;
      if (first + words_ < sentence.size())
        negatives = announce(sentence, first + words_, random, sink);
      const std::size_t count = std::min(words_, sentence.size() - first);
      float* weight = weights_.change();
      for (std::size_t h = 0; h < current.size(); ++h)
        for (std::size_t i = 0; i < count; ++i) *weight++ = weight_ * windows_[first + i];
      sink(Block{.inputs = sentence.subspan(first, count),
                 .outputs = current,
                 .weights = weights_.of(count, current.size())});
    }
  }

 private:
  /// Draws the negatives of the words from `first` on and announces the rows that they need.
  template <class Sink>
  std::span<const RowId> announce(std::span<const WordId> sentence, std::size_t first,
                                  Random& random, Sink& sink) {
    const auto negatives =
        negatives_.next({}, sentence.subspan(std::min(first + words_, sentence.size())), random);
    announce_rows(sink, sentence.subspan(first, std::min(words_, sentence.size() - first)),
                  negatives);
    return negatives;
  }

  Window window_;
  float weight_;                // -K / H
  std::size_t words_;           // B
  std::vector<RowId> context_;  // [2 max_reach]
  detail::SharedOutputs negatives_;
  detail::WeightMatrix weights_;  // [H x B]
  std::vector<float> windows_;    // [sentence] the windows that each word is context of
};

using SentenceMinibatch = BasicSentenceMinibatch<RandomWindow>;
using SentenceMinibatchFixedWindow = BasicSentenceMinibatch<FixedWindow>;

static_assert(Sampler<SentenceMinibatch> && Sampler<SentenceMinibatchFixedWindow>);

}  // namespace wordloom::inline WORDLOOM_ABI
