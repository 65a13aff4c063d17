#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/schedule/concept.hpp>

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

/// The same from a higher start where several ranks train: the learning rate times
/// ranks^(1 / 6), since what ranks do in parallel is in part averaged (pWord2Vec: Ji et al. 2016,
/// section III-E, raise it too; the exponent is ours, for CoherentSum).
class RankScaledDecay {
 public:
  explicit RankScaledDecay(const Hyperparameters& parameters, std::size_t ranks = 1)
      : decay_(parameters), factor_(std::pow(static_cast<double>(ranks), 1.0 / 6)) {}
  double rate(double progress) const noexcept { return factor_ * decay_.rate(progress); }

 private:
  LinearDecay decay_;
  double factor_;
};

static_assert(LearningRateSchedule<LinearDecay> && LearningRateSchedule<RankScaledDecay>);

}  // namespace wordloom
