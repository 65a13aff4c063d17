#pragma once
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <wordloom/core/types.hpp>

/// How the changes that ranks made to a row since they last agreed become one change: each rule has
/// `gains(row)`, by which the parts of their sum are multiplied. On the host or on a device. A rule
/// with parameters lists them by `visit_parameters` (core/hyperparameters.hpp).
namespace wordloom::inline WORDLOOM_ABI {

/// The changes of all ranks to a row.
struct RowSum {
  float ranks;    // all there are
  float touched;  // that changed the row, at least 1
  float squares;  // the sum of the squared norms of their changes
  float square;   // the squared norm of the sum of their changes
  float along;    // the length of that sum along the direction that the row's partners have in
                  // common: the rows of the other matrix that it is paired with
  /// The expected sum of learning rates of one rank's updates of the row, times the mean square of
  /// its partners' parts along that direction.
  float sharpness;
};

struct Gains {
  float along;  // of the part of the sum along that direction
  float rest;   // of what is orthogonal to it
};

/// The mean of all replicas (pWord2Vec: Ji et al. 2016, section III-E; BlazingText: Gupta and Khare
/// 2017, section 4.3). A row that one rank of N changed keeps one N-th of its change.
struct Average {
  static WORDLOOM_BOTH Gains gains(const RowSum& row) { return {1 / row.ranks, 1 / row.ranks}; }
};

/// All changes, as one machine would have made them; diverges where all ranks change the same rows
/// much.
struct DeltaSum {
  static WORDLOOM_BOTH Gains gains(const RowSum&) { return {1, 1}; }
};

/// The mean over the ranks that changed the row: rare words keep what they learnt.
struct TouchedAverage {
  static WORDLOOM_BOTH Gains gains(const RowSum& row) { return {1 / row.touched, 1 / row.touched}; }
};

/// Our own rule. Changes that point the same way are one step that several ranks made, and are
/// averaged; orthogonal changes are different steps, and are added. The rule is smooth between: the
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
  static constexpr float curvature = 0.1f;

  static WORDLOOM_BOTH Gains gains(const RowSum& row) {
    const float least = 1 / row.touched, along = row.along * row.along;
    const float square = std::fmax(row.square - along, 1e-30f);
    const float squares = row.squares - along * least;
    return {gain_along(row.touched, row.sharpness),
            std::fmin(std::fmax(squares / square, least), 1.0f)};
  }

  /// Returns the scale of a sum of n equal changes along the common direction, each a step towards
  /// rest by 1 - exp(-a), that makes it equal to n such steps one after the other.
  static WORDLOOM_BOTH float gain_along(float n, float sharpness) {
    const float a = curvature * sharpness;
    return a < 1e-6f ? 1.0f : std::expm1(-n * a) / (n * std::expm1(-a));
  }
};

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
  WORDLOOM_BOTH Gains gains(const RowSum& row) const {
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

}  // namespace wordloom::inline WORDLOOM_ABI
