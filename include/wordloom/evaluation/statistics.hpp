#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/detail/finite.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/evaluation/f1.hpp>
#include <wordloom/evaluation/word_similarity.hpp>

/// Means of scores over seeds, and comparisons of two methods.
namespace wordloom { inline namespace WORDLOOM_ABI {

/// Values of several runs: their mean, standard deviation (n - 1) and the 95 % interval of the mean
/// by Student's t. NaN where there are too few values: none, or one.
struct Statistics {
  /// A difference of two means, B - A.
  struct Difference {
    double mean = std::numeric_limits<double>::quiet_NaN();
    /// Its 95 % interval.
    double low = std::numeric_limits<double>::quiet_NaN();
    double high = std::numeric_limits<double>::quiet_NaN();
    /// The probability of such a difference, or a better one, if B were worse than A by `margin`:
    /// small, if B is not worse by more than that.
    double p_worse = std::numeric_limits<double>::quiet_NaN();
  };
  /// Draws of the bootstrap, which are the same in each run.
  static constexpr std::size_t draws = 10'000;

  std::size_t count = 0;
  double mean = std::numeric_limits<double>::quiet_NaN();
  double deviation = std::numeric_limits<double>::quiet_NaN();
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();

  [[nodiscard]] static Statistics of(std::span<const double> values);

  /// Compares the runs of two methods by Welch's t-test, at least two of each: does training again
  /// explain the difference? NaN with fewer; runs without any deviation have an interval of length
  /// 0.
  [[nodiscard]] static Difference welch(std::span<const double> a, std::span<const double> b,
                                        double margin = 0.01);

  /// Compares two methods on the items of a test, `a[i]` and `b[i]` being the scores of item i, by
  /// a paired bootstrap: do other items of its kind explain the difference?
  [[nodiscard]] static Difference bootstrap(std::span<const double> a, std::span<const double> b,
                                            double margin = 0.01);

  /// Returns Spearman's rho of two series of equal length. NaN if there are fewer than two values,
  /// one series is constant or a value is NaN.
  [[nodiscard]] static double spearman(std::span<const double> a, std::span<const double> b) {
    return detail::spearman(a, b);
  }

  /// Compares two methods on pairs of words by the mean of Spearman's rho with `people` [n] over
  /// the runs of each: `a` and `b` [runs][n].
  [[nodiscard]] static Difference bootstrap_spearman(std::span<const double> people,
                                                     std::span<const std::vector<double>> a,
                                                     std::span<const std::vector<double>> b,
                                                     double margin = 0.01);

  /// Returns the p-values of several tests, adjusted by Holm's method (1979): if those below 0.05
  /// are taken as shown, the probability of any error is below 0.05. NaN stay, and do not count.
  [[nodiscard]] static std::vector<double> holm(std::span<const double> p);
};

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

/// Returns the regularised incomplete beta function by its continued fraction (Lentz's method).
inline double incomplete_beta(double a, double b, double x) {
  if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - incomplete_beta(b, a, 1 - x);
  const auto away_from_zero = [](double y) { return std::abs(y) < 1e-300 ? 1e-300 : y; };
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), value = d;
  for (int i = 1; i < 1000; ++i) {
    const double m = i;
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double change = 0;
    for (const double term : {even, odd}) {
      d = 1 / away_from_zero(1 + term * d);
      c = away_from_zero(1 + term / c);
      value *= change = c * d;
    }
    if (std::abs(change - 1) < 1e-15) break;
  }
  return value *
         std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) +
                  b * std::log1p(-x)) /
         a;
}

/// Returns the probability that Student's t with some degrees of freedom is above `t`.
inline double t_above(double t, double freedom) {
  const double tail = incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2;
  return t > 0 ? tail : 1 - tail;
}

/// Returns the value that Student's t exceeds with a probability of 2.5 %.
inline double t_of_interval(double freedom) {
  double low = 0, high = 1e6;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (t_above(middle, freedom) > 0.025 ? low : high) = middle;
  }
  return low;
}

/// Returns the result of a bootstrap: `draw(random)` returns a difference.
template <class Draw>
Statistics::Difference bootstrap_by(double mean, double margin, const Draw& draw) {
  std::vector<double> differences;
  std::size_t worse = 1;  // the observed set of items is one of those that are possible
  for (std::size_t i = 0; i < Statistics::draws; ++i) {
    Random random(1, i);
    differences.push_back(draw(random));
    worse += !(differences.back() > -margin);
  }
  std::sort(differences.begin(), differences.end());
  const std::size_t tail = Statistics::draws / 40;
  return {mean, differences[tail], differences[Statistics::draws - 1 - tail],
          static_cast<double>(worse) / static_cast<double>(Statistics::draws + 1)};
}

