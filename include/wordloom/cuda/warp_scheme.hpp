#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

#include <wordloom/cuda/published_schemes.hpp>
#include <wordloom/cuda/sentence.hpp>

namespace wordloom::inline WORDLOOM_ABI::cuda {

/// Sums each of `count` values, a power of two up to 32, over a warp: thread l gets the sum of
/// value l / (32 / count). Takes `count` - 1 + log2(32 / count) shuffles, where one sum after the
/// other would take 5 each.
template <class Team, class Lanes, std::size_t count>
WORDLOOM_BOTH auto transposed_sums(const Team& team, Lanes (&values)[count]) {
  static_assert(Team::width == 32);
  int mask = 16;
  WORDLOOM_UNROLL
  for (std::size_t half = count / 2; half > 0; half /= 2, mask /= 2) {
    WORDLOOM_UNROLL
    for (std::size_t i = 0; i < half; ++i) {
      const auto kept = team.each([&](int l) {
        return (l & mask) != 0 ? team.own(values[i + half], l) : team.own(values[i], l);
      });
      const auto sent = team.each([&](int l) {
        return (l & mask) != 0 ? team.own(values[i], l) : team.own(values[i + half], l);
      });
      values[i] = kept + team.shuffle_xor(sent, mask);
    }
  }
  WORDLOOM_UNROLL
  for (; mask > 0; mask /= 2) values[0] = values[0] + team.shuffle_xor(values[0], mask);
  return values[0];
}

/// The negatives and reaches of successive windows, drawn by all threads of a warp at once.
template <class Task>
class WarpDraws {
 public:
  WORDLOOM_BOTH explicit WarpDraws(const Task& task)
      : task_(task), windows_(32 / task.sampling.per_window) {}

  /// Draws what the window of `center` needs. Must be called for each centre in turn.
  WORDLOOM_BOTH void move_to(std::uint32_t center) {
    const Sampling& sampling = task_.sampling;
    if (!sampling.fixed_window && center % 32 == 0)
      reaches_ = task_.team.each(
          [&](int l) { return task_.reach(center + static_cast<std::uint32_t>(l)); });
    if (center != next_) return;
    first_ = center;
    next_ = center + windows_;
    negatives_ = task_.team.each([&](int l) {
      const std::uint32_t own = center + static_cast<std::uint32_t>(l) / sampling.per_window;
      if (own >= next_ || own >= task_.sentence.size) return no_word;
      return sampling.negative(task_.sentence.random,
                               center * sampling.per_window + static_cast<std::uint32_t>(l),
                               task_.sentence.words[own]);
    });
  }
  WORDLOOM_BOTH std::uint32_t reach(std::uint32_t center) const {
    return task_.sampling.fixed_window ? task_.sampling.max_reach
                                       : task_.team.from(reaches_, static_cast<int>(center % 32));
  }
  /// Negative k, 0 to K - 1, of a centre; no_word where it is left out.
  WORDLOOM_BOTH WordId negative(std::uint32_t center, std::uint32_t k) const {
    return task_.team.from(negatives_,
                           static_cast<int>((center - first_) * task_.sampling.per_window + k));
  }

