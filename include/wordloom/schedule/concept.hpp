#pragma once
#include <concepts>

#include <wordloom/core/hyperparameters.hpp>

namespace wordloom {

namespace detail {

template <class S>
concept MadeFromHyperparameters = std::constructible_from<S, const Hyperparameters&>;
template <class S>
concept GivesRate = requires(const S& schedule, double progress) {
  { schedule.rate(progress) } -> std::convertible_to<double>;
};

}  // namespace detail

/// `Schedule schedule(hyperparameters)`, or `schedule(hyperparameters, ranks)` where there is that;
/// `schedule.rate(progress)`: the learning rate at a progress from 0 to 1. Thread-safe.
template <class S>
concept LearningRateSchedule = detail::MadeFromHyperparameters<S> && detail::GivesRate<S>;

namespace detail {

template <class S>
constexpr bool require_schedule() {
  static_assert(MadeFromHyperparameters<S>,
                "wordloom: this LearningRateSchedule lacks a constructor (const Hyperparameters&)");
  static_assert(GivesRate<S>,
                "wordloom: this LearningRateSchedule lacks 'double rate(double progress) const'");
  return LearningRateSchedule<S>;
}

}  // namespace detail
}  // namespace wordloom
