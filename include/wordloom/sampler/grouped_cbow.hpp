#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <wordloom/sampler/cbow.hpp>
#include <wordloom/sampler/concept.hpp>
#include <wordloom/sampler/detail/group_walk.hpp>
#include <wordloom/sampler/grouped_window.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// CBOW in the groups of GroupedWindow: G successive centres share their context, which is the
/// centres and S words on either side, and their negatives. The mean of the context without a
/// centre is scored against that centre, and the mean of the whole context against the negatives,
/// for all centres at once, with weight G K / H: G + H pairs a group, where separate bags would
/// have G (G + H). The window is of one width, for which the gradients differ by a factor alone. It
/// costs analogies, 0.30 where Cbow has 0.37, and similarity on some sets
/// (benchmarks/results/cbow.md). The best learning rate is 0.1.
struct GroupedCbow {
  GroupedWindow groups = {};
  BagGradient gradient = BagGradient::mean;

  static constexpr Block::Features uses = {.bags = true, .weights = true};

  static GroupedCbow from(const Hyperparameters& parameters) {
    return {GroupedWindow::from(parameters)};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    groups.visit_parameters(visit);
    visit("bag_gradient", static_cast<std::uint64_t>(gradient), 0, 2);
  }

  class Worker;
  /// Throws as GroupedWindow::start.
  auto start(const Vocabulary& vocabulary) const {
    return SamplerRun(*this, groups.tables(vocabulary));
  }
  template <class Tables>
  detail::ExpectedUpdates expected_updates(const WordRates& rates, const Tables& tables) const {
    // A bag of a centre's n context words is scored against the centre, and one of n + 1 words
    // against its K negatives; a member receives n / (n + 1) of the gradient of the latter.
    const double n = groups.mean_context();
    const auto negatives = static_cast<double>(groups.targets.negatives);
    const auto share = static_cast<double>(detail::member_share(gradient, static_cast<float>(n)));
    return detail::expected_of_cbow(rates, share * (1 + negatives * n / (n + 1)) / (1 + negatives),
                                    tables);
  }
};

/// The scratch memory of one thread.
class GroupedCbow::Worker {
 public:
  template <class Tables>
  Worker(const GroupedCbow& policy, const Tables& tables)
      : gradient_(policy.gradient),
        groups_(policy.groups.walk(tables)),
        weight_(-static_cast<float>(policy.groups.targets.negatives) /
                static_cast<float>(groups_.shared())),
        weights_(groups_.max_block().outputs),
        left_out_(groups_.max_centers()) {}

  Block::Shape max_block() const noexcept {
    return {.inputs = groups_.max_centers() + 1,
            .outputs = groups_.max_block().outputs,
            .members = groups_.max_block().inputs};
  }

  void begin_epoch(const Random& stream, std::uint64_t picks) noexcept {
    groups_.begin_epoch(stream, picks);
  }
  std::uint64_t picks() const noexcept { return groups_.picks(); }

  template <class Sink>
  void sample(const Sentences& text, Random& random, Sink&& sink) {
    groups_.for_each_group(text, random, sink, [&](const auto& group) {
      const auto centers = group.outputs.first(group.size);
      for (std::size_t j = 0; j < group.size; ++j) {
        left_out_[j] = static_cast<std::uint32_t>(group.first - group.begin + j);
        weights_[j] = 1.0f;
      }
      // Negatives that are also centres get weight 0.
      const float weight = weight_ * static_cast<float>(group.size);
      for (std::size_t j = group.size; j < group.outputs.size(); ++j)
        weights_[j] = detail::share_a_word(centers, group.outputs.subspan(j, 1)) ? 0.0f : weight;
      sink(Block{.inputs = group.sentence.subspan(group.begin, group.end - group.begin),
                 .left_out = std::span(left_out_).first(group.size),
                 .outputs = group.outputs,
                 .positives = group.size,
                 .weights = {std::span(weights_).first(group.outputs.size())},
                 .examples = group.size,
                 .bag_gradient = gradient_});
    });
  }

 private:
  BagGradient gradient_;
  detail::GroupWalk<detail::SharedOutputs> groups_;
  float weight_;                         // -K / H
  std::vector<float> weights_;           // [G + H]
  std::vector<std::uint32_t> left_out_;  // [G]
};

static_assert(Sampler<GroupedCbow>);

}}  // namespace wordloom::WORDLOOM_ABI
