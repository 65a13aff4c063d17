#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <wordloom/sampler/cbow.hpp>
#include <wordloom/sampler/concept.hpp>
#include <wordloom/sampler/group_walk.hpp>
#include <wordloom/sampler/grouped_window.hpp>

namespace wordloom {

/// CBOW in the groups of GroupedWindow: G successive centres share their context, the centres and S
/// words on either side, and their negatives. The bag of a centre is the whole context without
/// itself, so that all bags of a group cost little more than one; it meets its own centre and each
/// negative with weight K / H. A learning rate of 0.1 does better than 0.075.
struct GroupedCbow {
  GroupedWindow groups = {};
  BagGradient gradient = BagGradient::mean;

  static constexpr BlockFeatures uses = {.bags = true, .weights = true};

  static GroupedCbow from(const Hyperparameters& parameters) {
    return {GroupedWindow::from(parameters)};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    groups.visit_parameters(visit);
    visit("whole bag gradient", static_cast<std::uint64_t>(gradient), 0, 1);
  }

  class Worker;
  /// Throws as GroupedWindow::start.
  auto start(const Vocabulary& vocabulary) const {
    return detail::SamplerRun(*this, groups.tables(vocabulary));
  }
  template <class Tables>
  ExpectedUpdates expected_updates(const WordRates& rates, const Tables& tables) const {
    return detail::expected_of_cbow(rates, 1 / groups.mean_context(), gradient, tables);
  }
};

/// The scratch of one thread.
class GroupedCbow::Worker {
 public:
  template <class Tables>
  Worker(const GroupedCbow& policy, const Tables& tables)
      : gradient_(policy.gradient),
        groups_(policy.groups.walk(tables)),
        weight_(-static_cast<float>(policy.groups.targets.negatives) /
                static_cast<float>(groups_.shared())),
        weights_(max_block()),
        left_out_(groups_.max_centers()) {}

  BlockShape max_block() const noexcept {
    return {.inputs = groups_.max_centers(),
            .outputs = groups_.max_centers() + groups_.shared(),
            .members = groups_.max_context()};
  }

  template <class Sink>
  void sample(std::span<const WordId> sentence, Random& random, Sink&& sink) {
    groups_.for_each_group(sentence, random, sink, [&](const detail::CenterGroup& group) {
      for (std::size_t j = 0; j < group.size; ++j)
        left_out_[j] = static_cast<std::uint32_t>(group.first - group.begin + j);
      if (group.size != filled_) fill(group.size);
      if (leave_out_centers(group)) filled_ = 0;
      sink(Block{.inputs = sentence.subspan(group.begin, group.end - group.begin),
                 .left_out = std::span(left_out_).first(group.size),
                 .outputs = group.outputs,
                 .positives = group.size,
                 .weights = weights_.of(group.size, group.outputs.size()),
                 .examples = group.size,
                 .bag_gradient = gradient_});
    });
  }

 private:
  void fill(std::size_t centers) noexcept {
    filled_ = centers;
    float* const weights = weights_.change();
    std::fill_n(weights, centers * centers, 0.0f);
    for (std::size_t j = 0; j < centers; ++j) weights[j * centers + j] = 1.0f;
    std::fill_n(weights + centers * centers, groups_.shared() * centers, weight_);
  }

  /// A negative that is a centre is no negative of that centre's bag. Returns whether there was
  /// one.
  bool leave_out_centers(const detail::CenterGroup& group) noexcept {
    const auto centers = group.outputs.first(group.size);
    const auto negatives = group.outputs.subspan(group.size);
    if (!share_a_word(centers, negatives)) return false;
    float* const weights = weights_.change() + group.size * group.size;
    for (std::size_t h = 0; h < negatives.size(); ++h)
      for (std::size_t j = 0; j < group.size; ++j)
        if (centers[j] == negatives[h]) weights[h * group.size + j] = 0.0f;
    return true;
  }

  BagGradient gradient_;
  detail::GroupWalk groups_;
  float weight_;                         // -K / H
  detail::WeightMatrix weights_;         // [G + H][G]
  std::vector<std::uint32_t> left_out_;  // [G]
  std::size_t filled_ = 0;               // centres of the group that the weights are of
};

static_assert(Sampler<GroupedCbow>);

}  // namespace wordloom
