#pragma once
#include <cstddef>
#include <cstdint>

#include <wordloom/kernel/cuda/arithmetic.hpp>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"  // int as the size of an array

/// The schemes of published GPU trainers, each a sentence by one team. All add their changes to the
/// model atomically.
namespace wordloom::cuda {

/// BlazingText (Gupta and Khare 2017) and accSGNS: word2vec as it is, each pair of words with
/// negatives of its own, each row read from and added to the model for each pair.
struct SentenceScheme {
  static constexpr std::size_t rows_of_own(std::uint32_t) { return 0; }

  template <int R, class Team>
  static WORDLOOM_BOTH void train(const Team& team, const ModelView& model,
                                  const Sampling& sampling, const Sentence& sentence, float*,
                                  PairLoss& loss) {
    using Lanes = typename Team::template Lanes<float>;
    const std::uint32_t largest = sampling.largest_reach();
    for (std::uint32_t center = 0; center < sentence.size; ++center) {
      const WordId positive = sentence.words[center];
      const WindowRange window(center, sampling.reach(sentence.random, center), sentence.size);
      for (std::uint32_t context = window.first; context < window.end; ++context) {
        if (context == center) continue;
        const std::uint32_t pair = center * (2 * largest + 1) + (context + largest - center);
        Lanes x[R], change[R];
        float* const input = model.input_row(sentence.words[context]);
        team.load(x, input);
        clear_row<R>(team, change);
        for (std::uint32_t k = 0; k <= sampling.per_window; ++k) {
          const WordId word = k == 0
                                  ? positive
                                  : sampling.negative(sentence.random,
                                                      pair * sampling.per_window + k - 1, positive);
          if (word == no_word) continue;
          Lanes y[R], g_x[R];
          float* const output = model.output_row(word);
          team.load(y, output);
          const float g = score_pair(sentence, team.sum(partial_dot<R>(team, x, y)), k == 0, loss);
          add_scaled(change, g, y);
          clear_row<R>(team, g_x);
          add_scaled(g_x, g, x);
          team.add(output, g_x);
        }
        team.add(input, change);
      }
    }
  }
};

/// FULL-Register (Randall et al. 2021, "FULL-W2V"): the window shares its negatives, each output
/// row stays in registers while it meets the whole window.
struct RegisterScheme {
  static constexpr std::size_t rows_of_own(std::uint32_t) { return 0; }

  template <int R, class Team>
  static WORDLOOM_BOTH void train(const Team& team, const ModelView& model,
                                  const Sampling& sampling, const Sentence& sentence, float*,
                                  PairLoss& loss) {
    using Lanes = typename Team::template Lanes<float>;
    for (std::uint32_t center = 0; center < sentence.size; ++center) {
      const WordId positive = sentence.words[center];
      const WindowRange window(center, sampling.reach(sentence.random, center), sentence.size);
      if (window.end - window.first < 2) continue;
      for (std::uint32_t k = 0; k <= sampling.per_window; ++k) {
        const WordId word = k == 0
                                ? positive
                                : sampling.negative(sentence.random,
                                                    center * sampling.per_window + k - 1, positive);
        if (word == no_word) continue;
        Lanes y[R], before[R];
        float* const output = model.output_row(word);
        team.load(y, output);
        copy_row(before, y);
        for (std::uint32_t context = window.first; context < window.end; ++context) {
          if (context == center) continue;
          Lanes x[R], g_y[R];
          float* const input = model.input_row(sentence.words[context]);
          team.load(x, input);
          const float g = score_pair(sentence, team.sum(partial_dot<R>(team, x, y)), k == 0, loss);
          clear_row<R>(team, g_y);
          add_scaled(g_y, g, y);
          team.add(input, g_y);
          add_scaled(y, g, x);
        }
        Lanes change[R];
        set_difference(change, y, before);
        team.add(output, change);
      }
    }
  }
};

/// Rows of the words round the centre in memory of the team, from when a word enters the window
/// until it leaves: `current` as training changes it and `loaded` as it was, so that what was
/// changed can be added to the model. Word p of the sentence has place p mod `places`.
template <int R, class Team>
class SharedRing {
 public:
  WORDLOOM_BOTH SharedRing(const Team& team, const ModelView& model, const Sentence& sentence,
                           float* memory, std::uint32_t reach)
      : team_(team), model_(model), sentence_(sentence), memory_(memory), places_(2 * reach + 1) {}

