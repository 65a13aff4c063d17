#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/sampler/concept.hpp>
#include <wordloom/sampler/detail/group_walk.hpp>
#include <wordloom/sampler/detail/shared_outputs.hpp>
#include <wordloom/sampler/negative_sampling.hpp>
#include <wordloom/sampler/window.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Context combining (pSGNScc: Rengasamy et al. 2017, "Optimizing Word2Vec Performance on Multicore
/// Systems"): windows that share words become one block, in which each shared word has one row and
/// which share their negatives. Here they are the windows of G successive words: the inputs are all
/// words of these windows, the outputs the G words and H negatives; a word is scored only against
/// the centres of windows that it is in. (IndexedContext is pSGNScc, which finds distant windows.)
/// A word in w of the windows is scored against each negative with weight K w / H, as in
/// SentenceMinibatch. Fewer shared negatives cost analogies, more cost time (benchmarks/results/).
struct CombinedContext {
  Window window = {};
  NegativeSampling targets = {};
  std::size_t minibatch = 4;         // G
  std::size_t shared_negatives = 0;  // H; 0: 2/5 G K

  static constexpr Block::Features uses = {.weights = true};

  static CombinedContext from(const Hyperparameters& parameters) {
    return {Window::from(parameters), NegativeSampling::from(parameters),
            parameters.minibatch == 0 ? 4 : parameters.minibatch, parameters.shared_negatives};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit_parameters_of(visit, window, targets);
    visit("minibatch", minibatch, 1, 1000);
    visit("shared_negatives", shared_negatives, 0, 10'000);
  }
  std::size_t shared() const noexcept {
    return shared_negatives != 0
               ? shared_negatives
               : (std::max<std::size_t>)(1, 2 * minibatch * targets.negatives / 5);
  }

  class Worker;
  /// Throws CorpusError for a vocabulary of fewer than two words.
  auto start(const Vocabulary& vocabulary) const {
    return SamplerRun(*this, targets.start(vocabulary));
  }
};

/// The scratch memory of one thread.
class CombinedContext::Worker {
 public:
  template <class Tables>
  Worker(const CombinedContext& policy, const Tables& tables)
      : window_(policy.window),
        per_pair_(static_cast<float>(policy.targets.negatives)),
        groups_({tables, policy.minibatch, policy.shared(), 2}, policy.minibatch, window_.size, 1),
        weights_(max_block()),
        reaches_(policy.minibatch),
        windows_(max_block().inputs) {}

  Block::Shape max_block() const noexcept { return groups_.max_block(); }

  void begin_epoch(const Random& stream, std::uint64_t picks) noexcept {
    groups_.begin_epoch(stream, picks);
  }
  std::uint64_t picks() const noexcept { return groups_.picks(); }

  template <class Sink>
  void sample(const Sentences& text, Random& random, Sink&& sink) {
    groups_.template for_each_group<false>(
        text, random, sink, [&](const Group& group) { combine(group, random, sink); });
  }

 private:
  using Group = detail::CenterGroup<detail::SharedOutputs>;

  template <class Sink>
  void combine(const Group& group, Random& random, Sink& sink) {
    const std::span<const WordId> sentence = group.sentence;
    const std::size_t first = group.first, centers = group.size;
    Shape shape{.begin = first, .end = first + centers, .centers = centers};
    bool same_reaches = true;
    for (std::size_t j = 0; j < centers; ++j) {
      const std::size_t reach = window_.reach(random);
      same_reaches &= reach == std::exchange(reaches_[j], reach);
      const detail::WindowRange range(first + j, reach, sentence.size());
      shape.begin = (std::min)(shape.begin, range.first);
      shape.end = (std::max)(shape.end, range.end);
    }
    shape.before = first - shape.begin;
    // Fixed windows have equal weights in most groups.
    if (!same_reaches || !shape.is_like(filled_)) {
      fill(shape);
      filled_ = shape;
    }
    if (leave_out_centers(group.outputs, shape)) filled_ = {};
    const std::size_t n = shape.end - shape.begin;
    sink(Block{.inputs = sentence.subspan(shape.begin, n),
               .outputs = group.outputs,
               .positives = centers,
               .weights = weights_.of(n, group.outputs.size()),
               .examples = pairs_});
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
    float* row = weights_.change();
    std::fill_n(windows_.data(), n, 0.0f);
    pairs_ = 0;
    for (std::size_t j = 0; j < shape.centers; ++j, row += n) {
      const std::size_t center = shape.before + j;
      const detail::WindowRange range(center, reaches_[j], n);
      pairs_ += range.end - range.first - 1;
      for (std::size_t i = 0; i < n; ++i) {
        row[i] = i >= range.first && i < range.end && i != center ? 1.0f : 0.0f;
        windows_[i] += row[i];
      }
    }
    const float weight = -per_pair_ / static_cast<float>(groups_.shared());
    for (std::size_t h = 0; h < groups_.shared(); ++h, row += n)
      for (std::size_t i = 0; i < n; ++i) row[i] = weight * windows_[i];
  }

  /// Gives weight 0 to pairs of a negative and a word in a window whose centre is the negative.
  /// Returns whether any negative is a centre.
  bool leave_out_centers(std::span<const RowId> outputs, const Shape& shape) noexcept {
    if (!detail::share_a_word(outputs.first(shape.centers), outputs.subspan(shape.centers)))
      return false;
    const std::size_t n = shape.end - shape.begin;
    float* const weights = weights_.change();
    for (std::size_t h = shape.centers; h < outputs.size(); ++h)
      for (std::size_t j = 0; j < shape.centers; ++j)
        if (outputs[j] == outputs[h])
          for (std::size_t i = 0; i < n; ++i)
            if (weights[j * n + i] > 0.0f) weights[h * n + i] = 0.0f;
    return true;
  }

  Window window_;
  float per_pair_;  // K
  detail::GroupWalk<detail::SharedOutputs> groups_;
  detail::WeightMatrix weights_;      // [G + H][G + 2 W]
  std::vector<std::size_t> reaches_;  // [G]
  std::vector<float> windows_;        // [G + 2 W] the windows that each word is in
  std::size_t pairs_ = 0;             // of words and centres
  Shape filled_;                      // of the weights
};

static_assert(Sampler<CombinedContext>);

}}  // namespace wordloom::WORDLOOM_ABI
