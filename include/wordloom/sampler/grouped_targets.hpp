#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/sampler/concept.hpp>
#include <wordloom/sampler/detail/group_walk.hpp>
#include <wordloom/sampler/detail/shared_outputs.hpp>
#include <wordloom/sampler/huffman_path.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// Outputs of the groups of centres of a sentence, one group after the other: the targets of each
/// centre. One object for each thread.
template <class Targets>
class OwnOutputs {
 public:
  /// The outputs of a group, and for each centre their number and how many have label 1.
  struct Group {
    struct Part {
      std::uint32_t size, positives;
    };
    std::span<const RowId> rows = {};
    std::span<const Part> parts = {};
    operator std::span<const RowId>() const noexcept { return rows; }
  };

  /// Makes room for groups of at most `max_centers` centres, of which the last `slot_count` are
  /// kept.
  template <class Tables>
  OwnOutputs(const Tables& tables, std::size_t max_centers, std::size_t slot_count)
      : targets_(tables.worker(max_centers, max_centers)),
        max_centers_(max_centers),
        max_outputs_(max_centers * tables.max_outputs()),
        slots_(slot_count),
        rows_(slot_count * max_outputs_),
        parts_(slot_count * max_centers) {}

  std::size_t max_outputs() const noexcept { return max_outputs_; }

  void begin_epoch(const Random& stream, std::uint64_t picks) noexcept {
    begin_epoch_of(targets_, stream, picks);
  }
  std::uint64_t picks() const noexcept { return picks_of(targets_); }

  /// Must be called before the first group of a sentence, which has at most these words.
  void begin_draw(std::span<const WordId> centers, Random& random) noexcept {
    targets_.begin_draw(centers, random);
  }

  /// Returns the outputs of the next group, valid until `slot_count` more calls. `following`: the
  /// words of the group after it, empty if there is none.
  Group next(std::span<const WordId> centers, std::span<const WordId> following,
             Random& random) noexcept {
    slot_ = (slot_ + 1) % slots_;
    targets_.end_draw(centers, 0, random);
    RowId* const rows = rows_.data() + slot_ * max_outputs_;
    typename Group::Part* const parts = parts_.data() + slot_ * max_centers_;
    RowId* end = rows;
    for (std::size_t c = 0; c < centers.size(); ++c) {
      const TargetSet set = targets_.at(c);
      end = std::copy(set.outputs.begin(), set.outputs.end(), end);
      parts[c] = {static_cast<std::uint32_t>(set.outputs.size()),
                  static_cast<std::uint32_t>(set.positives)};
    }
    targets_.begin_draw(following, random);
    return {{rows, end}, {parts, centers.size()}};
  }

 private:
  TargetWorker<Targets> targets_;
  std::size_t max_centers_, max_outputs_;  // of a group
  std::size_t slots_, slot_ = 0;
  std::vector<RowId> rows_;                  // [slot_count][max_outputs]
  std::vector<typename Group::Part> parts_;  // [slot_count][max_centers]
};

/// Grouping as in GroupedWindow, which gives windows of random reach without drawing any, if each
/// centre has targets of its own: the paths of G successive words in the Huffman tree and G + 2 S
/// words of context are one block. G is W if it is not set: the distances are those of random
/// windows, and a row of the context is read and written once for G centres. A word that occurs
/// several times in a group is changed several times from one state: walks in a graph, which soon
/// come back to a node, need a lower learning rate than with SharedNegative.
template <class Targets = HuffmanPath>
struct BasicGroupedTargets {
  std::size_t window = 5;  // W
  Targets targets = {};
  std::size_t minibatch = 0;  // G, up to W; 0: W

  static constexpr Block::Features uses = {.weights = true};

  static BasicGroupedTargets from(const Hyperparameters& parameters) {
    return {parameters.window, Targets::from(parameters), parameters.minibatch};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("window", window, 1, 1000);
    targets.visit_parameters(visit);
    visit("minibatch", minibatch, 0, 1000);
  }

  std::size_t group() const noexcept { return minibatch != 0 ? minibatch : window; }
  std::size_t side() const noexcept { return (window + 3 - group()) / 2; }

  class Worker;
  /// Throws InvalidArgument if `minibatch` is above `window`, and as the targets' start.
  auto start(const Vocabulary& vocabulary) const {
    if (minibatch > window)
      throw InvalidArgument{"minibatch is ", minibatch, ", groups have up to the window of ",
                            window};
    return SamplerRun(*this, targets.start(vocabulary));
  }
  template <class Tables>
  ExpectedUpdates expected_updates(const WordRates& rates, const Tables& tables) const {
    return detail::expected_of_skip_gram(rates, static_cast<double>(group() + 2 * side()) - 1,
                                         tables);
  }
};

/// The scratch memory of one thread.
template <class Targets>
class BasicGroupedTargets<Targets>::Worker {
 public:
  template <class Tables>
  Worker(const BasicGroupedTargets& policy, const Tables& tables)
      : groups_({tables, policy.group(), 2}, policy.group(), policy.side(), 1),
        weights_(max_block()) {}

  Block::Shape max_block() const noexcept { return groups_.max_block(); }

  void begin_epoch(const Random& stream, std::uint64_t picks) noexcept {
    groups_.begin_epoch(stream, picks);
  }
  std::uint64_t picks() const noexcept { return groups_.picks(); }

  template <class Sink>
  void sample(const Sentences& text, Random& random, Sink&& sink) {
    groups_.for_each_group(text, random, sink, [&](const auto& group) {
      const std::size_t n = group.end - group.begin, m = group.outputs.rows.size();
      float* row = weights_.change();
      std::size_t own = group.first - group.begin;
      for (const auto& part : group.outputs.parts) {
        for (std::size_t j = 0; j < part.size; ++j, row += n) {
          const float label = j < part.positives ? 1.0f : -1.0f;
          for (std::size_t i = 0; i < n; i += detail::WeightMatrix::slack)
            std::fill_n(row + i, detail::WeightMatrix::slack, label);
          row[own] = 0.0f;
        }
        ++own;
      }
      sink(Block{.inputs = group.sentence.subspan(group.begin, n),
                 .outputs = group.outputs.rows,
                 .weights = weights_.of(n, m),
                 .examples = group.size * (n - 1)});
    });
  }

 private:
  detail::GroupWalk<detail::OwnOutputs<Targets>> groups_;
  detail::WeightMatrix weights_;  // [targets of G centres][G + 2 S]
};

}  // namespace detail

/// Skip-gram with hierarchical softmax in groups of windows.
using GroupedHierarchicalSoftmax = detail::BasicGroupedTargets<HuffmanPath>;

static_assert(Sampler<GroupedHierarchicalSoftmax>);

}}  // namespace wordloom::WORDLOOM_ABI