/// Values in ascending order, for rank correlations of items of which each occurs some times.
struct Ordered {
  explicit Ordered(std::span<const double> values)
      : order(values.size()), equals_next(order.size()) {
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t i, std::uint32_t j) { return values[i] < values[j]; });
    for (std::size_t i = 0; i + 1 < order.size(); ++i)
      equals_next[i] = values[order[i]] == values[order[i + 1]];
  }

  /// Writes twice the ranks of the items that occur `counts` times, minus their mean.
  void rank(std::span<const std::uint32_t> counts, std::span<double> ranks) const {
    double before = 0;
    for (std::size_t first = 0; first < order.size();) {
      std::size_t end = first;
      double equal = counts[order[end]];
      while (equals_next[end++]) equal += counts[order[end]];
      const double rank = 2 * before + equal - static_cast<double>(order.size());
      for (; first < end; ++first) ranks[order[first]] = rank;
      before += equal;
    }
  }

  std::vector<std::uint32_t> order;
  std::vector<bool> equals_next;
};

}  // namespace detail

WORDLOOM_FUNCTION Statistics Statistics::of(std::span<const double> values) {
  Statistics result;
  result.count = values.size();
  if (values.empty()) return result;
  const auto [mean, deviation] = detail::MeanAndDeviation::of(values);
  result.mean = mean;
  if (values.size() < 2) return result;
  const auto n = static_cast<double>(values.size());
  const double half = detail::t_of_interval(n - 1) * deviation / std::sqrt(n);
  result.deviation = deviation;
  result.low = mean - half;
  result.high = mean + half;
  return result;
}

WORDLOOM_FUNCTION Statistics::Difference Statistics::welch(std::span<const double> a,
                                                           std::span<const double> b,
                                                           double margin) {
  const Statistics of_a = of(a), of_b = of(b);
  Difference result{.mean = of_b.mean - of_a.mean};
  if (a.size() < 2 || b.size() < 2) return result;
  const auto n = static_cast<double>(a.size()), m = static_cast<double>(b.size());
  const double va = of_a.deviation * of_a.deviation / n, vb = of_b.deviation * of_b.deviation / m;
  if (va + vb == 0)
    return {result.mean, result.mean, result.mean, result.mean > -margin ? 0.0 : 1.0};
  const double freedom = (va + vb) * (va + vb) / (va * va / (n - 1) + vb * vb / (m - 1));
  const double error = std::sqrt(va + vb), half = detail::t_of_interval(freedom) * error;
  return {result.mean, result.mean - half, result.mean + half,
          detail::t_above((result.mean + margin) / error, freedom)};
}

WORDLOOM_FUNCTION Statistics::Difference Statistics::bootstrap(std::span<const double> a,
                                                               std::span<const double> b,
                                                               double margin) {
  if (a.size() != b.size())
    throw InvalidArgument{"a paired bootstrap needs the same items, got ", a.size(), " and ",
                          b.size()};
  const std::size_t n = a.size();
  if (n == 0) return {};
  std::vector<double> differences(n);
  for (std::size_t i = 0; i < n; ++i) differences[i] = b[i] - a[i];
  const double mean = std::accumulate(differences.begin(), differences.end(), 0.0);
  return detail::bootstrap_by(mean / static_cast<double>(n), margin, [&](Random& random) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += differences[random.below(n)];
    return sum / static_cast<double>(n);
  });
}

WORDLOOM_FUNCTION Statistics::Difference Statistics::bootstrap_spearman(
    std::span<const double> people, std::span<const std::vector<double>> a,
    std::span<const std::vector<double>> b, double margin) {
  const std::size_t n = people.size();
  std::vector<detail::Ordered> runs;
  for (const auto& of_method : {a, b})
    for (const auto& run : of_method) {
      if (run.size() != n)
        throw InvalidArgument{"a paired bootstrap needs the same items, got ", n, " and ",
                              run.size()};
      runs.emplace_back(run);
    }
  if (n < 2 || a.empty() || b.empty()) return {};
  const detail::Ordered by_people(people);
  std::vector<std::uint32_t> counts(n);
  std::vector<double> x(n), y(n);
  const auto difference = [&] {
    by_people.rank(counts, x);
    double sums[2] = {};
    for (std::size_t r = 0; r < runs.size(); ++r) {
      runs[r].rank(counts, y);
      double xy = 0, xx = 0, yy = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const double wx = counts[i] * x[i];
        xy += wx * y[i];
        xx += wx * x[i];
        yy += counts[i] * y[i] * y[i];
      }
      sums[r >= a.size()] += xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
    }
    return sums[1] / static_cast<double>(b.size()) - sums[0] / static_cast<double>(a.size());
  };
  std::fill(counts.begin(), counts.end(), 1u);
  return detail::bootstrap_by(difference(), margin, [&](Random& random) {
    std::fill(counts.begin(), counts.end(), 0u);
    for (std::size_t i = 0; i < n; ++i) ++counts[random.below(n)];
    return difference();
  });
}

WORDLOOM_FUNCTION std::vector<double> Statistics::holm(std::span<const double> p) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p.size(); ++i)
    if (!detail::is_nan(p[i])) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t i, std::size_t j) { return p[i] < p[j]; });
  std::vector<double> result(p.begin(), p.end());
  double most = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    most = (std::max)(most, p[order[i]] * static_cast<double>(order.size() - i));
    result[order[i]] = (std::min)(1.0, most);
  }
  return result;
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
