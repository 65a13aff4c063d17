#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/evaluation/detail/row_blocks.hpp>
#include <wordloom/query/nearest_rows.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Points [n x D] divided into clusters by Lloyd's algorithm, which begins with the centres of
/// greedy k-means++ (Arthur and Vassilvitskii 2007), as scikit-learn has them: a centre is the best
/// of 2 + ln k points drawn in proportion to their squared distances. A cluster that loses its
/// points gets the point farthest from its centre.
class KMeans {
 public:
  struct Result {
    std::vector<std::uint32_t> clusters;  // [n]
    double inertia = 0;                   // the sum of squared distances to the centres
  };

  /// Any number of threads gives the same bits.
  explicit KMeans(const RowMatrix& points, std::size_t threads = 1);

  /// Returns the best of `starts` divisions into k clusters, 1 <= k <= n.
  Result best(std::size_t k, std::size_t starts, std::uint64_t seed, std::size_t iterations,
              double tolerance) const;

  /// Moves `centres` [k x D] at most `iterations` times, until no point changes its cluster, or the
  /// squares of their movements sum to no more than `tolerance` times the mean variance of the D
  /// columns.
  Result from(RowMatrix centres, std::size_t k, std::size_t iterations, double tolerance) const;

 private:
  RowMatrix first_centres(std::size_t k, Random& random) const;
  /// Returns the squared distances of all points from some centres [centres][n].
  std::vector<std::vector<float>> distances(const RowMatrix& centres, std::size_t count) const;
  double assign(const RowMatrix& centres, std::size_t k, std::vector<std::uint32_t>& clusters,
                std::vector<float>& nearest) const;

  const RowMatrix& points_;
  std::size_t threads_;
  std::vector<float> ones_, squares_;  // [n]
  double variance_ = 0;                // the mean of those of the columns
};

#if WORDLOOM_DEFINES_FUNCTIONS

inline float squared_length(std::span<const float> x) {
  return static_cast<float>(dot_in_double(x, x));
}

WORDLOOM_FUNCTION KMeans::KMeans(const RowMatrix& points, std::size_t threads)
    : points_(points), threads_(threads), ones_(points.rows(), 1.0f) {
  const auto n = static_cast<double>(points.rows()), d = static_cast<double>(points.columns());
  std::vector<double> sums(points.columns());
  double squares = 0;
  for (std::size_t i = 0; i < points.rows(); ++i) {
    squares_.push_back(squared_length(points.row(i)));
    squares += static_cast<double>(squares_.back());
    for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += static_cast<double>(points.row(i)[c]);
  }
  variance_ = squares / (n * d);
  for (const double sum : sums) variance_ -= sum * sum / (n * n * d);
}

WORDLOOM_FUNCTION std::vector<std::vector<float>> KMeans::distances(const RowMatrix& centres,
                                                                    std::size_t count) const {
  std::vector<std::vector<float>> result(count, std::vector<float>(points_.rows()));
  std::vector<float> lengths;
  for (std::size_t c = 0; c < count; ++c) lengths.push_back(squared_length(centres.row(c)));
  for_each_block(
      centres, points_, ones_, points_.rows(), threads_, [&](std::size_t, const RowBlock& block) {
        for (std::size_t c = 0; c < count; ++c)
          for (std::size_t i = 0; i < block.size; ++i)
            result[c][block.begin + i] =
                (std::max)(0.0f, squares_[block.begin + i] + lengths[c] - 2 * block.of(c)[i]);
      });
  return result;
}

WORDLOOM_FUNCTION RowMatrix KMeans::first_centres(std::size_t k, Random& random) const {
  const std::size_t n = points_.rows(), dimension = points_.columns();
  const auto trials = static_cast<std::size_t>(2 + std::log(static_cast<double>(k)));
  RowMatrix centres = vectors_to_multiply(k, dimension);
  const auto set = [&](RowMatrix& rows, std::size_t row, std::size_t point) {
    std::copy_n(points_.row_data(point), dimension, rows.row_data(row));
  };
  set(centres, 0, random.below(n));
  std::vector<float> nearest = distances(centres, 1).front();
  for (std::size_t c = 1; c < k; ++c) {
    std::vector<double> sums(n);
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sums[i] = sum += static_cast<double>(nearest[i]);
    RowMatrix candidates = vectors_to_multiply(trials, dimension);
    for (std::size_t t = 0; t < trials; ++t) {
      const auto at = std::upper_bound(sums.begin(), sums.end(), random.uniform() * sum);
      const auto point = static_cast<std::size_t>(at - sums.begin());
      set(candidates, t, (std::min)(point, n - 1));
    }
    auto found = distances(candidates, trials);
    double least = std::numeric_limits<double>::infinity();
    std::size_t best = 0;
    for (std::size_t t = 0; t < trials; ++t) {
      double potential = 0;
      for (std::size_t i = 0; i < n; ++i) {
        found[t][i] = (std::min)(found[t][i], nearest[i]);
        potential += static_cast<double>(found[t][i]);
      }
      if (potential < least) least = potential, best = t;
    }
    std::copy_n(candidates.row_data(best), dimension, centres.row_data(c));
    nearest = std::move(found[best]);
  }
  return centres;
}