  WORDLOOM_BOTH float* current(std::uint32_t position) const {
    return memory_ + std::size_t{position % places_} * 2 * row;
  }
  /// Makes the words of [first, end) be there; both only grow.
  WORDLOOM_BOTH void move_to(std::uint32_t first, std::uint32_t end) {
    for (; first_ < first; ++first_) leave(first_);
    for (; end_ < end; ++end_) enter(end_);
  }

 private:
  static constexpr std::size_t row = static_cast<std::size_t>(Team::width) * R;

  WORDLOOM_BOTH void enter(std::uint32_t position) {
    typename Team::template Lanes<float> x[R];
    team_.load(x, model_.input_row(sentence_.words[position]));
    team_.store_own(current(position), x);
    team_.store_own(current(position) + row, x);
  }
  WORDLOOM_BOTH void leave(std::uint32_t position) {
    typename Team::template Lanes<float> x[R], loaded[R], change[R];
    team_.load_own(x, current(position));
    team_.load_own(loaded, current(position) + row);
    set_difference(change, x, loaded);
    team_.add(model_.input_row(sentence_.words[position]), change);
  }

  const Team& team_;
  const ModelView& model_;
  const Sentence& sentence_;
  float* memory_;
  std::uint32_t places_;
  std::uint32_t first_ = 0, end_ = 0;
};

/// FULL-W2V: as RegisterScheme, and context rows stay in shared memory while they are in the
/// window.
struct RingBufferScheme {
  /// Of width x R floats.
  static constexpr std::size_t rows_of_own(std::uint32_t reach) { return 2 * (2 * reach + 1); }

  template <int R, class Team>
  static WORDLOOM_BOTH void train(const Team& team, const ModelView& model,
                                  const Sampling& sampling, const Sentence& sentence, float* memory,
                                  PairLoss& loss) {
    using Lanes = typename Team::template Lanes<float>;
    if (sentence.size < 2) return;
    const std::uint32_t largest = sampling.largest_reach();
    SharedRing<R, Team> ring(team, model, sentence, memory, largest);
    for (std::uint32_t center = 0; center < sentence.size; ++center) {
      const WordId positive = sentence.words[center];
      const WindowRange most(center, largest, sentence.size);
      ring.move_to(most.first, most.end);
      const WindowRange window(center, sampling.reach(sentence.random, center), sentence.size);
      for (std::uint32_t k = 0; k <= sampling.per_window; ++k) {
        const WordId word = k == 0
                                ? positive
                                : sampling.negative(sentence.random,
                                                    center * sampling.per_window + k - 1, positive);
        if (word == no_word) continue;
        Lanes y[R], before[R];
        float* const output = model.output_row(word);
        team.load(y, output);
        copy_row(before, y);
        for (std::uint32_t context = window.first; context < window.end; ++context) {
          if (context == center) continue;
          Lanes x[R], x_before[R];
          team.load_own(x, ring.current(context));
          copy_row(x_before, x);
          const float g = score_pair(sentence, team.sum(partial_dot<R>(team, x, y)), k == 0, loss);
          add_scaled(x, g, y);
          team.store_own(ring.current(context), x);
          add_scaled(y, g, x_before);
        }
        Lanes change[R];
        set_difference(change, y, before);
        team.add(output, change);
      }
    }
    ring.move_to(sentence.size, sentence.size);
  }
};

}  // namespace wordloom::cuda

#pragma GCC diagnostic pop
