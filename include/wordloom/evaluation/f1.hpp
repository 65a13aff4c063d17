#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include <wordloom/core/detail/abi.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// The mean of some values and their standard deviation (n - 1 in its denominator; NaN for one).
struct MeanAndDeviation {
  double mean = std::numeric_limits<double>::quiet_NaN();
  double deviation = std::numeric_limits<double>::quiet_NaN();

  static MeanAndDeviation of(std::span<const double> values);
};

/// F1, 2 right / (predicted + actual): of all predictions together, and as a mean over labels.
struct F1 {
  double micro, macro;
};

/// Predicts for each row of `scores` [n x L], row-major, as many labels as the row of `truth` [n x
/// L] has: those with the highest scores, and of equal ones the first. Macro F1 is the sum of each
/// label's F1, 0 for one that is neither actual nor predicted, divided by `counted`.
F1 top_k_f1(std::span<const double> scores, std::span<const std::uint8_t> truth, std::size_t labels,
            std::size_t counted);

}  // namespace detail

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

WORDLOOM_FUNCTION MeanAndDeviation MeanAndDeviation::of(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, std::sqrt(squares / (n - 1))};
}

WORDLOOM_FUNCTION F1 top_k_f1(std::span<const double> scores, std::span<const std::uint8_t> truth,
                              std::size_t labels, std::size_t counted) {
  struct Count {
    double right = 0, predicted = 0, actual = 0;
    double f1() const { return actual + predicted > 0 ? 2 * right / (actual + predicted) : 0; }
  };
  std::vector<Count> counts(labels);
  std::vector<std::size_t> order(labels);
  for (std::size_t row = 0; row < scores.size(); row += labels) {
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto is_actual = [&](std::size_t label) { return truth[row + label] != 0; };
    const auto k = std::count_if(order.begin(), order.end(), is_actual);
    std::partial_sort(order.begin(), order.begin() + k, order.end(),
                      [&](std::size_t a, std::size_t b) {
                        const double x = scores[row + a], y = scores[row + b];
                        return x != y ? x > y : a < b;
                      });
    for (std::size_t label = 0; label < labels; ++label) counts[label].actual += is_actual(label);
    for (auto at = order.begin(); at != order.begin() + k; ++at) {
      ++counts[*at].predicted;
      counts[*at].right += is_actual(*at);
    }
  }
  Count all;
  double sum = 0;
  for (const auto& count : counts) {
    all.right += count.right;
    all.predicted += count.predicted;
    all.actual += count.actual;
    sum += count.f1();
  }
  return {all.f1(), sum / static_cast<double>(counted)};
}

}  // namespace detail

#endif

}}  // namespace wordloom::WORDLOOM_ABI
