#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <wordloom/core/error.hpp>
#include <wordloom/sampler/concept.hpp>
#include <wordloom/sampler/detail/group_walk.hpp>
#include <wordloom/sampler/detail/shared_outputs.hpp>
#include <wordloom/sampler/negative_sampling.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Windows with the distances of random reach, without drawing any, in blocks in which nearly all
/// pairs count. The sentence is cut into groups of G successive words, the first of random length.
///
/// - The words of a group are the centres; they and S words on either side are the context of all
///   of them; all share H negatives: G + 2 S inputs, G + H outputs. A word is never paired with
///   itself.
/// - Words at distance d share a block with probability min(1, (G + S - d) / G).
/// - S is (W + 2 - G) / 2 rounded up, so that a word has W + 1 context words on average, as in
///   word2vec (one more if it was rounded). G = W has the distances of word2vec's random windows, G
///   = 1 is a fixed window, and values in between pair near words more often.
/// - A word that is context of w centres is scored against each negative with weight K w / H, so
///   that it is repelled as often as in word2vec. Fewer shared negatives cost analogies, more cost
///   time (benchmarks/results/).
/// - The words of a group are scored before any of them is changed: a learning rate of 0.03 does
///   better than 0.025.
struct GroupedWindow {
  std::size_t window = 5;  // W
  NegativeSampling targets = {};
  std::size_t minibatch = 0;         // G, up to W; 0: W - 2
  std::size_t shared_negatives = 0;  // H; 0: 2 G + 1

  static constexpr Block::Features uses = {.weights = true};

  static GroupedWindow from(const Hyperparameters& parameters) {
    return {parameters.window, NegativeSampling::from(parameters), parameters.minibatch,
            parameters.shared_negatives};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("window", window, 1, 1000);
    targets.visit_parameters(visit);
    visit("minibatch", minibatch, 0, 1000);
    visit("shared_negatives", shared_negatives, 0, 10'000);
  }

  std::size_t group() const noexcept {
    return minibatch != 0 ? minibatch : window - (std::min<std::size_t>)(2, window - 1);
  }
  std::size_t side() const noexcept { return (window + 3 - group()) / 2; }
  std::size_t shared() const noexcept {
    return shared_negatives != 0 ? shared_negatives : 2 * group() + 1;
  }

  /// Returns the mean number of context words of a centre.
  double mean_context() const noexcept { return static_cast<double>(group() + 2 * side()) - 1; }

  class Worker;
  /// Throws InvalidArgument if `minibatch` is above `window`, CorpusError for a vocabulary of fewer
  /// than two words.
  auto start(const Vocabulary& vocabulary) const { return SamplerRun(*this, tables(vocabulary)); }
  template <class Tables>
  detail::ExpectedUpdates expected_updates(const WordRates& rates, const Tables& tables) const {
    return detail::expected_of_skip_gram(rates, mean_context(), tables);
  }

  /// The tables of a run.
  NegativeSampling::Run tables(const Vocabulary& vocabulary) const {
    if (minibatch > window)
      throw InvalidArgument{"minibatch is ", minibatch,
                            ", GroupedWindow takes up to the window of ", window};
    return targets.start(vocabulary);
  }
  /// The groups of one thread.
  detail::GroupWalk<detail::SharedOutputs> walk(const NegativeSampling::Run& tables) const {
    return {{tables, group(), shared(), 3}, group(), side(), 2};
  }
};

/// The scratch memory of one thread.
class GroupedWindow::Worker {
 public:
  template <class Tables>
  Worker(const GroupedWindow& policy, const Tables& tables)
      : groups_(policy.walk(tables)),
        weight_(-static_cast<float>(policy.targets.negatives) /
                static_cast<float>(groups_.shared())),
        weights_(max_block()) {}

  Block::Shape max_block() const noexcept { return groups_.max_block(); }

  void begin_epoch(const Random& stream, std::uint64_t picks) noexcept {
    groups_.begin_epoch(stream, picks);
  }
  std::uint64_t picks() const noexcept { return groups_.picks(); }

  template <class Sink>
  void sample(const Sentences& text, Random& random, Sink&& sink) {
    groups_.for_each_group(text, random, sink, [&](const auto& group) {
      const Shape shape{group.end - group.begin, group.size, group.first - group.begin};
      if (shape != filled_) fill(shape);
      if (leave_out_centers(group.outputs, shape)) filled_ = {};
      sink(Block{.inputs = group.sentence.subspan(group.begin, shape.inputs),
                 .outputs = group.outputs,
                 .positives = shape.centers,
                 .weights = weights_.of(shape.inputs, group.outputs.size()),
                 .examples = shape.centers * (shape.inputs - 1)});
    });
  }

 private:
  struct Shape {
    std::size_t inputs = 0, centers = 0;
    std::size_t before = 0;  // inputs before the first centre
    bool operator==(const Shape&) const = default;
  };

  void fill(const Shape& shape) noexcept {
    filled_ = shape;
    float* row = weights_.change();
    for (std::size_t j = 0; j < shape.centers; ++j, row += shape.inputs) {
      std::fill_n(row, shape.inputs, 1.0f);
      row[shape.before + j] = 0.0f;
    }
    const auto windows = static_cast<float>(shape.centers);
    for (std::size_t h = 0; h < groups_.shared(); ++h, row += shape.inputs) {
      std::fill_n(row, shape.inputs, weight_ * windows);
      std::fill_n(row + shape.before, shape.centers, weight_ * (windows - 1.0f));
    }
  }

  /// Gives weight 0 to negatives that are also centres. Returns whether there were any.
  bool leave_out_centers(std::span<const RowId> outputs, const Shape& shape) noexcept {
    const auto centers = outputs.first(shape.centers);
    const auto negatives = outputs.subspan(shape.centers);
    if (!detail::share_a_word(centers, negatives)) return false;
    float* const weights = weights_.change();
    for (std::size_t h = 0; h < negatives.size(); ++h)
      if (std::find(centers.begin(), centers.end(), negatives[h]) != centers.end())
        std::fill_n(weights + (shape.centers + h) * shape.inputs, shape.inputs, 0.0f);
    return true;
  }

  detail::GroupWalk<detail::SharedOutputs> groups_;
  float weight_;                  // -K / H
  detail::WeightMatrix weights_;  // [G + H][G + 2 S]
  Shape filled_;                  // of the weights
};

static_assert(Sampler<GroupedWindow>);

}}  // namespace wordloom::WORDLOOM_ABI
