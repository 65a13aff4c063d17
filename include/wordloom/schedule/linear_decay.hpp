#pragma once
#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>

#include <wordloom/core/hyperparameters.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// The learning rate over time: `schedule.rate(progress)` at a progress from 0 to 1. A policy
/// (core/hyperparameters.hpp): a trainer makes it by `S::from(hyperparameters, ranks)` or
/// `S::from(hyperparameters)`, or takes it as a value. Thread-safe.
template <class S>
concept LearningRateSchedule = std::copy_constructible<S> &&
    requires(const S& schedule, double progress) {
  { schedule.rate(progress) } -> std::convertible_to<double>;
};

/// word2vec's schedule: the learning rate falls linearly from its start to 1e-4 of it.
struct LinearDecay {
  double start = 0.025;

  static LinearDecay from(const Hyperparameters& parameters) { return {parameters.learning_rate}; }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("learning_rate", start, 0.0, 10.0);
  }
  /// Returns the rate at `progress`, from 0 (start) to 1 (end of the last epoch).
  double rate(double progress) const noexcept { return start * (std::max)(1.0 - progress, 1e-4); }
};

/// LinearDecay that starts at learning_rate x ranks^(1/6), because parallel changes of ranks are in
/// part averaged (pWord2Vec: Ji et al. 2016, section III-E, raise it too; the exponent is ours, for
/// CoherentSum).
struct RankScaledDecay : LinearDecay {
  std::size_t ranks = 1;  // not a parameter: ranks are compared by their number

  static RankScaledDecay from(const Hyperparameters& parameters, std::size_t ranks = 1) {
    return {LinearDecay::from(parameters), ranks};
  }
  double rate(double progress) const noexcept {
    return std::pow(static_cast<double>(ranks), 1.0 / 6) * LinearDecay::rate(progress);
  }
};

static_assert(LearningRateSchedule<LinearDecay> && LearningRateSchedule<RankScaledDecay>);

}}  // namespace wordloom::WORDLOOM_ABI
