#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <wordloom/core/row_matrix.hpp>
#include <wordloom/sampler/block.hpp>

/// The weight of each pair of a block in the order in which a kernel needs it.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd {

/// Floats past the end of scores and weights that vectors may touch.
inline constexpr std::size_t vector_slack = 16;

/// Writes the weights of a block output by output, `each` for an output, then zeros.
inline void fill_weights(const Block& block, std::size_t each, float* to) noexcept {
  const std::size_t count = block.outputs.size() * each;
  const std::size_t positives = block.positives * each;
  if (block.weights.empty())
    std::fill_n(std::fill_n(to, positives, 1.0f), count - positives, -1.0f);
  else
    std::copy_n(block.weights.values.data(), count, to);
  std::fill_n(to + count, vector_slack, 0.0f);
}

/// Returns the weight of row i of one side with row j of the other in a block with `paired`: the
/// weight of the row of the longer side, or 0 if the two are not scored against each other.
inline float weight_of_pair(const Block& block, std::size_t i, std::size_t j) noexcept {
  const std::size_t row = (std::max)(i, j);
  if (i != j && row < block.paired) return 0.0f;
  if (!block.weights.empty()) return block.weights.values[row];
  return row < block.paired ? 1.0f : -1.0f;
}

/// Writes the weights of all pairs [M x N], then zeros. Rows that are not scored against each other
/// have weight 0: those of a block with `paired`, and those of an output that is scored against one
/// bag of several.
inline void fill_pair_weights(const Block& block, float* to) noexcept {
  const std::size_t n = block.input_count(), own = block.left_out.size();
  if (block.paired > 0) {
    for (std::size_t j = 0; j < block.outputs.size(); ++j)
      for (std::size_t i = 0; i < n; ++i) *to++ = weight_of_pair(block, i, j);
    std::fill_n(to, vector_slack, 0.0f);
    return;
  }
  if (own == 0) return fill_weights(block, n, to);
  fill_weights(block, 1, to);
  for (std::size_t j = block.outputs.size(); j-- > 0;) {
    const float weight = to[j];
    std::fill_n(to + j * n, n + (j + 1 == block.outputs.size() ? vector_slack : 0), 0.0f);
    to[j * n + (std::min)(j, own)] = weight;
  }
}

/// Scores and gradients of FusedKernel are in groups of 4 inputs, each group output by output, 4
/// for each, so that the sums of 4 inputs are stored at once. If 1 or 2 inputs are left, theirs
/// follow from a multiple of 16 floats on, 2 for each output.
struct GradientLayout {
  std::size_t n, m;

  /// Returns that of a block, or of each of its inputs if they are trained in turn.
  static GradientLayout of(const Block& block) noexcept {
    return {block.in_turn ? 1 : block.input_count(), block.outputs.size()};
  }
  /// Returns the number of inputs that are in groups of 4 (or 3).
  constexpr std::size_t n_of_four() const { return n % 4 == 1 || n % 4 == 2 ? n / 4 * 4 : n; }
  constexpr std::size_t count_of_four() const { return (n_of_four() + 3) / 4 * 4 * m; }
  constexpr std::size_t tail() const { return (count_of_four() + 15) / 16 * 16; }
  constexpr std::size_t tail_count() const { return n_of_four() < n ? 2 * m : 0; }
  constexpr std::size_t place(std::size_t i, std::size_t j) const {
    return i < n_of_four() ? i / 4 * 4 * m + j * 4 + i % 4 : tail() + j * 2 + i % 4;
  }
  /// Returns the floats that hold any block of up to n x m.
  static constexpr std::size_t most(Block::Shape shape) {
    return (shape.inputs + 3) / 4 * 4 * shape.outputs + 3 * vector_slack;
  }
};

/// Pair weights in that order; vectors may be read past the end of both parts.
struct LaidOutWeights {
  const float* of_four;
  const float* tail;
  std::size_t padding;  // places with a weight other than 0 that hold no pair
};

/// Lays weights out. The weights of blocks without weights repeat from group to group and are kept
/// from block to block, for two kinds of blocks that a sampler may make in turn; if N is not a
/// multiple of 4, the places in between have a weight too. The weights of a block are kept while
/// their version is the same, for two matrices. The scratch memory of one thread.
class WeightLayout {
 public:
  explicit WeightLayout(Block::Shape most)
      : plain_{Plain(most), Plain(most)}, weighted_{Weighted(most), Weighted(most)} {}

