#pragma once
#include <cstddef>
#include <cstdint>

#include <wordloom/cuda/arithmetic.hpp>
#include <wordloom/cuda/published.hpp>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"  // int as the size of an array

namespace wordloom::cuda {

/// Sums over a warp of `count` values, a power of two up to 32, together: thread l gets the sum of
/// value l / (32 / count). `count` - 1 + log2(32 / count) shuffles, where one sum after the other
/// would take 5 each.
template <int count, class Team>
WORDLOOM_BOTH auto transposed_sums(const Team& team,
                                   typename Team::template Lanes<float> (&values)[count]) {
  static_assert(Team::width == 32);
  int mask = 16;
  WORDLOOM_UNROLL
  for (int half = count / 2; half > 0; half /= 2, mask /= 2) {
    WORDLOOM_UNROLL
    for (int i = 0; i < half; ++i) {
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

/// The negatives and reaches of a few windows, drawn by all threads of a warp at once.
template <class Team>
class WarpDraws {
 public:
  WORDLOOM_BOTH WarpDraws(const Team& team, const Sampling& sampling, const Sentence& sentence)
      : team_(team), sampling_(sampling), sentence_(sentence), windows_(32 / sampling.per_window) {}

  /// To be called for each centre in turn.
  WORDLOOM_BOTH void move_to(std::uint32_t center) {
    if (!sampling_.fixed_window && center % 32 == 0)
      reaches_ = team_.each([&](int l) {
        return sampling_.reach(sentence_.random, center + static_cast<std::uint32_t>(l));
      });
    if (center != next_) return;
    first_ = center;
    next_ = center + windows_;
    negatives_ = team_.each([&](int l) {
      const std::uint32_t own = center + static_cast<std::uint32_t>(l) / sampling_.per_window;
      if (own >= next_ || own >= sentence_.size) return no_word;
      return sampling_.negative(sentence_.random,
                                center * sampling_.per_window + static_cast<std::uint32_t>(l),
                                sentence_.words[own]);
    });
  }
  WORDLOOM_BOTH std::uint32_t reach(std::uint32_t center) const {
    return sampling_.fixed_window ? sampling_.largest_reach()
                                  : team_.from(reaches_, static_cast<int>(center % 32));
  }
  /// Negative k, 0 to K - 1, of the centre.
  WORDLOOM_BOTH WordId negative(std::uint32_t center, std::uint32_t k) const {
    return team_.from(negatives_, static_cast<int>((center - first_) * sampling_.per_window + k));
  }

 private:
  const Team& team_;
  const Sampling& sampling_;
  const Sentence& sentence_;
  std::uint32_t windows_;  // that 32 threads draw for, K up to 32
  std::uint32_t first_ = 0, next_ = 0;
  typename Team::template Lanes<WordId> negatives_;
  typename Team::template Lanes<std::uint32_t> reaches_;
};

/// Scores of up to `count` contexts with one output, a power of two up to 32, become gradients:
/// thread l gets that of context l / (32 / count), 0 when its bit of `active` is not set.
template <int count, class Team>
WORDLOOM_BOTH auto score_contexts(const Team& team, const Sentence& sentence,
                                  typename Team::template Lanes<float> (&partial)[count],
                                  std::uint32_t active, bool positive, PairLoss& loss) {
  constexpr int threads = 32 / count;  // that hold the same score
  const auto score = transposed_sums<count>(team, partial);
  const auto is_active = [&](int l) { return (active >> (l / threads) & 1u) != 0; };
  if (sentence.with_loss) {
    loss.sum += team.sum(team.each([&](int l) {
      const float own = team.own(score, l);
      return l % threads == 0 && is_active(l) ? minus_log_sigmoid(positive ? own : -own) : 0.0f;
    }));
    for (std::uint32_t rest = positive ? active : 0; rest != 0; rest &= rest - 1)
      loss.positives += 1.0f;
  }
  return team.each([&](int l) {
    return is_active(l) ? gradient(team.own(score, l), positive, sentence.learning_rate) : 0.0f;
  });
}

/// Calls use(k, row) for each output row of a window that is trained: the positive, then its
/// negatives. A row is loaded while the one before it is in use, so that it can arrive: where a
/// word comes twice in succession, the second misses what the first adds.
template <int R, class Team, class Use>
WORDLOOM_BOTH void for_each_output(const Team& team, const ModelView& model,
                                   const WarpDraws<Team>& draws, const Sentence& sentence,
                                   std::uint32_t center, std::uint32_t negatives, Use&& use) {
  typename Team::template Lanes<float> y[R], ahead[R];
  WordId word = sentence.words[center];
  team.load(y, model.output_row(word));
  for (std::uint32_t k = 0; word != no_word;) {
    WordId next = no_word;
    std::uint32_t next_k = k;
    while (next == no_word && next_k < negatives) next = draws.negative(center, next_k++);
    if (next != no_word) team.load(ahead, model.output_row(next));
    use(k == 0, y, model.output_row(word));
    copy_row(y, ahead);
    word = next;
    k = next_k;
  }
}

/// Ours: a warp for each sentence, no barrier at all. The rows of the words round the centre stay
/// in registers from when they enter the window until they leave, `places` of them (an odd number);
/// an output row meets them all at once. Windows up to `places` / 2 to each side.
template <int places>
struct WarpScheme {
  static constexpr std::size_t floats_of_own(const Sampling&, std::size_t row) {
    return places * row;
  }

  template <int R, class Team>
  static WORDLOOM_BOTH void train(const Team& team, const ModelView& model,
                                  const Sampling& sampling, const Sentence& sentence, float* memory,
                                  PairLoss& loss) {
    using Lanes = typename Team::template Lanes<float>;
    constexpr std::uint32_t side = places / 2;
    constexpr int contexts = places - 1;
    constexpr int count = contexts <= 2    ? 2
                          : contexts <= 4  ? 4
                          : contexts <= 8  ? 8
                          : contexts <= 16 ? 16
                                           : 32;
    const std::uint32_t size = sentence.size;
    if (size < 2) return;
    Lanes rows[places][R];  // place i: of the word i - side after the centre
    WORDLOOM_UNROLL
    for (int i = 0; i < places; ++i) clear_row<R>(team, rows[i]);
    const auto loaded = [&](std::uint32_t position) {
      return memory + position % places * static_cast<std::size_t>(Team::width) * R;
    };
    const auto enter = [&](std::uint32_t position, Lanes(&row)[R]) {
      team.load(row, model.input_row(sentence.words[position]));
      team.store_own(loaded(position), row);
    };
    const auto leave = [&](std::uint32_t position, const Lanes(&row)[R]) {
      Lanes before[R], change[R];
      team.load_own(before, loaded(position));
      set_difference(change, row, before);
      team.add(model.input_row(sentence.words[position]), change);
    };
    WORDLOOM_UNROLL
    for (std::uint32_t p = 0; p < side; ++p)
      if (p < size) enter(p, rows[side + 1 + p]);

    WarpDraws<Team> draws(team, sampling, sentence);
    for (std::uint32_t center = 0; center < size; ++center) {
      if (center > side) leave(center - 1 - side, rows[0]);
      WORDLOOM_UNROLL
      for (int i = 0; i + 1 < places; ++i) copy_row(rows[i], rows[i + 1]);
      if (center + side < size) enter(center + side, rows[places - 1]);

      draws.move_to(center);
      const std::uint32_t reach = draws.reach(center);
      const std::uint32_t before = center < reach ? center : reach;
      const std::uint32_t after = size - 1 - center < reach ? size - 1 - center : reach;
      // Bit j: context j of all but the centre.
      const std::uint32_t active = ((std::uint32_t{1} << (before + after)) - 1) << (side - before);
      const auto meet = [&]<bool all>(bool positive, const Lanes(&y)[R], float* output) {
        Lanes partial[count], change[R];
        WORDLOOM_UNROLL
        for (int j = 0; j < count; ++j) {
          if (j < contexts && (all || (active >> j & 1u)))
            partial[j] = partial_dot<R>(team, rows[place_of(j)], y);
          else
            partial[j] = team.each([](int) { return 0.0f; });
        }
        const auto g = score_contexts<count>(team, sentence, partial, active, positive, loss);
        clear_row<R>(team, change);
        WORDLOOM_UNROLL
        for (int j = 0; j < contexts; ++j)
          if (all || (active >> j & 1u)) {
            const float own = team.from(g, j * (32 / count));
            add_scaled(change, own, rows[place_of(j)]);
            add_scaled(rows[place_of(j)], own, y);
          }
        team.add(output, change);
      };
      constexpr std::uint32_t everything = (std::uint32_t{1} << contexts) - 1;
      for_each_output<R>(team, model, draws, sentence, center, sampling.per_window,
                         [&](bool positive, const Lanes(&y)[R], float* output) {
                           if (active == everything)
                             meet.template operator()<true>(positive, y, output);
                           else
                             meet.template operator()<false>(positive, y, output);
                         });
    }
    WORDLOOM_UNROLL
    for (std::uint32_t i = 0; i <= side; ++i)
      if (size - 1 + i >= side) leave(size - 1 + i - side, rows[i]);
  }

 private:
  static WORDLOOM_BOTH constexpr int place_of(int context) {
    return context < places / 2 ? context : context + 1;
  }
};

/// The same with the rows in shared memory, for windows and dimensions that registers cannot hold:
/// an output row meets its contexts eight at a time.
struct SharedWarpScheme {
  static constexpr std::size_t floats_of_own(const Sampling& sampling, std::size_t row) {
    return rows_of_shared_ring(sampling) * row;
  }

  template <int R, class Team>
  static WORDLOOM_BOTH void train(const Team& team, const ModelView& model,
                                  const Sampling& sampling, const Sentence& sentence, float* memory,
                                  PairLoss& loss) {
    using Lanes = typename Team::template Lanes<float>;
    constexpr int count = 8;
    if (sentence.size < 2) return;
    SharedRing<R, Team> ring(team, model, sentence, memory, sampling.largest_reach());
    WarpDraws<Team> draws(team, sampling, sentence);
    for (std::uint32_t center = 0; center < sentence.size; ++center) {
      ring.move_to(center);
      draws.move_to(center);
      const WindowRange window(center, draws.reach(center), sentence.size);
      const std::uint32_t contexts = window.end - window.first - 1;
      const auto row_of = [&](std::uint32_t j) {
        const std::uint32_t position = window.first + j;
        return ring.current(position < center ? position : position + 1);
      };
      for_each_output<R>(
          team, model, draws, sentence, center, sampling.per_window,
          [&](bool positive, const Lanes(&y)[R], float* output) {
            Lanes change[R];
            clear_row<R>(team, change);
            for (std::uint32_t first = 0; first < contexts; first += count) {
              const std::uint32_t here = contexts - first < count ? contexts - first : count;
              Lanes partial[count];
              WORDLOOM_UNROLL
              for (int j = 0; j < count; ++j) {
                partial[j] = team.each([](int) { return 0.0f; });
                if (static_cast<std::uint32_t>(j) < here) {
                  Lanes x[R];
                  team.load_own(x, row_of(first + static_cast<std::uint32_t>(j)));
                  partial[j] = partial_dot<R>(team, x, y);
                }
              }
              const auto g = score_contexts<count>(team, sentence, partial,
                                                   (std::uint32_t{1} << here) - 1, positive, loss);
              WORDLOOM_UNROLL
              for (int j = 0; j < count; ++j)
                if (static_cast<std::uint32_t>(j) < here) {
                  Lanes x[R];
                  float* const row = row_of(first + static_cast<std::uint32_t>(j));
                  team.load_own(x, row);
                  const float own = team.from(g, j * (32 / count));
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

}  // namespace wordloom::cuda

#pragma GCC diagnostic pop
