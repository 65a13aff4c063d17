#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/sampler/block.hpp>
#include <wordloom/sampler/concept.hpp>
#include <wordloom/sampler/negative_sampling.hpp>

namespace wordloom {

/// Windows of random reach without drawing any, in blocks that are nearly all pairs. The sentence
/// is cut into groups of G successive words, the first of random length. The words of a group are
/// the centres, they and S words on either side are the context of all of them, and all meet the
/// same negatives: G + 2 S inputs, G + H outputs. Words at distance d then stand in one block with
/// probability min(1, (G + S - d) / G); only a word and itself are no pair. `minibatch` is G, W - 2
/// when it is 0, and S is (W + 2 - G) / 2 rounded up, so that a word has W + 1 context words in the
/// mean, as in word2vec (one more where it was rounded): G = W has the distances of its random
/// windows, G = 1 is a fixed window, between them near words are held together more often. A word
/// that is context of w centres meets each negative with weight K w / H, so that it is repelled as
/// often as in word2vec. `shared_negatives` is H, 2 G + 1 when it is 0: fewer cost analogies, more
/// cost time (benchmarks/results/). The words of a group are scored before any of them is changed:
/// a learning rate of 0.03 does better than 0.025.
class GroupedWindow {
 public:
  using Produces = Block;

  /// Throws InvalidArgument when `minibatch` is above `window`, CorpusError for a vocabulary of
  /// fewer than two words.
  GroupedWindow(const Hyperparameters& parameters, const Vocabulary& vocabulary)
      : per_pair_(static_cast<float>(parameters.negatives)),
        group_(group_of(parameters)),
        side_((parameters.window + 3 - group_) / 2),
        shared_(parameters.shared_negatives != 0 ? parameters.shared_negatives : 2 * group_ + 1),
        negatives_(vocabulary, parameters.negative_exponent, shared_),
        outputs_(2 * max_block().outputs),
        pair_weights_(max_block().inputs * max_block().outputs) {}

  BlockShape max_block() const noexcept { return {group_ + 2 * side_, group_ + shared_}; }

  template <class Sink>
  void sample(std::span<const WordId> sentence, Random& random, Sink&& sink) {
    if (sentence.size() < 2) return;
    negatives_.begin(random, shared_);
    Group group{.size = std::min<std::size_t>(1 + random.below(group_), sentence.size())};
    announce(sentence, group, random, sink);
    while (group.size > 0) {
      const std::size_t end = group.first + group.size;
      const Group next{end, std::min(group_, sentence.size() - end), 1 - group.slot};
      if (next.size > 0) announce(sentence, next, random, sink);
      combine(sentence, group, sink);
      group = next;
    }
  }

 private:
  static std::size_t group_of(const Hyperparameters& parameters) {
    const std::size_t window = parameters.window, group = parameters.minibatch;
    if (group > window)
      throw InvalidArgument("minibatch is " + std::to_string(group) +
                            ", GroupedWindow takes up to the window of " + std::to_string(window));
    return group != 0 ? group : window - std::min<std::size_t>(2, window - 1);
  }

  struct Group {
    std::size_t first = 0, size = 0;  // the centres
    std::size_t slot = 0;             // where its outputs are
  };

  /// The centres, then the negatives.
  std::span<WordId> outputs_of(const Group& group) noexcept {
    return std::span(outputs_).subspan(group.slot * max_block().outputs, group.size + shared_);
  }

  /// Draws the negatives of a group and tells which rows it needs.
  template <class Sink>
  void announce(std::span<const WordId> sentence, const Group& group, Random& random, Sink& sink) {
    const auto outputs = outputs_of(group);
    const auto centers = sentence.subspan(group.first, group.size);
    std::copy(centers.begin(), centers.end(), outputs.begin());
    negatives_.finish(outputs.subspan(group.size));
    const std::size_t end = group.first + group.size;
    if (end < sentence.size()) negatives_.begin(random, shared_);
    const std::size_t entering = std::min(group.first + side_, sentence.size());
    announce_rows(sink,
                  sentence.subspan(entering, std::min(end + side_, sentence.size()) - entering),
                  outputs);
  }

  template <class Sink>
  void combine(std::span<const WordId> sentence, const Group& group, Sink& sink) {
    const std::size_t begin = group.first - std::min(group.first, side_);
    const std::size_t end = std::min(sentence.size(), group.first + group.size + side_);
    const Shape shape{end - begin, group.size, group.first - begin};
    if (shape != filled_) fill(shape);
    const auto outputs = outputs_of(group);
    if (leave_out_centers(outputs, shape)) filled_ = {};
    sink(Block{sentence.subspan(begin, shape.inputs),
               outputs,
               shape.centers,
               {},
               std::span(pair_weights_).first(shape.inputs * outputs.size())});
  }

  struct Shape {
    std::size_t inputs = 0, centers = 0;
    std::size_t before = 0;  // inputs before the first centre
    bool operator==(const Shape&) const = default;
  };

  void fill(const Shape& shape) noexcept {
    filled_ = shape;
    float* row = pair_weights_.data();
    for (std::size_t j = 0; j < shape.centers; ++j, row += shape.inputs) {
      std::fill_n(row, shape.inputs, 1.0f);
      row[shape.before + j] = 0.0f;
    }
    const float weight = -per_pair_ / static_cast<float>(shared_);
    const auto windows = static_cast<float>(shape.centers);
    for (std::size_t h = 0; h < shared_; ++h, row += shape.inputs) {
      std::fill_n(row, shape.inputs, weight * windows);
      std::fill_n(row + shape.before, shape.centers, weight * (windows - 1.0f));
    }
  }

  /// A negative that is one of the centres is none. Returns whether there was one.
  bool leave_out_centers(std::span<const WordId> outputs, const Shape& shape) noexcept {
    const auto centers = outputs.first(shape.centers);
    const auto negatives = outputs.subspan(shape.centers);
    if (!share_a_word(centers, negatives)) return false;
    for (std::size_t h = 0; h < negatives.size(); ++h)
      if (std::find(centers.begin(), centers.end(), negatives[h]) != centers.end())
        std::fill_n(pair_weights_.data() + (shape.centers + h) * shape.inputs, shape.inputs, 0.0f);
    return true;
  }

  float per_pair_;      // K
  std::size_t group_;   // G
  std::size_t side_;    // S
  std::size_t shared_;  // H
  NegativeBatch negatives_;
  std::vector<WordId> outputs_;      // [2][G + H] centres and negatives of two groups
  std::vector<float> pair_weights_;  // [G + H][G + 2 S]
  Shape filled_;                     // whose weights `pair_weights_` holds
};

static_assert(Sampler<GroupedWindow>);

}  // namespace wordloom
