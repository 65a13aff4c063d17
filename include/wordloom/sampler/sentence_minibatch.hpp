#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <wordloom/sampler/concept.hpp>
#include <wordloom/sampler/detail/shared_outputs.hpp>
#include <wordloom/sampler/negative_sampling.hpp>
#include <wordloom/sampler/window.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Decoupled attraction and repulsion (PAR-Word2Vec: Moon et al. 2019, "Parallel Data-Local
/// Training for Optimizing Word2Vec Embeddings for Word and Graph Embeddings"): for each sentence
/// first the positives of all windows, n x 1, then minibatches of B words of the sentence against H
/// shared negatives, B x H. A word that is context of w windows is scored against K w negatives in
/// word2vec, here against H, each with weight K w / H.
struct SentenceMinibatch {
  Window window = {};
  NegativeSampling targets = {};
  std::size_t minibatch = 16;        // B, words
  std::size_t shared_negatives = 0;  // H; 0: K (W + 1) for random windows, weight 1 on average

  static constexpr Block::Features uses = {.weights = true};

  static SentenceMinibatch from(const Hyperparameters& parameters) {
    return {Window::from(parameters), NegativeSampling::from(parameters),
            parameters.minibatch == 0 ? 16 : parameters.minibatch, parameters.shared_negatives};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit_parameters_of(visit, window, targets);
    visit("minibatch", minibatch, 1, 1000);
    visit("shared_negatives", shared_negatives, 0, 10'000);
  }
  /// Returns H.
  std::size_t shared() const noexcept {
    return shared_negatives != 0 ? shared_negatives : targets.negatives * window.mean_context();
  }

  class Worker;
  /// Throws CorpusError for a vocabulary of fewer than two words.
  auto start(const Vocabulary& vocabulary) const {
    return SamplerRun(*this, targets.start(vocabulary));
  }
};

/// The scratch memory of one thread.
class SentenceMinibatch::Worker {
 public:
  template <class Tables>
  Worker(const SentenceMinibatch& policy, const Tables& tables)
      : window_(policy.window),
        weight_(-static_cast<float>(policy.targets.negatives) /
                static_cast<float>(policy.shared())),
        words_(policy.minibatch),
        context_(2 * window_.size),
        negatives_(tables, 0, policy.shared()),
        weights_(max_block()) {}

  Block::Shape max_block() const noexcept {
    return {.inputs = (std::max)(context_.size(), words_), .outputs = negatives_.shared()};
  }

  void begin_epoch(const Random& stream, std::uint64_t picks) noexcept {
    negatives_.begin_epoch(stream, picks);
  }
  std::uint64_t picks() const noexcept { return negatives_.picks(); }

  template <class Sink>
  void sample(const Sentences& text, Random& random, Sink&& sink) {
    for (std::size_t i = 0; i < text.count(); ++i) {
      const auto following = i + 1 < text.count() ? text[i + 1] : std::span<const WordId>();
      sample(text[i], following, random, sink);
    }
  }

 private:
  template <class Sink>
  void sample(std::span<const WordId> sentence, std::span<const WordId> following, Random& random,
              Sink& sink) {
    if (sentence.size() < 2) return;
    negatives_.begin_draw(sentence, random);
    auto negatives = draw(sentence, 0, random);
    attract(sentence, negatives, random, sink);
    for (std::size_t first = 0; first < sentence.size(); first += words_) {
      const auto current = negatives;
      if (first + words_ < sentence.size()) {
        negatives = draw(sentence, first + words_, random);
        announce_rows(sink, minibatch(sentence, first + words_), negatives);
      } else if (!following.empty()) {
        announce_rows(sink, following.first((std::min)(window_.size + 1, following.size())),
                      following.first(1));
      }
      const auto inputs = minibatch(sentence, first);
      float* weight = weights_.change();
      for (std::size_t h = 0; h < current.size(); ++h)
        for (std::size_t i = 0; i < inputs.size(); ++i) *weight++ = weight_ * windows_[first + i];
      sink(Block{.inputs = inputs,
                 .outputs = current,
                 .weights = weights_.of(inputs.size(), current.size())});
    }
  }

  /// Trains the positives of all windows. Announces the first negatives, a few with each word.
  template <class Sink>
  void attract(std::span<const WordId> sentence, std::span<const RowId> negatives, Random& random,
               Sink& sink) {
    windows_.assign(sentence.size(), 0.0f);
    std::size_t announced = 0;
    for (std::size_t center = 0; center < sentence.size(); ++center) {
      const std::size_t due = negatives.size() * (center + 1) / sentence.size();
      announce_rows(sink, {}, negatives.subspan(announced, due - announced));
      announced = due;
      if (center + 1 < sentence.size()) {
        const std::size_t entering = (std::min)(center + 1 + window_.size, sentence.size() - 1);
        announce_rows(sink, sentence.subspan(entering, 1), sentence.subspan(center + 1, 1));
      }
      const detail::WindowRange range(center, window_.reach(random), sentence.size());
      RowId* input = context_.data();
      for (std::size_t i = range.first; i < range.end; ++i) {
        if (i == center) continue;
        *input++ = sentence[i];
        windows_[i] += 1.0f;
      }
      const auto count = static_cast<std::size_t>(input - context_.data());
      sink(Block{.inputs = std::span(context_).first(count),
                 .outputs = sentence.subspan(center, 1),
                 .positives = 1,
                 .examples = count});
    }
  }

  std::span<const WordId> minibatch(std::span<const WordId> sentence, std::size_t first) const {
    return sentence.subspan(first, (std::min)(words_, sentence.size() - first));
  }

  /// Draws the negatives of the words from `first` on.
  std::span<const RowId> draw(std::span<const WordId> sentence, std::size_t first, Random& random) {
    return negatives_.next({}, sentence.subspan((std::min)(first + words_, sentence.size())),
                           random);
  }

  Window window_;
  float weight_;                // -K / H
  std::size_t words_;           // B
  std::vector<RowId> context_;  // [2 W]
  detail::SharedOutputs negatives_;
  detail::WeightMatrix weights_;  // [H x B]
  std::vector<float> windows_;    // [sentence] the windows that each word is context of
};

static_assert(Sampler<SentenceMinibatch>);

}}  // namespace wordloom::WORDLOOM_ABI
