#pragma once
#include <concepts>

namespace wordloom {

namespace detail {

template <class S>
concept GivesRate = requires(const S& schedule, double progress) {
  { schedule.rate(progress) } -> std::convertible_to<double>;
};

}  // namespace detail

/// The learning rate over time: `schedule.rate(progress)` at a progress from 0 to 1. A policy
/// (core/parameters.hpp): a trainer makes it by `S::from(hyperparameters, ranks)` or
/// `S::from(hyperparameters)`, or takes it as a value. Thread-safe.
template <class S>
concept LearningRateSchedule = std::copy_constructible<S> && detail::GivesRate<S>;

namespace detail {

template <class S>
constexpr bool require_schedule() {
  static_assert(std::copy_constructible<S>, "wordloom: this LearningRateSchedule cannot be copied");
  static_assert(GivesRate<S>,
                "wordloom: this LearningRateSchedule lacks 'double rate(double progress) const'");
  return LearningRateSchedule<S>;
}

}  // namespace detail
}  // namespace wordloom
