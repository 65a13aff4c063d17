#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <wordloom/cuda/detail/sentence.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// The sizes of a GemmTile, rows.
struct GemmTileShape {
  static constexpr std::uint32_t inputs = 16, outputs = 32, both = inputs + outputs;
  // Rows and gradients are four floats longer than needed, so that threads that read different rows
  // access different banks.
  static constexpr std::uint32_t by_x_stride = outputs + 4, by_y_stride = inputs + 4;

  /// Returns the memory of a tile in floats, for rows of `row` floats.
  static constexpr std::size_t floats(std::size_t row) {
    return both * (row + 4) + std::size_t{inputs} * by_x_stride +
           std::size_t{outputs} * by_y_stride + inputs + both;
  }
};

/// Trains words of a sentence against shared negatives as products of tiles: up to 16 input rows
/// and 32 output rows in shared memory. All pairs of a tile are scored before any of them changes a
/// row. For teams of warps.
template <class Task>
class GemmTile : GemmTileShape {
 public:
  /// `words` words of the sentence from `first` on and `negatives` negatives from number
  /// `first_negative` on, at most as many as a tile holds.
  struct Part {
    std::uint32_t first, words, first_negative, negatives;
  };

  WORDLOOM_BOTH GemmTile(const Task& task, const Part& part) : task_(task), part_(part) {
    rows_ = task.memory;
    by_x_ = rows_ + both * stride;
    by_y_ = by_x_ + inputs * by_x_stride;
    weight_ = by_y_ + outputs * by_y_stride;
    id_ = weight_ + inputs;
  }

  WORDLOOM_BOTH void train() const {
    draw();
    task_.team.barrier();
    load();
    task_.team.barrier();
    score();
    task_.team.barrier();
    add_changes();
    task_.team.barrier();
  }

 private:
  static constexpr auto row = static_cast<std::uint32_t>(Task::row_size);  // floats
  static constexpr std::uint32_t quads = row / 4, stride = row + 4;

  /// Divides the items below `count` among the threads; each thread gets the sum of its use(item).
  template <class Use>
  WORDLOOM_BOTH auto share(std::uint32_t count, Use use) const {
    return task_.team.each([&](int l) {
      float sum = 0;
      for (auto i = static_cast<std::uint32_t>(l); i < count;
           i += static_cast<std::uint32_t>(Task::Team::threads))
        sum += use(i);
      return sum;
    });
  }

  WORDLOOM_BOTH bool is_there(std::uint32_t r) const {
    return r < inputs ? r < part_.words : r - inputs < part_.negatives;
  }
  WORDLOOM_BOTH float* row_in_model(std::uint32_t r) const {
    return task_.model.row(r < inputs ? 0 : 1, std::bit_cast<WordId>(id_[r]));
  }

  /// Finds the words and their weights, and draws the negatives.
  WORDLOOM_BOTH void draw() const {
    const Sampling& sampling = task_.sampling;
    share(both, [&](std::uint32_t r) {
      if (!is_there(r)) return 0.0f;
      if (r < inputs) {
        id_[r] = std::bit_cast<float>(task_.sentence.words[part_.first + r]);
        weight_[r] = static_cast<float>(sampling.per_window) / static_cast<float>(sampling.shared) *
                     static_cast<float>(windows_of(part_.first + r));
      } else {
        id_[r] = std::bit_cast<float>(
            sampling.negative(task_.sentence.random, part_.first_negative + r - inputs, no_word));
      }
      return 0.0f;
    });
  }
  /// Returns the number of windows in which the word at `position` is context.
  WORDLOOM_BOTH std::uint32_t windows_of(std::uint32_t position) const {
    const auto nearby = task_.window(position, task_.sampling.max_reach);
    std::uint32_t count = 0;
    for (std::uint32_t center = nearby.first; center < nearby.end; ++center) {
      const std::uint32_t distance = center < position ? position - center : center - position;
      if (distance != 0 && distance <= task_.reach(center)) ++count;
    }
    return count;
  }

  /// Loads the rows. Missing ones are zeros: their gradients change nothing and are not added.
  WORDLOOM_BOTH void load() const {
    share(both * quads, [&](std::uint32_t i) {
      const std::uint32_t r = i / quads, column = i % quads * 4;
      Quad value{};
      if (is_there(r)) value = task_.team.load_quad(row_in_model(r) + column);
      Quad::store(rows_ + r * stride + column, value);
      return 0.0f;
    });
  }