WORDLOOM_FUNCTION double KMeans::assign(const RowMatrix& centres, std::size_t k,
                                        std::vector<std::uint32_t>& clusters,
                                        std::vector<float>& nearest) const {
  std::vector<float> lengths;
  for (std::size_t c = 0; c < k; ++c) lengths.push_back(squared_length(centres.row(c)));
  for_each_block(
      centres, points_, ones_, points_.rows(), threads_, [&](std::size_t, const RowBlock& block) {
        const std::span near(nearest.data() + block.begin, block.size);
        std::fill(near.begin(), near.end(), std::numeric_limits<float>::infinity());
        for (std::uint32_t c = 0; c < k; ++c)
          for (std::size_t i = 0; i < block.size; ++i) {
            const float distance =
                (std::max)(0.0f, squares_[block.begin + i] + lengths[c] - 2 * block.of(c)[i]);
            if (!(distance < near[i])) continue;
            near[i] = distance;
            clusters[block.begin + i] = c;
          }
      });
  double inertia = 0;
  for (const float distance : nearest) inertia += static_cast<double>(distance);
  return inertia;
}

WORDLOOM_FUNCTION KMeans::Result KMeans::from(RowMatrix centres, std::size_t k,
                                              std::size_t iterations, double tolerance) const {
  const std::size_t n = points_.rows(), dimension = points_.columns();
  Result result{std::vector<std::uint32_t>(n), 0};
  std::vector<float> nearest(n);
  result.inertia = assign(centres, k, result.clusters, nearest);
  for (std::size_t iteration = 0; iteration < iterations; ++iteration) {
    std::vector<double> sums(k * dimension), sizes(k);
    const auto move = [&](std::size_t point, std::size_t cluster, double sign) {
      sizes[cluster] += sign;
      for (std::size_t d = 0; d < dimension; ++d)
        sums[cluster * dimension + d] += sign * static_cast<double>(points_.row(point)[d]);
    };
    for (std::size_t i = 0; i < n; ++i) move(i, result.clusters[i], 1);
    std::vector<std::uint32_t> clusters = result.clusters;
    for (std::uint32_t c = 0; c < k; ++c) {
      if (sizes[c] > 0) continue;
      const auto far = std::max_element(nearest.begin(), nearest.end()) - nearest.begin();
      const auto point = static_cast<std::size_t>(far);
      move(point, clusters[point], -1);
      move(point, clusters[point] = c, 1);
      nearest[point] = -1;  // taken
    }
    double movement = 0;
    for (std::size_t c = 0; c < k; ++c)
      for (std::size_t d = 0; d < dimension; ++d) {
        if (sizes[c] == 0) continue;  // lost its only point to another cluster
        const double x = sums[c * dimension + d] / sizes[c];
        const double change = x - static_cast<double>(centres.row(c)[d]);
        movement += change * change;
        centres.row(c)[d] = static_cast<float>(x);
      }
    result.inertia = assign(centres, k, clusters, nearest);
    const bool is_same = clusters == result.clusters;
    result.clusters = std::move(clusters);
    if (is_same || movement <= tolerance * variance_) break;
  }
  return result;
}

WORDLOOM_FUNCTION KMeans::Result KMeans::best(std::size_t k, std::size_t starts, std::uint64_t seed,
                                              std::size_t iterations, double tolerance) const {
  if (k == 0 || k > points_.rows())
    throw InvalidArgument{"cannot divide ", points_.rows(), " points into ", k, " clusters"};
  Result best{{}, std::numeric_limits<double>::infinity()};
  for (std::size_t start = 0; start < starts; ++start) {
    Random random(seed, start);
    Result result = from(first_centres(k, random), k, iterations, tolerance);
    if (result.inertia < best.inertia) best = std::move(result);
  }
  return best;
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
