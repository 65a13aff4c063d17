#pragma once
#include <algorithm>

#include <wordloom/concepts.hpp>
#include <wordloom/core/hyperparameters.hpp>

namespace wordloom {

/// word2vec's schedule: the learning rate falls linearly from its start to 1e-4 of it.
class LinearDecay {
 public:
  explicit LinearDecay(const Hyperparameters& parameters) : start_(parameters.learning_rate) {}
  /// `progress` from 0 (start) to 1 (end of the last epoch).
  double rate(double progress) const noexcept { return start_ * std::max(1.0 - progress, 1e-4); }

 private:
  double start_;
};

static_assert(LearningRateSchedule<LinearDecay>);

}  // namespace wordloom