  /// Turns scores into gradients, 2 x 2 of them at a time.
  WORDLOOM_BOTH void score() const {
    constexpr std::uint32_t half = outputs / 2;
    const auto losses = share(inputs / 2 * half, [&](std::uint32_t i) {
      const std::uint32_t b = i / half * 2, h = i % half;
      const float *const x = rows_ + b * stride, *const y = rows_ + (inputs + h) * stride;
      float score[4] = {}, loss = 0;
      for (std::uint32_t column = 0; column < row; column += 4) {
        const Quad xs[2] = {Quad::load(x + column), Quad::load(x + stride + column)};
        const Quad ys[2] = {Quad::load(y + column), Quad::load(y + half * stride + column)};
        WORDLOOM_UNROLL
        for (int d = 0; d < 4; ++d) {
          WORDLOOM_UNROLL
          for (int p = 0; p < 4; ++p) score[p] += xs[p / 2].at[d] * ys[p % 2].at[d];
        }
      }
      WORDLOOM_UNROLL
      for (std::uint32_t p = 0; p < 4; ++p) {
        const std::uint32_t at_x = b + p / 2, at_y = h + p % 2 * half;
        float g = 0;
        if (at_x < part_.words && at_y < part_.negatives) {
          const detail::FloatPair pair(score[p], -weight_[at_x]);
          g = pair.gradient(task_.sentence.learning_rate);
          if (task_.sentence.with_loss) loss += weight_[at_x] * pair.loss();
        }
        by_x_[at_x * by_x_stride + at_y] = g;
        by_y_[at_y * by_y_stride + at_x] = g;
      }
      return loss;
    });
    if (task_.sentence.with_loss) task_.loss.sum += task_.team.sum(losses);
  }

  /// Adds the changes of all rows to the model, four rows x four columns at a time: the transpose
  /// of gradients [count x 4] times the rows of the other side [count x 4].
  WORDLOOM_BOTH void add_changes() const {
    share(both / 4 * quads, [&](std::uint32_t i) {
      const std::uint32_t r = i / quads * 4, column = i % quads * 4;
      if (!is_there(r)) return 0.0f;
      const bool is_input = r < inputs;
      const float* gradients = is_input ? by_y_ + r : by_x_ + (r - inputs);
      const std::uint32_t gradient_stride = is_input ? by_y_stride : by_x_stride;
      const float* other = rows_ + (is_input ? inputs * stride : 0) + column;
      const std::uint32_t count = is_input ? part_.negatives : part_.words;
      Quad change[4] = {};
      for (std::uint32_t n = 0; n < count; ++n, gradients += gradient_stride, other += stride) {
        const Quad g = Quad::load(gradients), x = Quad::load(other);
        WORDLOOM_UNROLL
        for (int k = 0; k < 4; ++k) {
          WORDLOOM_UNROLL
          for (int d = 0; d < 4; ++d) change[k].at[d] += g.at[k] * x.at[d];
        }
      }
      WORDLOOM_UNROLL
      for (std::uint32_t k = 0; k < 4; ++k)
        if (is_there(r + k)) task_.team.add_quad(row_in_model(r + k) + column, change[k]);
      return 0.0f;
    });
  }

  const Task& task_;
  Part part_;
  float* rows_;  // [inputs], then [outputs] rows
  float *by_x_,
      *by_y_;            // gradients [inputs][outputs + 4] and [outputs][inputs + 4]
  float *weight_, *id_;  // [inputs] of the pairs of each word, [inputs +
                         // outputs] words, as bits
};

/// The scheme of PAR-Word2Vec (Moon et al. 2019), as SentenceMinibatch. For each sentence it first
/// trains the positives of all windows (attraction), each window by a warp, then the words in
/// minibatches of `Sampling::minibatch` against `Sampling::shared` negatives of their own
/// (repulsion), by GemmTile. Windows that the warps of a team train at the same time are scored
/// before any of them changes a row. The warps add to shared rows in any order: on a device,
/// results are not bit-identical. For teams of warps.
struct GemmScheme {
  static constexpr std::size_t floats_of_own(const Sampling& sampling, std::size_t row) {
    return (std::max)(std::size_t{32} * places(sampling), GemmTileShape::floats(row));
  }

  template <class Task>
  static WORDLOOM_BOTH void train(const Task& task) {
    if (task.sentence.size < 2) return;
    attract(task);
    repel(task);
  }

