#pragma once
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <wordloom/core/types.hpp>

/// Rules that combine the changes that ranks made to a row since they last agreed to one change.
/// Each rule has `gains(row)`, the factors for the parts of the sum of the changes. On the host or
/// on a device. A rule with parameters lists them by `visit_parameters` (core/hyperparameters.hpp).
namespace wordloom { inline namespace WORDLOOM_ABI {

/// The changes of all ranks to a row.
struct RowSum {
  /// The factors by which a rule takes the summed changes of a row.
  struct Gains {
    float along;  // for the part of the sum along that direction
    float rest;   // for the orthogonal part
  };

  float ranks;    // number of all ranks
  float touched;  // number of ranks that changed the row, at least 1
  float squares;  // the sum of the squared norms of their changes
  float square;   // the squared norm of the sum of their changes
  float along;    // the length of that sum along the direction that the row's partners have in
                  // common: the rows of the other matrix that it is paired with
  /// The expected sum of learning rates of one rank's updates of the row, times the mean square of
  /// its partners' components along that direction.
  float sharpness;
};

/// The mean of all replicas (pWord2Vec: Ji et al. 2016, section III-E; BlazingText: Gupta and Khare
/// 2017, section 4.3). A row that one rank of N changed keeps one N-th of its change.
struct Average {
  static WORDLOOM_BOTH RowSum::Gains gains(const RowSum& row) {
    return {1 / row.ranks, 1 / row.ranks};
  }
};

/// The sum of all changes, as one machine would have made them; diverges if all ranks change the
/// same rows by much.
struct DeltaSum {
  static WORDLOOM_BOTH RowSum::Gains gains(const RowSum&) { return {1, 1}; }
};

/// The mean over the ranks that changed the row: rare words keep their full change.
struct TouchedAverage {
  static WORDLOOM_BOTH RowSum::Gains gains(const RowSum& row) {
    return {1 / row.touched, 1 / row.touched};
  }
};

/// Our own rule. Changes in the same direction are one step that several ranks made, and are
/// averaged; orthogonal changes are different steps, and are added. The rule is smooth in between:
/// the sum is multiplied by the share of its square that does not come from products of two ranks'
/// changes, at least 1 / touched. (The idea of the model combiner, GraphWord2Vec: Gill et al. 2021,
/// "Distributed Training of Embeddings using Graph Analytics", computed from norms, so that one sum
/// is enough.)
///
/// Along the direction that all partners of a row have in common, all ranks push in the same way,
/// and the loss is curved most: there each update brings a row a share `a` = curvature x learning
/// rate nearer to its equilibrium. Changes that n ranks make in parallel then do not add up to n
/// times one of them, but to (1 - exp(-n a)) / (1 - exp(-a)) times: all of it while a row has
/// hardly moved, the mean once it is in equilibrium. Averaged in all cases, rare words would learn
/// this direction n times too slowly, and the common part of all words would grow at the cost of
/// the parts that distinguish them.
struct CoherentSum {
  /// Mean of sigmoid' along the common direction. With 0.1 the common direction has the same share
  /// of the vectors as with one rank (measured; 0.03 oscillates, 0.3 increases the share by a
  /// fifth).
  static constexpr float curvature = 0.1f;

  static WORDLOOM_BOTH RowSum::Gains gains(const RowSum& row) {
    const float least = 1 / row.touched, along = row.along * row.along;
    const float square = std::fmax(row.square - along, 1e-30f);
    const float squares = row.squares - along * least;
    return {gain_along(row.touched, row.sharpness),
            std::fmin(std::fmax(squares / square, least), 1.0f)};
  }

  /// Returns the scale that makes a sum of n equal changes along the common direction, each a step
  /// towards equilibrium by 1 - exp(-a), equal to n such steps one after the other.
  static WORDLOOM_BOTH float gain_along(float n, float sharpness) {
    const float a = curvature * sharpness;
    return a < 1e-6f ? 1.0f : std::expm1(-n * a) / (n * std::expm1(-a));
  }
};

namespace detail {

/// A rule that is chosen at run time, for programs.
struct AnyRule {
  enum class Kind : std::uint8_t { coherent, average, touched, sum };
  /// The name of each kind.
  static constexpr std::array<std::string_view, 4> names{"coherent", "average", "touched", "sum"};

  Kind kind = Kind::coherent;

  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("sync_rule", static_cast<std::size_t>(kind), 0, 3);
  }
  WORDLOOM_BOTH RowSum::Gains gains(const RowSum& row) const {
    switch (kind) {
      case Kind::average:
        return Average::gains(row);
      case Kind::touched:
        return TouchedAverage::gains(row);
      case Kind::sum:
        return DeltaSum::gains(row);
      case Kind::coherent:
        break;
    }
    return CoherentSum::gains(row);
  }
};

}  // namespace detail

}}  // namespace wordloom::WORDLOOM_ABI
