#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/sampler/block.hpp>
#include <wordloom/sampler/concept.hpp>
#include <wordloom/sampler/negative_sampling.hpp>
#include <wordloom/sampler/window.hpp>

namespace wordloom {

/// Context combining (pSGNScc: Rengasamy et al. 2017, "Optimizing Word2Vec Performance on Multicore
/// Systems"): windows that share words become one block, in which each shared word stands once and
/// which share their negatives. Here they are the windows of G successive words: the inputs are all
/// words of these windows, the outputs the G words and H negatives; a word and a centre that do not
/// share a window are no pair. (pSGNScc finds distant windows too, by an inverse index.) A word in
/// w of the windows meets each negative with weight K w / H, as in SentenceMinibatch. `minibatch`
/// is G, 4 when it is 0; `shared_negatives` is H, 2/5 G K when it is 0: fewer cost analogies, more
/// cost time (benchmarks/results/).
template <class Window = RandomWindow>
class BasicCombinedContext {
 public:
  using Produces = Block;

  /// Throws CorpusError for a vocabulary of fewer than two words.
  BasicCombinedContext(const Hyperparameters& parameters, const Vocabulary& vocabulary)
      : window_(parameters),
        per_pair_(static_cast<float>(parameters.negatives)),
        group_(parameters.minibatch == 0 ? 4 : parameters.minibatch),
        shared_(parameters.shared_negatives != 0
                    ? parameters.shared_negatives
                    : std::max<std::size_t>(1, 2 * group_ * parameters.negatives / 5)),
        negatives_(vocabulary, parameters.negative_exponent, shared_),
        outputs_(2 * (group_ + shared_)),
        pair_weights_(max_block().inputs * max_block().outputs),
        reaches_(group_),
        windows_(max_block().inputs) {}

  BlockShape max_block() const noexcept {
    return {group_ + 2 * window_.largest(), group_ + shared_};
  }

  template <class Sink>
  void sample(std::span<const WordId> sentence, Random& random, Sink&& sink) {
    if (sentence.size() < 2) return;
    negatives_.begin(random, shared_);
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
    negatives_.finish(outputs.subspan(next - first));
    if (next < sentence.size()) negatives_.begin(random, shared_);
    const std::size_t entering = std::min(first + window_.largest(), sentence.size());
    const std::size_t entered = std::min(next + window_.largest(), sentence.size());
    announce_rows(sink, sentence.subspan(entering, entered - entering), outputs);
    return next;
  }

  template <class Sink>
  void combine(std::span<const WordId> sentence, std::size_t first, std::span<const WordId> outputs,
               Random& random, Sink& sink) {
    const std::size_t centers = outputs.size() - shared_;
    Shape shape{.begin = first, .end = first + centers, .centers = centers};
    bool same_reaches = true;
    for (std::size_t j = 0; j < centers; ++j) {
      const std::size_t reach = window_.reach(random);
      same_reaches &= reach == std::exchange(reaches_[j], reach);
      shape.begin = std::min(shape.begin, first + j - std::min(first + j, reach));
      shape.end = std::max(shape.end, std::min(sentence.size(), first + j + reach + 1));
    }
    shape.before = first - shape.begin;
    // Fixed windows have the same weights again and again.
    if (!same_reaches || !shape.is_like(filled_)) {
      fill(shape);
      filled_ = shape;
    }
    if (leave_out_centers(outputs, shape)) filled_ = {};
    const std::size_t n = shape.end - shape.begin;
    sink(Block{sentence.subspan(shape.begin, n),
               outputs,
               centers,
               {},
               std::span(pair_weights_).first(n * outputs.size())});
  }

  /// The part of a sentence that a group of windows covers.
  struct Shape {
    std::size_t begin = 0, end = 0;  // in the sentence
    std::size_t centers = 0;
    std::size_t before = 0;  // words before the first centre
    bool is_like(const Shape& other) const noexcept {
      return end - begin == other.end - other.begin && centers == other.centers &&
             before == other.before;
    }
  };

  void fill(const Shape& shape) noexcept {
    const std::size_t n = shape.end - shape.begin;
    float* row = pair_weights_.data();
    std::fill_n(windows_.data(), n, 0.0f);
    for (std::size_t j = 0; j < shape.centers; ++j, row += n) {
      const std::size_t center = shape.before + j;
      const std::size_t from = center - std::min(center, reaches_[j]);
      const std::size_t to = std::min(n, center + reaches_[j] + 1);
      for (std::size_t i = 0; i < n; ++i) {
        row[i] = i >= from && i < to && i != center ? 1.0f : 0.0f;
        windows_[i] += row[i];
      }
    }
    const float weight = -per_pair_ / static_cast<float>(shared_);
    for (std::size_t h = 0; h < shared_; ++h, row += n)
      for (std::size_t i = 0; i < n; ++i) row[i] = weight * windows_[i];
  }

  /// A negative that is the centre of some of the windows is none for their words. Returns whether
  /// there was one.
  bool leave_out_centers(std::span<const WordId> outputs, const Shape& shape) noexcept {
    const std::size_t n = shape.end - shape.begin;
    const float* const positives = pair_weights_.data();
    if (!share_a_word(outputs.first(shape.centers), outputs.subspan(shape.centers))) return false;
    for (std::size_t h = shape.centers; h < outputs.size(); ++h)
      for (std::size_t j = 0; j < shape.centers; ++j)
        if (outputs[j] == outputs[h])
          for (std::size_t i = 0; i < n; ++i)
            if (positives[j * n + i] > 0.0f) pair_weights_[h * n + i] = 0.0f;
    return true;
  }

  Window window_;
  float per_pair_;      // K
  std::size_t group_;   // G
  std::size_t shared_;  // H
  NegativeBatch negatives_;
  std::vector<WordId> outputs_;       // [2][G + H] centres and negatives of two groups
  std::vector<float> pair_weights_;   // [G + H][G + 2 window]
  std::vector<std::size_t> reaches_;  // [G]
  std::vector<float> windows_;        // [G + 2 window] how many windows a word is in
  Shape filled_;                      // whose weights `pair_weights_` holds
};

using CombinedContext = BasicCombinedContext<RandomWindow>;
using CombinedContextFixedWindow = BasicCombinedContext<FixedWindow>;

static_assert(Sampler<CombinedContext> && Sampler<CombinedContextFixedWindow>);

}  // namespace wordloom
