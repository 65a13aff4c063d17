#pragma once
#include <algorithm>
#include <cstddef>
#include <span>

#include <wordloom/core/types.hpp>

namespace wordloom {

/// N input rows scored against M output rows; outputs[0 .. positives) carry label 1, the others 0.
/// A kernel computes all scores from the rows as they stand before the block, then adds all
/// gradients: a row that stands in a block twice gets both. Spans live until the sink returns.
struct Block {
  std::span<const WordId> inputs;   // [N] rows of Model::input
  std::span<const WordId> outputs;  // [M] rows of Model::output
  std::size_t positives = 0;        // 0 .. M
  std::span<const float> weights;   // [N] gradient weight of an input, empty = all 1
  /// [M x N] the weight of each pair, for blocks in which not all inputs have the same labels or
  /// weights: above 0 for label 1, below 0 for label 0 (its absolute value counts), 0 for no pair.
  /// Empty, or instead of `positives` and `weights`.
  std::span<const float> pair_weights = {};

  bool is_weighted() const noexcept { return !weights.empty() || !pair_weights.empty(); }
};

/// How many pairs have label 1.
inline std::size_t positive_pairs(const Block& block) noexcept {
  if (block.pair_weights.empty()) return block.inputs.size() * block.positives;
  return static_cast<std::size_t>(std::count_if(block.pair_weights.begin(),
                                                block.pair_weights.end(),
                                                [](float weight) { return weight > 0.0f; }));
}

/// Tells a sink which rows later blocks will need, so that they can be on their way from memory:
/// calls `sink.prefetch(inputs, outputs)` when the sink has it, else does nothing.
template <class Sink>
[[gnu::always_inline]] inline void announce_rows(Sink& sink, std::span<const WordId> inputs,
                                                 std::span<const WordId> outputs) {
  if constexpr (requires { sink.prefetch(inputs, outputs); }) sink.prefetch(inputs, outputs);
}

/// The most inputs (N) and outputs (M) that a sampler puts into one block: kernels size their
/// scratch memory by it.
struct BlockShape {
  std::size_t inputs;
  std::size_t outputs;
};

}  // namespace wordloom
