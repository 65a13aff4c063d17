#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/parallel.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/model/detail/compressed_functions.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The centres of product quantisation (Jegou, Douze and Schmid 2011): columns are divided into
/// parts, and each part of a row becomes the number of the nearest of its 256 centres.
class ProductCentres {
 public:
  static constexpr std::size_t count = 256;

  /// `values` [D x 256]: for part p, [columns of p x 256] from its first column on.
  ProductCentres(std::span<float> values, std::size_t parts)
      : values_(values), parts_(parts), halves_(parts * count) {}

  /// Finds them by k-means (Lloyd's algorithm from random rows) on rows at equal distances, at most
  /// 128 for each centre. Each row is multiplied by its scale first. Any number of threads gives
  /// the same bits.
  void train(const RowMatrix& rows, std::span<const float> scales, std::uint64_t seed,
             std::size_t threads);

  /// Writes the codes [count x parts] of rows [count x stride].
  void encode(const float* rows, std::size_t stride, std::size_t count, std::uint8_t* codes) const;

 private:
  std::pair<std::size_t, std::size_t> columns(std::size_t part) const {
    return part_of(values_.size() / count, part, parts_);
  }
  float* of(std::size_t part) const { return values_.data() + columns(part).first * count; }
  void set_halves(std::size_t part);
  void train_part(std::size_t part, std::span<const float> points, Random random);

  std::span<float> values_;
  std::size_t parts_;
  std::vector<float> halves_;  // [parts x 256] the square of each centre's length / 2
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION void ProductCentres::set_halves(std::size_t part) {
  const auto [first, last] = columns(part);
  float* const halves = halves_.data() + part * count;
  const float* const centres = of(part);
  for (std::size_t c = 0; c < count; ++c) {
    halves[c] = 0;
    for (std::size_t k = 0; k < last - first; ++k) {
      const float x = centres[k * count + c];
      halves[c] += x * x / 2;
    }
  }
}

WORDLOOM_FUNCTION void ProductCentres::train(const RowMatrix& rows, std::span<const float> scales,
                                             std::uint64_t seed, std::size_t threads) {
  const std::size_t sample = (std::min)(rows.rows(), 128 * count);
  std::atomic<std::size_t> next{0};
  run_threads((std::min)(threads, parts_), [&](std::size_t) {
    for (std::size_t part; (part = next.fetch_add(1)) < parts_;) {
      const auto [first, last] = columns(part);
      std::vector<float> points;
      points.reserve(sample * (last - first));
      for (std::size_t i = 0; i < sample; ++i) {
        const std::size_t row = i * rows.rows() / sample;
        for (std::size_t c = first; c < last; ++c)
          points.push_back(rows.row_data(row)[c] * scales[row]);
      }
      train_part(part, points, Random(seed, part));
    }
  });
}

WORDLOOM_FUNCTION void ProductCentres::train_part(std::size_t part, std::span<const float> points,
                                                  Random random) {
  constexpr int iterations = 25;
  const auto [first, last] = columns(part);
  const std::size_t width = last - first, n = points.size() / width;
  float* const centres = of(part);
  const auto set = [&](std::size_t centre, std::size_t point) {
    for (std::size_t k = 0; k < width; ++k) centres[k * count + centre] = points[point * width + k];
  };
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = i;
  for (std::size_t c = 0; c < count; ++c) {
    if (c < n) std::swap(order[c], order[c + random.below(n - c)]);
    set(c, order[(std::min)(c, n - 1)]);
  }
  set_halves(part);
  std::vector<std::uint8_t> nearest(n), before;
  for (int i = 0; i < iterations && n > count; ++i) {
    simd::compressed_functions().nearest(centres, halves_.data() + part * count, width,
                                         points.data(), width, n, nearest.data(), 1);
    if (nearest == before) break;
    before = nearest;
    std::vector<double> sums(count * width);
    std::vector<std::size_t> sizes(count);
    for (std::size_t p = 0; p < n; ++p) {
      ++sizes[nearest[p]];
      for (std::size_t k = 0; k < width; ++k)
        sums[nearest[p] * width + k] += static_cast<double>(points[p * width + k]);
    }
    for (std::size_t c = 0; c < count; ++c) {
      if (sizes[c] == 0) {
        set(c, random.below(n));
        continue;
      }
      for (std::size_t k = 0; k < width; ++k)
        centres[k * count + c] =
            static_cast<float>(sums[c * width + k] / static_cast<double>(sizes[c]));
    }
    set_halves(part);
  }
}

WORDLOOM_FUNCTION void ProductCentres::encode(const float* rows, std::size_t stride,
                                              std::size_t size, std::uint8_t* codes) const {
  for (std::size_t part = 0; part < parts_; ++part) {
    const auto [first, last] = columns(part);
    simd::compressed_functions().nearest(of(part), halves_.data() + part * count, last - first,
                                         rows + first, stride, size, codes + part, parts_);
  }
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
