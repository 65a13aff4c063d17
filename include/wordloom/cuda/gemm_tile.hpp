#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

#include <wordloom/cuda/sentence.hpp>

namespace wordloom::cuda {

/// The sizes of a GemmTile.
struct GemmTileShape {
  static constexpr std::uint32_t inputs = 16, outputs = 32;  // rows
  // Rows and gradients have four floats more than they need, so that threads that read different
  // ones access different banks.
  static constexpr std::uint32_t by_x_stride = outputs + 4, by_y_stride = inputs + 4;

  /// The memory of a tile, floats, for rows of `row` floats.
  static constexpr std::size_t floats(std::size_t row) {
    return (inputs + outputs) * (row + 4) + std::size_t{inputs} * by_x_stride +
           std::size_t{outputs} * by_y_stride + 2 * inputs + outputs;
  }
};

/// Trains words of a sentence against shared negatives as products of tiles: up to 16 input rows
/// and 32 output rows in shared memory. All pairs of a tile are scored before any of them changes a
/// row. For teams of warps.
template <class Task>
class GemmTile : GemmTileShape {
 public:
  WORDLOOM_BOTH explicit GemmTile(const Task& task) : task_(task) {
    x_ = task.memory;
    y_ = x_ + inputs * stride;
    by_x_ = y_ + outputs * stride;
    by_y_ = by_x_ + inputs * by_x_stride;
    weight_ = by_y_ + outputs * by_y_stride;
    x_id_ = weight_ + inputs;
    y_id_ = x_id_ + inputs;
  }

  /// A part of the sentence: `words` words from `first` on and `negatives` negatives from number
  /// `first_negative` on, no more than a tile holds.
  struct Part {
    std::uint32_t first, words, first_negative, negatives;
  };

  WORDLOOM_BOTH void train(const Part& part) const {
    draw(part);
    task_.team.barrier();
    load(part);
    task_.team.barrier();
    score(part);
    task_.team.barrier();
    add_changes(part);
    task_.team.barrier();
  }

 private:
  static constexpr auto row = static_cast<std::uint32_t>(Task::row_size);  // floats
  static constexpr std::uint32_t quads = row / 4, stride = row + 4;
  static constexpr auto threads = static_cast<std::uint32_t>(Task::Team::threads);

  /// Finds the words and their weights, and draws the negatives.
  WORDLOOM_BOTH void draw(const Part& part) const {
    task_.team.each([&](int l) {
      for (auto i = static_cast<std::uint32_t>(l); i < inputs + outputs; i += threads) {
        if (i < inputs) {
          if (i >= part.words) continue;
          x_id_[i] = std::bit_cast<float>(task_.sentence.words[part.first + i]);
          weight_[i] = static_cast<float>(task_.sampling.per_window) /
                       static_cast<float>(task_.sampling.shared) *
                       static_cast<float>(windows_of(part.first + i));
        } else if (i - inputs < part.negatives) {
          y_id_[i - inputs] = std::bit_cast<float>(task_.sampling.negative(
              task_.sentence.random, part.first_negative + i - inputs, no_word));
        }
      }
      return 0;
    });
  }
  /// Returns the number of windows in which the word at `position` is context.
  WORDLOOM_BOTH std::uint32_t windows_of(std::uint32_t position) const {
    const auto near = task_.window(position, task_.sampling.max_reach);
    std::uint32_t count = 0;
    for (std::uint32_t center = near.first; center < near.end; ++center) {
      const std::uint32_t distance = center < position ? position - center : center - position;
      if (distance != 0 && distance <= task_.reach(center)) ++count;
    }
    return count;
  }

  WORDLOOM_BOTH float* input_row(std::uint32_t i) const {
    return task_.model.input_row(std::bit_cast<WordId>(x_id_[i]));
  }
  WORDLOOM_BOTH float* output_row(std::uint32_t i) const {
    return task_.model.output_row(std::bit_cast<WordId>(y_id_[i]));
  }

  /// Loads the rows. Absent ones are zeros: their gradients change nothing and are not added.
  WORDLOOM_BOTH void load(const Part& part) const {
    task_.team.each([&](int l) {
      for (auto i = static_cast<std::uint32_t>(l); i < (inputs + outputs) * quads; i += threads) {
        const std::uint32_t r = i / quads, column = i % quads * 4;
        const bool is_input = r < inputs;
        const std::uint32_t in_matrix = is_input ? r : r - inputs;
        Quad value{};
        if (is_input && in_matrix < part.words)
          value = task_.team.load_quad(input_row(in_matrix) + column);
        else if (!is_input && in_matrix < part.negatives)
          value = task_.team.load_quad(output_row(in_matrix) + column);
        Quad::store((is_input ? x_ : y_) + in_matrix * stride + column, value);
      }
      return 0;
    });
  }

