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

/// Context combining (pSGNScc: Rengasamy et al. 2017, "Optimizing Word2Vec Performance on Multicore
/// Systems"): windows that share words become one block, in which each shared word stands once and
/// which share their negatives. Here they are the windows of G successive words: the inputs are all
/// words of these windows, the outputs the G words and H negatives, and an index from words to
/// windows tells which pairs are positive; a word and a centre that do not share a window are no
/// pair. A word in w of the windows meets each negative with weight K w / H, as in
/// SentenceMinibatch. `minibatch` is G, 4 when it is 0; `shared_negatives` is H, 2/5 G K when it is
/// 0: fewer cost analogies, more cost time (benchmarks/results/).
template <class Window = RandomWindow>
class BasicCombinedContext {
 public:
  using Produces = Block;

  /// Throws CorpusError for a vocabulary of fewer than two words.
  BasicCombinedContext(const Hyperparameters& parameters, const Vocabulary& vocabulary)
      : window_(parameters),
        negatives_(vocabulary, parameters.negative_exponent),
        per_pair_(static_cast<float>(parameters.negatives)),
        group_(parameters.minibatch == 0 ? 4 : parameters.minibatch),
        shared_(parameters.shared_negatives != 0
                    ? parameters.shared_negatives
                    : std::max<std::size_t>(1, 2 * group_ * parameters.negatives / 5)),
        outputs_(2 * (group_ + shared_)),
        pair_weights_(max_block().inputs * max_block().outputs),
        reaches_(group_) {}

  BlockShape max_block() const noexcept {
    return {group_ + 2 * window_.largest(), group_ + shared_};
  }

  template <class Sink>
  void sample(std::span<const WordId> sentence, Random& random, Sink&& sink) {
    if (sentence.size() < 2) return;
    for (std::size_t first = 0, next = announce(sentence, 0, random, sink); first < sentence.size();
         first += group_) {
      const auto outputs = outputs_of(first, next - first);
      if (next < sentence.size()) next = announce(sentence, next, random, sink);
      combine(sentence, first, outputs, random, sink);
    }
  }

 private:
  std::span<WordId> outputs_of(std::size_t first, std::size_t centers) noexcept {
    const std::size_t slot = first / group_ % 2;
    return std::span(outputs_).subspan(slot * (group_ + shared_), centers + shared_);
  }

  /// Draws the negatives of the group of centres from `first` on and tells which rows it needs.
  /// Returns where the next group begins.
  template <class Sink>
  std::size_t announce(std::span<const WordId> sentence, std::size_t first, Random& random,
                       Sink& sink) {
    const std::size_t next = std::min(first + group_, sentence.size());
    const auto outputs = outputs_of(first, next - first);
    std::copy(sentence.begin() + static_cast<std::ptrdiff_t>(first),
              sentence.begin() + static_cast<std::ptrdiff_t>(next), outputs.begin());
    negatives_.draw(random, outputs.subspan(next - first));
    const std::size_t entering = std::min(first + window_.largest(), sentence.size());
    const std::size_t entered = std::min(next + window_.largest(), sentence.size());
    announce_rows(sink, sentence.subspan(entering, entered - entering), outputs);
    return next;
  }

  template <class Sink>
  void combine(std::span<const WordId> sentence, std::size_t first, std::span<const WordId> outputs,
               Random& random, Sink& sink) {
    const std::size_t centers = outputs.size() - shared_;
    std::size_t begin = first, end = first + centers;
    for (std::size_t j = 0; j < centers; ++j) {
      reaches_[j] = window_.reach(random);
      begin = std::min(begin, first + j - std::min(first + j, reaches_[j]));
      end = std::max(end, std::min(sentence.size(), first + j + reaches_[j] + 1));
    }
    const std::size_t n = end - begin;
    float* row = pair_weights_.data();
    windows_.assign(n, 0.0f);
    for (std::size_t j = 0; j < centers; ++j, row += n) {
      const std::size_t center = first + j - begin;
      const std::size_t from = center - std::min(center, reaches_[j]);
      const std::size_t to = std::min(n, center + reaches_[j] + 1);
      for (std::size_t i = 0; i < n; ++i) {
        row[i] = i >= from && i < to && i != center ? 1.0f : 0.0f;
        windows_[i] += row[i];
      }
    }
    const float weight = -per_pair_ / static_cast<float>(shared_);
    for (float& w : windows_) w *= weight;
    for (const WordId negative : outputs.subspan(centers)) {
      for (std::size_t i = 0; i < n; ++i) row[i] = windows_[i];
      // A negative that is the centre of some of the windows is none for their words.
      bool is_center = false;
      for (const WordId center : outputs.first(centers)) is_center |= center == negative;
      if (is_center)
        for (std::size_t j = 0; j < centers; ++j)
          if (outputs[j] == negative)
            for (std::size_t i = 0; i < n; ++i)
              if (pair_weights_[j * n + i] > 0.0f) row[i] = 0.0f;
      row += n;
    }
    sink(Block{sentence.subspan(begin, n),
               outputs,
               centers,
               {},
               std::span(pair_weights_).first(n * outputs.size())});
  }

  Window window_;
  NegativeDistribution negatives_;
  float per_pair_;                    // K
  std::size_t group_;                 // G
  std::size_t shared_;                // H
  std::vector<WordId> outputs_;       // [2][G + H] centres and negatives of two groups
  std::vector<float> pair_weights_;   // [G + H][G + 2 window]
  std::vector<std::size_t> reaches_;  // [G]
  std::vector<float> windows_;        // [G + 2 window] how many windows a word is in
};

using CombinedContext = BasicCombinedContext<RandomWindow>;
using CombinedContextFixedWindow = BasicCombinedContext<FixedWindow>;

static_assert(Sampler<CombinedContext> && Sampler<CombinedContextFixedWindow>);

}  // namespace wordloom
