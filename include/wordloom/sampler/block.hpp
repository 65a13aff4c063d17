#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include <wordloom/core/types.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// The part of the gradient of a bag's mean that each member receives. In windows of random reach,
/// it also acts as a weight of far words: `root` keeps the similarity of `mean` and the analogies
/// of `whole` (benchmarks/results/cbow.md).
enum class BagGradient : std::uint8_t {
  mean,   ///< 1 / size of it: the derivative (Irsoy et al. 2021, "Corrected CBOW")
  whole,  ///< all of it, as word2vec.c and fastText do
  root    ///< 1 / sqrt(size) of it, the geometric mean of the two
};

namespace detail {

/// Returns the part of the gradient of the mean that each member of a bag of `size` receives.
WORDLOOM_BOTH float member_share(BagGradient gradient, float size) {
  if (gradient == BagGradient::whole) return 1.0f;
  return 1.0f / (gradient == BagGradient::root ? std::sqrt(size) : size);
}

}  // namespace detail

/// N inputs scored against M output rows; outputs[0 .. positives) have label 1, the others 0. An
/// input is a row, or the mean of a bag of rows. A kernel computes all scores from the rows as they
/// are before the block, then adds all gradients: a row that occurs several times in a block, as
/// input or output, receives all of its changes (`in_turn` differs). Spans are valid until the sink
/// returns. Trainers check blocks of custom samplers in debug builds.
struct Block {
  /// The weight of each pair of a block, [M x N] output by output, or of each output [M] if the
  /// block has `left_out`, or of each row of the longer side if it has `paired`: above 0 for label
  /// 1, below 0 for label 0, 0 if the two are not scored. The gradient of a pair is multiplied by
  /// the absolute value; the loss is not.
  struct Weights {
    std::span<const float> values = {};
    /// Two blocks of one worker with the same version other than 0 at the same address have the
    /// same values and the same shape, so that a kernel may keep weights that it has stored in an
    /// order of its own.
    std::uint64_t version = 0;

    bool empty() const noexcept { return values.empty(); }
  };

  /// The matrices that a block changes.
  enum class Sides : std::uint8_t { both, inputs, outputs };

  /// Parts of Block that not every sampler uses and not every kernel honours: `S::uses` and
  /// `K::honours` are compared at compile time.
  struct Features {
    bool bags = false;      // bag_ends, left_out
    bool weights = false;   // weights
    bool one_side = false;  // update other than Sides::both
    bool pairs = false;     // paired

    /// Returns the features that a sampler uses, none if it does not say.
    template <class S>
    static constexpr Features used_by() {
      if constexpr (requires { S::uses; })
        return S::uses;
      else
        return {};
    }
  };

  /// The largest block of a sampler: kernels size their scratch memory by it.
  struct Shape {
    std::size_t inputs = 0;   // N
    std::size_t outputs = 0;  // M
    std::size_t members = 0;  // `inputs` of a block of bags; 0: no bags
  };

  std::span<const RowId> inputs;  // [N] rows of Model::input, or the members of N bags
  std::span<const std::uint32_t> bag_ends = {};  // [N] ends of the bags in `inputs`, none empty
  /// Alternatively one bag, from which some outputs leave out a member, as a centre leaves out its
  /// own word: output j is scored against the mean of all `inputs`, 2 or more, except the one at
  /// left_out[j] if there is such an entry. N is then 1 + the size of this, and the last of the
  /// bags is the whole.
  std::span<const std::uint32_t> left_out = {};
  std::span<const RowId> outputs;  // [M] rows of Model::output
  /// For pairs that share negatives, without the products between different pairs: 0, or N or M,
  /// whichever is smaller. Input i and output j are a pair, with label 1, if i = j, and are not
  /// scored against each other if both are different numbers below `paired`. The other rows of the
  /// longer side, the negatives, are scored against all rows of the shorter side.
  std::size_t paired = 0;
  std::size_t positives = 0;  // 0 .. M; ignored if there are weights or pairs
  Weights weights = {};       // empty: 1 for positives, -1 for the others
  std::size_t examples = 0;   // the number that the mean loss is divided by
  Sides update = Sides::both;
  /// True if each input is scored and trained before the next, which sees its changes: the block is
  /// a sequence of blocks of one input. Trainers split it for workers without `trains_in_turn`, so
  /// that any kernel takes it. Such a block has no bags, pairs and weights and changes both sides.
  bool in_turn = false;
  BagGradient bag_gradient = BagGradient::mean;
  /// True if a bag of all `inputs` replaces the bags that each lack one of them. Implied by
  /// `left_out`.
  bool stands_for_parts = false;

  bool has_bags() const noexcept { return !bag_ends.empty() || !left_out.empty(); }
  /// Returns N.
  std::size_t input_count() const noexcept {
    return !left_out.empty()  ? left_out.size() + 1
           : bag_ends.empty() ? inputs.size()
                              : bag_ends.size();
  }
  /// Returns the part of its gradient that each member of a bag of all n inputs receives. A bag
  /// that replaces those without one member gives (n - 1) / n, because each member is in that share
  /// of them.
  float share_of_all() const noexcept {
    const auto n = static_cast<float>(inputs.size());
    const bool of_parts = stands_for_parts || !left_out.empty();
    if (!of_parts || bag_gradient == BagGradient::mean)
      return detail::member_share(bag_gradient, n);
    return detail::member_share(bag_gradient, n - 1.0f) * (n - 1.0f) / n;
  }
};

/// Announces rows that later blocks need, so that they are prefetched; worth a factor of 1.3. Calls
/// `sink.prefetch(inputs, outputs)` if the sink has it, else does nothing.
template <class Sink>
[[gnu::always_inline]] inline void announce_rows(Sink& sink, std::span<const RowId> inputs,
                                                 std::span<const RowId> outputs) {
  if constexpr (requires { sink.prefetch(inputs, outputs); }) sink.prefetch(inputs, outputs);
}

using BlockShape [[deprecated("use Block::Shape")]] = Block::Shape;
using BlockFeatures [[deprecated("use Block::Features")]] = Block::Features;
using PairWeights [[deprecated("use Block::Weights")]] = Block::Weights;
using Sides [[deprecated("use Block::Sides")]] = Block::Sides;

}}  // namespace wordloom::WORDLOOM_ABI