  LaidOutWeights of(const Block& block) noexcept {
    const GradientLayout layout = GradientLayout::of(block);
    if (!block.weights.empty()) return weighted(block.weights, layout);
    if (!plain_[latest_].is_for(block)) {
      latest_ = 1 - latest_;
      if (!plain_[latest_].is_for(block)) plain_[latest_].fill(block);
    }
    const Plain& plain = plain_[latest_];
    return {plain.of_four.data(), plain.tail.data(),
            layout.count_of_four() + layout.tail_count() - layout.n * layout.m};
  }

 private:
  struct Plain {
    explicit Plain(Block::Shape most)
        : of_four(1, GradientLayout::most(most)),
          tail(1, 2 * most.outputs + vector_slack),
          signs(8 * most.outputs, 1.0f),
          groups((most.inputs + 3) / 4) {
      std::fill_n(signs.begin() + middle(), middle(), -1.0f);
    }
    bool is_for(const Block& block) const noexcept {
      return block.outputs.size() == outputs && block.positives == positives;
    }
    void fill(const Block& block) noexcept {
      outputs = block.outputs.size();
      positives = block.positives;
      // Groups are copied from around the middle of `signs`, so that a different number of targets
      // in each block, as with paths of a tree, costs little.
      const float* const group = signs.data() + middle() - 4 * static_cast<long>(positives);
      for (float* at = of_four.data(); outputs > 0 && at < of_four.data() + groups * 4 * outputs;
           at += 4 * outputs)
        std::memcpy(at, group, 4 * outputs * sizeof(float));
      const float* const pair = signs.data() + middle() - 2 * static_cast<long>(positives);
      std::memcpy(tail.data(), pair, 2 * outputs * sizeof(float));
    }
    long middle() const noexcept { return static_cast<long>(signs.size() / 2); }
    RowMatrix of_four, tail;
    std::vector<float> signs;  // 4 places for each output of 1, then of -1
    std::size_t groups;        // of 4 inputs, at most
    std::size_t outputs = 0, positives = 0;
  };

  struct Weighted {
    explicit Weighted(Block::Shape most) : values(1, GradientLayout::most(most)) {}
    RowMatrix values;
    const float* from = nullptr;
    std::uint64_t version = 0;
  };

  LaidOutWeights weighted(const Block::Weights& weights, const GradientLayout& layout) noexcept {
    const auto is_kept = [&](const Weighted& kept) {
      return kept.version == weights.version && kept.from == weights.values.data();
    };
    const auto result = [&](Weighted& kept) {
      float* const to = kept.values.data();
      return LaidOutWeights{to, to + layout.tail(), 0};
    };
    if (weights.version != 0)
      for (Weighted& kept : weighted_)
        if (is_kept(kept)) return result(kept);
    Weighted& next = weighted_[next_];
    next_ = 1 - next_;
    next.from = weights.values.data();
    next.version = weights.version;
    float* const to = next.values.data();
    // `count` inputs from `first` on, in `each` places for each output.
    const auto copy = [&]<std::size_t count, std::size_t each>(std::size_t first, float* group) {
      const float* from = weights.values.data() + first;
      for (std::size_t j = 0; j < layout.m; ++j, group += each, from += layout.n) {
        std::memcpy(group, from, count * sizeof(float));
        std::fill_n(group + count, each - count, 0.0f);
      }
      return group;
    };
    float* end = to;
    std::size_t i = 0;
    for (; i + 4 <= layout.n; i += 4) end = copy.template operator()<4, 4>(i, end);
    if (i < layout.n_of_four()) end = copy.template operator()<3, 4>(i, end);
    std::fill_n(end, vector_slack, 0.0f);
    end = to + layout.tail();
    if (layout.tail_count() > 0)
      end = layout.n - i == 2 ? copy.template operator()<2, 2>(i, end)
                              : copy.template operator()<1, 2>(i, end);
    std::fill_n(end, vector_slack, 0.0f);
    return result(next);
  }

  std::array<Plain, 2> plain_;
  std::array<Weighted, 2> weighted_;
  std::size_t latest_ = 0, next_ = 0;
};

}}}  // namespace wordloom::WORDLOOM_ABI::simd
