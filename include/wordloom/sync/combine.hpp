#pragma once
#include <Eigen/Core>
#include <algorithm>
#include <cstddef>

/// How the changes that ranks made to rows since they last agreed become one change: each rule has
/// `combine(changes, ranks)`, which turns their sums in place into what all ranks add.
namespace wordloom {

/// The sums over all ranks of the changes to some rows of one matrix.
class RowChanges {
 public:
  using Row = Eigen::Map<Eigen::VectorXf>;

  /// Sums [count x dimension], `stride` floats from one to the next; for each two numbers, of which
  /// the first is how many ranks changed the row and the second the sum of the squared norms of
  /// their changes, 4 floats from one row to the next.
  RowChanges(float* sums, std::size_t count, std::size_t dimension, std::size_t stride,
             const float* numbers)
      : sums_(sums), count_(count), dimension_(dimension), stride_(stride), numbers_(numbers) {}

  std::size_t size() const noexcept { return count_; }
  std::size_t dimension() const noexcept { return dimension_; }
  /// [D]
  Row sum(std::size_t i) const {
    return Row(sums_ + i * stride_, static_cast<Eigen::Index>(dimension_));
  }
  float touched(std::size_t i) const noexcept { return numbers_[4 * i]; }
  float squares(std::size_t i) const noexcept { return numbers_[4 * i + 1]; }

 private:
  float* sums_;
  std::size_t count_, dimension_, stride_;
  const float* numbers_;
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
/// enough.) What all rows have in common, the direction of the sum of all changes, is averaged
/// first: in it the rows of both matrices push each other on, and sums diverge.
struct CoherentSum {
  static void combine(const RowChanges& changes, std::size_t) {
    Eigen::VectorXf common = Eigen::VectorXf::Zero(static_cast<Eigen::Index>(changes.dimension()));
    for (std::size_t i = 0; i < changes.size(); ++i) common += changes.sum(i);
    if (common.squaredNorm() > 0) common.normalize();
    for (std::size_t i = 0; i < changes.size(); ++i) {
      if (changes.touched(i) == 0) continue;
      auto sum = changes.sum(i);
      const float along = sum.dot(common);
      sum -= along * common;
      const float square = std::max(sum.squaredNorm(), 1e-30f), least = 1 / changes.touched(i);
      sum *= std::clamp(changes.squares(i) / square, least, 1.0f);
      sum += along * least * common;
    }
  }
};

}  // namespace wordloom