  /// Turns scores into gradients, 2 x 2 of them at a time.
  WORDLOOM_BOTH void score(const Part& part) const {
    const auto losses = task_.team.each([&](int l) {
      float loss = 0;
      constexpr std::uint32_t half = outputs / 2;
      for (auto i = static_cast<std::uint32_t>(l); i < inputs / 2 * half; i += threads) {
        const std::uint32_t b = i / half * 2, h = i % half;
        const float *x0 = x_ + b * stride, *x1 = x0 + stride;
        const float *y0 = y_ + h * stride, *y1 = y0 + half * stride;
        float score[2][2] = {};
        for (std::uint32_t column = 0; column < row; column += 4) {
          const Quad xs[2] = {Quad::load(x0 + column), Quad::load(x1 + column)};
          const Quad ys[2] = {Quad::load(y0 + column), Quad::load(y1 + column)};
          WORDLOOM_UNROLL
          for (int d = 0; d < 4; ++d) {
            score[0][0] += xs[0].at[d] * ys[0].at[d];
            score[0][1] += xs[0].at[d] * ys[1].at[d];
            score[1][0] += xs[1].at[d] * ys[0].at[d];
            score[1][1] += xs[1].at[d] * ys[1].at[d];
          }
        }
        WORDLOOM_UNROLL
        for (std::uint32_t p = 0; p < 4; ++p) {
          const std::uint32_t at_x = b + p / 2, at_y = h + p % 2 * half;
          float g = 0;
          if (at_x < part.words && at_y < part.negatives) {
            const FloatPair pair(score[p / 2][p % 2], -weight_[at_x]);
            g = pair.gradient(task_.sentence.learning_rate);
            if (task_.sentence.with_loss) loss += weight_[at_x] * pair.loss();
          }
          by_x_[at_x * by_x_stride + at_y] = g;
          by_y_[at_y * by_y_stride + at_x] = g;
        }
      }
      return loss;
    });
    if (task_.sentence.with_loss) task_.loss.sum += task_.team.sum(losses);
  }

  /// Adds the changes of all rows to the model, four rows x four columns at a time.
  WORDLOOM_BOTH void add_changes(const Part& part) const {
    const auto left = [](std::uint32_t count, std::uint32_t from) {
      return from < count ? count - from : 0;
    };
    task_.team.each([&](int l) {
      for (auto i = static_cast<std::uint32_t>(l); i < (inputs + outputs) / 4 * quads;
           i += threads) {
        const std::uint32_t r = i / quads * 4, column = i % quads * 4;
        if (r < inputs)
          add_product(by_y_ + r, by_y_stride, y_ + column, part.negatives, left(part.words, r),
                      [&](std::uint32_t k) { return input_row(r + k) + column; });
        else
          add_product(by_x_ + (r - inputs), by_x_stride, x_ + column, part.words,
                      left(part.negatives, r - inputs),
                      [&](std::uint32_t k) { return output_row(r - inputs + k) + column; });
      }
      return 0;
    });
  }
  /// Adds the transpose of `gradients` [count x 4] times `rows` [count x 4] to four columns of the
  /// first `changed` of the rows row_of(0) to row_of(3).
  template <class RowOf>
  WORDLOOM_BOTH void add_product(const float* gradients, std::uint32_t gradient_stride,
                                 const float* rows, std::uint32_t count, std::uint32_t changed,
                                 RowOf&& row_of) const {
    if (changed == 0) return;
    Quad change[4] = {};
    for (std::uint32_t i = 0; i < count; ++i) {
      const Quad g = Quad::load(gradients + i * gradient_stride);
      const Quad r = Quad::load(rows + i * stride);
      WORDLOOM_UNROLL
      for (int k = 0; k < 4; ++k) {
        WORDLOOM_UNROLL
        for (int d = 0; d < 4; ++d) change[k].at[d] += g.at[k] * r.at[d];
      }
    }
    WORDLOOM_UNROLL
    for (std::uint32_t k = 0; k < 4; ++k)
      if (k < changed) task_.team.add_quad(row_of(k), change[k]);
  }

  const Task& task_;
  float *x_, *y_;        // [inputs], [outputs] rows
  float *by_x_, *by_y_;  // gradients [inputs][outputs + 4] and [outputs][inputs + 4]
  float* weight_;        // [inputs] of the pairs of each word
  float *x_id_, *y_id_;  // [inputs], [outputs] words, as bits
};

}  // namespace wordloom::cuda