 private:
  const Task& task_;
  std::uint32_t windows_;               // that 32 threads draw negatives for; K is at most 32
  std::uint32_t first_ = 0, next_ = 0;  // the centres that negatives are drawn for
  typename Task::Team::template Lanes<WordId> negatives_;
  typename Task::Team::template Lanes<std::uint32_t> reaches_;
};

/// Turns the scores of up to `count` contexts, a power of two up to 32, with one output into
/// gradients: thread l gets that of context l / (32 / count), 0 when its bit of `active` is not
/// set.
template <class Task, class Lanes, std::size_t count>
WORDLOOM_BOTH auto score_contexts(const Task& task, Lanes (&partial)[count], std::uint32_t active,
                                  bool positive) {
  constexpr int threads = 32 / static_cast<int>(count);  // that hold the same score
  const auto score = transposed_sums(task.team, partial);
  const auto is_active = [&](int l) { return (active >> (l / threads) & 1u) != 0; };
  const auto pair = [&](int l) {
    return FloatPair(task.team.own(score, l), pair_weight(positive));
  };
  if (task.sentence.with_loss) {
    task.loss.sum += task.team.sum(task.team.each(
        [&](int l) { return l % threads == 0 && is_active(l) ? pair(l).loss() : 0.0f; }));
    for (std::uint32_t rest = positive ? active : 0; rest != 0; rest &= rest - 1)
      task.loss.examples += 1.0f;
  }
  return task.team.each(
      [&](int l) { return is_active(l) ? pair(l).gradient(task.sentence.learning_rate) : 0.0f; });
}

/// Calls use(is_positive, values, row) for each output row of a window: the positive, then its
/// negatives. A row is loaded while the one before it is in use: where a word comes twice in
/// succession, the second load misses what the first use adds.
template <class Task, class Use>
WORDLOOM_BOTH void for_each_output(const Task& task, const WarpDraws<Task>& draws,
                                   std::uint32_t center, Use&& use) {
  typename Task::Row y, ahead;
  WordId word = task.sentence.words[center];
  task.team.load(y, task.model.output_row(word));
  for (std::uint32_t k = 0; word != no_word;) {
    WordId next = no_word;
    std::uint32_t next_k = k;
    while (next == no_word && next_k < task.sampling.per_window)
      next = draws.negative(center, next_k++);
    if (next != no_word) task.team.load(ahead, task.model.output_row(next));
    use(k == 0, y, task.model.output_row(word));
    copy_row(y, ahead);
    word = next;
    k = next_k;
  }
}

/// Ours: a warp for each sentence, without any barrier. The rows of the words round the centre stay
/// in registers from when they enter the widest window until they leave it, `places` of them (an
/// odd number); an output row meets them all at once. For windows up to `places` / 2 to each side.
template <unsigned places>
struct WarpScheme {
  static constexpr std::size_t floats_of_own(const Sampling&, std::size_t row) {
    return places * row;
  }

  template <class Task>
  static WORDLOOM_BOTH void train(const Task& task) {
    using Row = typename Task::Row;
    constexpr unsigned side = places / 2, contexts = places - 1;
    constexpr unsigned count = contexts <= 2 ? 2 : std::bit_ceil(contexts);
    const auto& team = task.team;
    const std::uint32_t size = task.sentence.size;
    if (size < 2) return;
    Row rows[places];  // place i: the row of word center + i - side
    WORDLOOM_UNROLL
    for (unsigned i = 0; i < places; ++i) task.clear(rows[i]);
    const auto loaded = [&](std::uint32_t position) {
      return task.memory + position % places * Task::row_size;
    };
    const auto enter = [&](std::uint32_t position, Row& row) {
      team.load(row, task.input_row(position));
      team.store_own(loaded(position), row);
    };
    const auto leave = [&](std::uint32_t position, const Row& row) {
      Row before;
      team.load_own(before, loaded(position));
      task.add_difference(task.input_row(position), row, before);
    };
    WORDLOOM_UNROLL
    for (unsigned p = 0; p < side; ++p)
      if (p < size) enter(p, rows[side + 1 + p]);

    WarpDraws<Task> draws(task);
    for (std::uint32_t center = 0; center < size; ++center) {
      if (center > side) leave(center - 1 - side, rows[0]);
      WORDLOOM_UNROLL
      for (unsigned i = 0; i + 1 < places; ++i) copy_row(rows[i], rows[i + 1]);
      if (center + side < size) enter(center + side, rows[places - 1]);

      draws.move_to(center);
      const std::uint32_t reach = draws.reach(center);
      const std::uint32_t before = center < reach ? center : reach;
      const std::uint32_t after = size - 1 - center < reach ? size - 1 - center : reach;
      // Bit j: context j, the centre left out, is in the window.
      const std::uint32_t active = ((std::uint32_t{1} << (before + after)) - 1) << (side - before);
      const auto meet = [&]<bool all>(bool positive, const Row& y, float* output) {
        typename Task::Team::template Lanes<float> partial[count];
        Row change;
        WORDLOOM_UNROLL
        for (unsigned j = 0; j < count; ++j) {
          if (j < contexts && (all || (active >> j & 1u)))
            partial[j] = task.partial_dot(rows[place_of(j)], y);
          else
            partial[j] = team.each([](int) { return 0.0f; });
        }
        const auto g = score_contexts(task, partial, active, positive);
        task.clear(change);
        WORDLOOM_UNROLL
        for (unsigned j = 0; j < contexts; ++j)
          if (all || (active >> j & 1u)) {
            const float own = team.from(g, static_cast<int>(j * (32 / count)));
            add_scaled(change, own, rows[place_of(j)]);
            add_scaled(rows[place_of(j)], own, y);
          }
        team.add(output, change);
      };
      constexpr std::uint32_t everything = (std::uint32_t{1} << contexts) - 1;
      for_each_output(task, draws, center, [&](bool positive, const Row& y, float* output) {
        if (active == everything)
          meet.template operator()<true>(positive, y, output);
        else
          meet.template operator()<false>(positive, y, output);
      });
    }
    WORDLOOM_UNROLL
    for (unsigned i = 0; i <= side; ++i)
      if (size - 1 + i >= side) leave(size - 1 + i - side, rows[i]);
  }

