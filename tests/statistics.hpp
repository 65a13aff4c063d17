#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

/// Pearson's chi-squared of counts against expected shares, in standard deviations from its mean
/// (degrees of freedom k - 1: mean k - 1, variance 2 (k - 1)). Cells of share 0 must be empty.
inline double chi_squared_deviation(const std::vector<std::uint64_t>& counts,
                                    const std::vector<double>& shares) {
  double total = 0, statistic = 0;
  std::size_t cells = 0;
  for (const auto count : counts) total += static_cast<double>(count);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = shares[i] * total;
    if (expected == 0) {
      if (counts[i] != 0) return 1e9;
      continue;
    }
    ++cells;
    const double difference = static_cast<double>(counts[i]) - expected;
    statistic += difference * difference / expected;
  }
  if (cells < 2) return 0;
  const double freedom = static_cast<double>(cells - 1);
  return (statistic - freedom) / std::sqrt(2 * freedom);
}
