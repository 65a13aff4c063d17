#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string>
#include <string_view>

#include <wordloom/core/error.hpp>
#include <wordloom/schedule/linear_decay.hpp>

/// Learning rates over time besides LinearDecay. Every `start` is the rate at the beginning.
namespace wordloom { inline namespace WORDLOOM_ABI {

/// A rate that is lowered once an epoch, by start / epochs, as PAR-Word2Vec on GPUs does (Moon et
/// al. 2019, algorithm 5, line 1).
struct EpochDecay {
  double start = 0.025;
  std::size_t epochs = 5;

  static EpochDecay from(const Hyperparameters& parameters) {
    return {parameters.learning_rate, parameters.epochs};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("learning_rate", start, 0.0, 10.0);
    visit("epochs", epochs, 1, 1'000'000);
  }
  double rate(double progress) const noexcept {
    const auto n = static_cast<double>(epochs);
    // At the beginning of an epoch its number may be too low by a rounding error.
    const double epoch = (std::min)(std::floor(progress * n + 1e-9), n - 1);
    return start * (1.0 - epoch / n);
  }
};

/// A rate that does not change.
struct ConstantRate {
  double start = 0.025;

  static ConstantRate from(const Hyperparameters& parameters) { return {parameters.learning_rate}; }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("learning_rate", start, 0.0, 10.0);
  }
  double rate(double) const noexcept { return start; }
};

/// Half a cosine from the start to 1e-4 of it (Loshchilov and Hutter 2017, "SGDR", without
/// restarts).
struct CosineDecay {
  double start = 0.025;

  static CosineDecay from(const Hyperparameters& parameters) { return {parameters.learning_rate}; }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("learning_rate", start, 0.0, 10.0);
  }
  double rate(double progress) const noexcept {
    return start * (std::max)(0.5 * (1.0 + std::cos(std::numbers::pi * progress)), 1e-4);
  }
};

/// A rate that starts higher and falls faster with more ranks: the learning rate times the root of
/// the ranks, and the power 1 + log2(ranks) / 4 of LinearDecay's factor. Ji et al. 2016 (section
/// III-E) raise the start, in their program's example to twice that of one node for four, and "just
/// need to reduce the learning rate more aggressively as number of nodes increases". They give no
/// formula; this one is ours.
struct SteepDecay : RankScaledDecay {
  static SteepDecay from(const Hyperparameters& parameters, std::size_t ranks = 1) {
    return {RankScaledDecay::from(parameters, ranks)};
  }
  double rate(double progress) const noexcept {
    const auto n = static_cast<double>(ranks);
    const double power = 1.0 + std::log2(n) / 4;
    return start * std::sqrt(n) * std::pow((std::max)(1.0 - progress, 1e-4), power);
  }
};

/// A schedule that is chosen at run time, for programs. `linear` is RankScaledDecay.
class AnySchedule {
 public:
  enum class Kind : std::uint8_t { linear, epoch, constant, cosine, steep };
  /// The name of each kind.
  static constexpr std::array<std::string_view, 5> names{"linear", "epoch", "constant", "cosine",
                                                         "steep"};

  AnySchedule(Kind kind, const Hyperparameters& parameters, std::size_t ranks = 1)
      : kind_(kind),
        epoch_(EpochDecay::from(parameters)),
        steep_(SteepDecay::from(parameters, ranks)) {}
  /// Takes a name of these. Throws InvalidArgument, which lists them, for another one.
  AnySchedule(std::string_view name, const Hyperparameters& parameters, std::size_t ranks = 1)
      : AnySchedule(kind_of(name), parameters, ranks) {}
  static AnySchedule from(const Hyperparameters& parameters, std::size_t ranks = 1) {
    return {Kind::linear, parameters, ranks};
  }

  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("schedule", static_cast<std::size_t>(kind_), 0, 4);
    epoch_.visit_parameters(visit);
  }
  double rate(double progress) const noexcept {
    switch (kind_) {
      case Kind::epoch:
        return epoch_.rate(progress);
      case Kind::constant:
        return epoch_.start;
      case Kind::cosine:
        return CosineDecay{epoch_.start}.rate(progress);
      case Kind::steep:
        return steep_.rate(progress);
      case Kind::linear:
        break;
    }
    return steep_.RankScaledDecay::rate(progress);
  }

 private:
  static Kind kind_of(std::string_view name) {
    std::string all;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == name) return static_cast<Kind>(i);
      all.append(i == 0 ? "" : ", ").append(names[i]);
    }
    throw InvalidArgument{"there is no schedule '", name, "', choose one of: ", all};
  }

  Kind kind_;
  EpochDecay epoch_;
  SteepDecay steep_;
};

static_assert(LearningRateSchedule<EpochDecay> && LearningRateSchedule<ConstantRate> &&
              LearningRateSchedule<CosineDecay> && LearningRateSchedule<SteepDecay> &&
              LearningRateSchedule<AnySchedule>);

}}  // namespace wordloom::WORDLOOM_ABI