 private:
  static WORDLOOM_BOTH constexpr unsigned place_of(unsigned context) {
    return context < places / 2 ? context : context + 1;
  }
};

/// The same with the rows in shared memory, for windows and dimensions that registers cannot hold.
/// An output row meets its contexts eight at a time.
struct SharedWarpScheme : RingScheme {
  template <class Task>
  static WORDLOOM_BOTH void train(const Task& task) {
    using Row = typename Task::Row;
    constexpr unsigned count = 8;
    const auto& team = task.team;
    if (task.sentence.size < 2) return;
    SharedRing<Task> ring(task);
    WarpDraws<Task> draws(task);
    for (std::uint32_t center = 0; center < task.sentence.size; ++center) {
      ring.move_to(center);
      draws.move_to(center);
      const auto window = task.window(center, draws.reach(center));
      const std::uint32_t contexts = window.end - window.first - 1;
      const auto row_of = [&](std::uint32_t j) {
        const std::uint32_t position = window.first + j;
        return ring.current(position < center ? position : position + 1);
      };
      for_each_output(task, draws, center, [&](bool positive, const Row& y, float* output) {
        Row x, change;
        task.clear(change);
        for (std::uint32_t first = 0; first < contexts; first += count) {
          const std::uint32_t here = contexts - first < count ? contexts - first : count;
          typename Task::Team::template Lanes<float> partial[count];
          WORDLOOM_UNROLL
          for (unsigned j = 0; j < count; ++j) {
            partial[j] = team.each([](int) { return 0.0f; });
            if (j < here) {
              team.load_own(x, row_of(first + j));
              partial[j] = task.partial_dot(x, y);
            }
          }
          const auto g = score_contexts(task, partial, (std::uint32_t{1} << here) - 1, positive);
          WORDLOOM_UNROLL
          for (unsigned j = 0; j < count; ++j)
            if (j < here) {
              float* const row = row_of(first + j);
              team.load_own(x, row);
              const float own = team.from(g, static_cast<int>(j * (32 / count)));
              add_scaled(change, own, x);
              add_scaled(x, own, y);
              team.store_own(row, x);
            }
        }
        team.add(output, change);
      });
    }
    ring.leave_all();
  }
};

}  // namespace wordloom::inline WORDLOOM_ABI::cuda