  /// Trains the words of a sentence in minibatches against shared negatives.
  template <class Task>
  static WORDLOOM_BOTH void repel(const Task& task) {
    const Sampling& sampling = task.sampling;
    const std::uint32_t size = task.sentence.size;
    constexpr std::uint32_t inputs = GemmTileShape::inputs, outputs = GemmTileShape::outputs;
    const auto min = [](std::uint32_t a, std::uint32_t b) { return a < b ? a : b; };
    std::uint32_t number = 0;
    for (std::uint32_t first = 0; first < size; first += sampling.minibatch, ++number) {
      const std::uint32_t end = first + (min)(size - first, sampling.minibatch);
      for (std::uint32_t i = first; i < end; i += inputs)
        for (std::uint32_t h = 0; h < sampling.shared; h += outputs)
          GemmTile<Task>(task, {i, (min)(end - i, inputs), number * sampling.shared + h,
                                (min)(sampling.shared - h, outputs)})
              .train();
    }
  }

 private:
  /// Returns the number of places of the widest window, its centre included.
  static WORDLOOM_BOTH constexpr std::uint32_t places(const Sampling& sampling) {
    return 2 * sampling.max_reach + 1;
  }

  /// Trains the positives of all windows. The gradients of a window stay in memory until all warps
  /// have computed theirs.
  template <class Task>
  static WORDLOOM_BOTH void attract(const Task& task) {
    using Team = typename Task::Team;
    const Team& team = task.team;
    const Sentence& sentence = task.sentence;
    constexpr std::uint32_t warps = Team::threads / Team::width;
    static_assert(warps <= 32);
    const std::uint32_t side = task.sampling.max_reach, all_places = places(task.sampling);
    auto losses = team.each([](int) { return 0.0f; }), positives = losses;
    for (std::uint32_t first = 0; first < sentence.size; first += warps) {
      const auto center =
          team.each([&](int l) { return first + static_cast<std::uint32_t>(l) / Team::width; });
      const auto reach = team.each([&](int l) { return task.reach(team.own(center, l)); });
      const auto output = team.each([&](int l) {
        const std::uint32_t c = team.own(center, l);
        return c < sentence.size ? task.output_row(sentence.words[c]) : nullptr;
      });
      // The input row of the word at `place` of a window, null if there is no such word.
      const auto input_at = [&](std::uint32_t place) {
        return team.each([&](int l) -> float* {
          const std::uint32_t c = team.own(center, l),
                              at = c + place - side;  // may wrap to a large number
          const std::uint32_t distance = place < side ? side - place : place - side;
          if (c >= sentence.size || at >= sentence.size || distance == 0 ||
              distance > team.own(reach, l))
            return nullptr;
          return task.input_row(at);
        });
      };
      const auto gradient_at = [&](std::uint32_t place, int l) -> float& {
        return task.memory[static_cast<std::uint32_t>(l) / Team::width * all_places + place];
      };
      typename Task::Row x, y, change;
      team.load(y, output);
      clear_row(team, change);
      for (std::uint32_t place = 0; place < all_places; ++place) {
        const auto input = input_at(place);
        team.load(x, input);
        const auto score = team.row_sums(partial_dot(x, y));
        const auto pair = [&](int l) { return detail::FloatPair(team.own(score, l), 1.0f); };
        const auto g = team.each([&](int l) {
          const bool is_pair = team.own(input, l) != nullptr;
          const float own = is_pair ? pair(l).gradient(sentence.learning_rate) : 0;
          if (l % Team::width == 0) gradient_at(place, l) = own;
          return own;
        });
        add_scaled(change, g, x);
        if (sentence.with_loss) {
          const auto counts = [&](int l) {
            return l % Team::width == 0 && team.own(input, l) != nullptr;
          };
          losses = losses + team.each([&](int l) { return counts(l) ? pair(l).loss() : 0.0f; });
          positives = positives + team.each([&](int l) { return counts(l) ? 1.0f : 0.0f; });
        }
      }
      team.barrier();
      for (std::uint32_t place = 0; place < all_places; ++place) {
        const auto g = team.each([&](int l) { return gradient_at(place, l); });
        task.add_product(input_at(place), g, y);
      }
      team.add(output, change);
      team.barrier();
    }
    if (!sentence.with_loss) return;
    task.loss.sum += team.sum(losses);
    task.loss.examples += team.sum(positives);
  }
};

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
