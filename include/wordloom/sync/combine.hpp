#pragma once
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>

#include <wordloom/sync/row_changes.hpp>

/// How the changes that ranks made to rows since they last agreed become one change: each rule has
/// `combine(changes, ranks)`, which turns their sums in place into what all ranks add.
namespace wordloom {

/// What the rows of one matrix have in common, weighted by how often they are paired with rows of
/// the other: their mean direction, and the mean of the squares of their parts along it.
struct CommonDirection {
  Eigen::VectorXf direction;  // [D], of length 1, or 0 where there is none
  double square = 0;
};

/// The sums over all ranks of the changes to some rows of one matrix.
class RowChanges {
 public:
  using Row = Eigen::Map<Eigen::VectorXf>;

  /// Sums [count x dimension], `stride` floats from one to the next; for each two numbers, of which
  /// the first is how many ranks changed the row and the second the sum of the squared norms of
  /// their changes, 4 floats from one row to the next; for each the expected sum of learning rates
  /// of a rank's updates of the row; and what the rows that they are paired with have in common.
  RowChanges(float* sums, std::size_t count, std::size_t dimension, std::size_t stride,
             const float* numbers, const float* steps, const CommonDirection& partners)
      : sums_(sums),
        count_(count),
        dimension_(dimension),
        stride_(stride),
        numbers_(numbers),
        steps_(steps),
        partners_(partners) {}

  std::size_t size() const noexcept { return count_; }
  std::size_t dimension() const noexcept { return dimension_; }
  /// [D]
  Row sum(std::size_t i) const {
    return Row(sums_ + i * stride_, static_cast<Eigen::Index>(dimension_));
  }
  float touched(std::size_t i) const noexcept { return numbers_[4 * i]; }
  float squares(std::size_t i) const noexcept { return numbers_[4 * i + 1]; }
  float steps(std::size_t i) const noexcept { return steps_[i]; }
  const CommonDirection& partners() const noexcept { return partners_; }

 private:
  float* sums_;
  std::size_t count_, dimension_, stride_;
  const float* numbers_;
  const float* steps_;
  const CommonDirection& partners_;
};

/// The mean of all replicas (pWord2Vec: Ji et al. 2016, section III-E; BlazingText: Gupta and Khare
/// 2017, section 4.3). A row that one rank of N changed keeps one N-th of its change.
struct Average {
  static void combine(const RowChanges& changes, std::size_t ranks) {
    for (std::size_t i = 0; i < changes.size(); ++i) changes.sum(i) /= static_cast<float>(ranks);
  }
};

/// All changes, as one machine would have made them; diverges where all ranks change the same rows
/// much.
struct DeltaSum {
  static void combine(const RowChanges&, std::size_t) {}
};

/// The mean over the ranks that changed the row: rare words keep what they learnt.
struct TouchedAverage {
  static void combine(const RowChanges& changes, std::size_t) {
    for (std::size_t i = 0; i < changes.size(); ++i)
      if (changes.touched(i) > 0) changes.sum(i) /= changes.touched(i);
  }
};

/// Ours. Changes that point the same way are one step that several made, and are averaged; changes
/// that are orthogonal are different steps, and are added; between them it goes on smoothly: the
/// sum is multiplied by the share of its square that is not of products of two ranks' changes, at
/// least 1 / touched. (The idea of the model combiner, GraphWord2Vec: Gill et al. 2021,
/// "Distributed Training of Embeddings using Graph Analytics", from norms, so that one sum is
/// enough.)
///
/// Along the direction that all partners of a row have in common all ranks push alike, and the loss
/// is curved most: there each update brings a row a share `a` = curvature x learning rate nearer to
/// where it rests. What one rank has done n times in parallel is then not n times as much, but
/// (1 - exp(-n a)) / (1 - exp(-a)): all of it where a row has hardly moved, the mean where it has
/// come to rest. Averaged everywhere, rare words would learn it n times too slowly, and what all
/// words have in common grows at the cost of what tells them apart.
struct CoherentSum {
  /// Mean of sigmoid' along the common direction: 0.1 keeps its share in the vectors what it is
  /// when one rank trains (measured; 0.03 oscillates, 0.3 grows it by a fifth).
  static constexpr double curvature = 0.1;

  static void combine(const RowChanges& changes, std::size_t) {
    const auto& common = changes.partners().direction;
    const double sharpness = curvature * changes.partners().square;
    const simd::RowChangeFunctions rows;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      if (changes.touched(i) == 0) continue;
      float* const sum = changes.sum(i).data();
      const auto [along, whole] = rows.product_and_square(sum, common.data(), changes.dimension());
      const float least = 1 / changes.touched(i);
      // Without the part along it.
      const float square = std::max(whole - along * along, 1e-30f);
      const float squares = changes.squares(i) - along * along * least;
      const float rest = std::clamp(squares / square, least, 1.0f);
      const float gain = at_rest(changes.touched(i), sharpness * changes.steps(i));
      rows.mix(sum, rest, common.data(), along * (gain - rest), changes.dimension());
    }
  }

 private:
  /// Of the sum of n equal changes, each of which came nearer to rest by 1 - exp(-a): what n such
  /// changes one after the other are.
  static float at_rest(double n, double a) {
    return a < 1e-6 ? 1.0f : static_cast<float>(std::expm1(-n * a) / (n * std::expm1(-a)));
  }
};

}  // namespace wordloom
