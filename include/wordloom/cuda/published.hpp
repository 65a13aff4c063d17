#pragma once
#include <cstddef>
#include <cstdint>

#include <wordloom/cuda/arithmetic.hpp>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"  // int as the size of an array

/// The schemes of published GPU trainers, each a sentence by one team. All add their changes to the
/// model atomically. `floats_of_own(sampling, row)`: memory that a team needs for rows of so many
/// floats.
namespace wordloom::cuda {

/// Calls use(is_positive, word) for the centre of a window and then for its negatives, of which
/// `first` is the first one's number in the sentence.
template <class Use>
WORDLOOM_BOTH void for_each_word(const Sampling& sampling, const Sentence& sentence,
                                 std::uint32_t center, std::uint32_t first, Use&& use) {
  const WordId positive = sentence.words[center];
  use(true, positive);
  for (std::uint32_t k = 0; k < sampling.per_window; ++k) {
    const WordId word = sampling.negative(sentence.random, first + k, positive);
    if (word != no_word) use(false, word);
  }
}

/// BlazingText (Gupta and Khare 2017) and accSGNS: word2vec as it is, each pair of words with
/// negatives of its own, each row read from and added to the model for each pair.
struct SentenceScheme {
  static constexpr std::size_t floats_of_own(const Sampling&, std::size_t) { return 0; }

  template <int R, class Team>
  static WORDLOOM_BOTH void train(const Team& team, const ModelView& model,
                                  const Sampling& sampling, const Sentence& sentence, float*,
                                  PairLoss& loss) {
    for (std::uint32_t center = 0; center < sentence.size; ++center)
      train_window<R>(team, model, sampling, sentence, center, loss);
  }

  /// One window of it.
  template <int R, class Team>
  static WORDLOOM_BOTH void train_window(const Team& team, const ModelView& model,
                                         const Sampling& sampling, const Sentence& sentence,
                                         std::uint32_t center, PairLoss& loss) {
    using Lanes = typename Team::template Lanes<float>;
    const std::uint32_t largest = sampling.largest_reach();
    const WindowRange window(center, sampling.reach(sentence.random, center), sentence.size);
    for (std::uint32_t context = window.first; context < window.end; ++context) {
      if (context == center) continue;
      const std::uint32_t pair = center * (2 * largest + 1) + (context + largest - center);
      Lanes x[R], change[R];
      float* const input = model.input_row(sentence.words[context]);
      team.load(x, input);
      clear_row<R>(team, change);
      for_each_word(sampling, sentence, center, pair * sampling.per_window,
                    [&](bool positive, WordId word) {
                      Lanes y[R], g_x[R];
                      float* const output = model.output_row(word);
                      team.load(y, output);
                      const float score = team.sum(partial_dot<R>(team, x, y));
                      const float g = score_pair(sentence, score, positive, loss);
                      add_scaled(change, g, y);
                      clear_row<R>(team, g_x);
                      add_scaled(g_x, g, x);
                      team.add(output, g_x);
                    });
      team.add(input, change);
    }
  }
};

/// A window whose words share their negatives: each output row stays in registers while it meets
/// all context words, by meet(is_positive, context, y), which changes y and the context's row.
template <int R, class Team, class Meet>
WORDLOOM_BOTH void train_window(const Team& team, const ModelView& model, const Sampling& sampling,
                                const Sentence& sentence, std::uint32_t center, Meet&& meet) {
  const WindowRange window(center, sampling.reach(sentence.random, center), sentence.size);
  if (window.end - window.first < 2) return;
  for_each_word(sampling, sentence, center, center * sampling.per_window,
                [&](bool positive, WordId word) {
                  typename Team::template Lanes<float> y[R], before[R], change[R];
                  float* const output = model.output_row(word);
                  team.load(y, output);
                  copy_row(before, y);
                  for (std::uint32_t context = window.first; context < window.end; ++context)
                    if (context != center) meet(positive, context, y);
                  set_difference(change, y, before);
                  team.add(output, change);
                });
}

/// FULL-Register (Randall et al. 2021, "FULL-W2V"): output rows in registers, context rows from and
/// to the model.
struct RegisterScheme {
  static constexpr std::size_t floats_of_own(const Sampling&, std::size_t) { return 0; }

  template <int R, class Team>
  static WORDLOOM_BOTH void train(const Team& team, const ModelView& model,
                                  const Sampling& sampling, const Sentence& sentence, float*,
                                  PairLoss& loss) {
    using Lanes = typename Team::template Lanes<float>;
    for (std::uint32_t center = 0; center < sentence.size; ++center)
      train_window<R>(team, model, sampling, sentence, center,
                      [&](bool positive, std::uint32_t context, Lanes(&y)[R]) {
                        Lanes x[R], g_y[R];
                        float* const input = model.input_row(sentence.words[context]);
                        team.load(x, input);
                        const float score = team.sum(partial_dot<R>(team, x, y));
                        const float g = score_pair(sentence, score, positive, loss);
                        clear_row<R>(team, g_y);
                        add_scaled(g_y, g, y);
                        team.add(input, g_y);
                        add_scaled(y, g, x);
                      });
  }
};

/// What a SharedRing needs.
constexpr std::size_t rows_of_shared_ring(const Sampling& sampling) {
  return 2 * (2 * std::size_t{sampling.largest_reach()} + 1);
}

/// Rows of the words round the centre in memory of the team, from when a word enters the window
/// until it leaves: `current` as training changes it and `loaded` as it was, so that what was
/// changed can be added to the model. Word p of the sentence has place p mod `places`.
template <int R, class Team>
class SharedRing {
 public:
  WORDLOOM_BOTH SharedRing(const Team& team, const ModelView& model, const Sentence& sentence,
                           float* memory, std::uint32_t reach)
      : team_(team), model_(model), sentence_(sentence), memory_(memory), reach_(reach) {}

  WORDLOOM_BOTH float* current(std::uint32_t position) const {
    return memory_ + std::size_t{position % (2 * reach_ + 1)} * 2 * row;
  }
  /// Makes the words of the widest window round each centre be there, for one centre after the
  /// other.
  WORDLOOM_BOTH void move_to(std::uint32_t center) {
    const WindowRange window(center, reach_, sentence_.size);
    for (; first_ < window.first; ++first_) leave(first_);
    for (; end_ < window.end; ++end_) enter(end_);
  }
  WORDLOOM_BOTH void leave_all() {
    for (; first_ < end_; ++first_) leave(first_);
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
  std::uint32_t reach_;
  std::uint32_t first_ = 0, end_ = 0;
};

/// FULL-W2V: as RegisterScheme, and context rows stay in shared memory while they are in the
/// window.
struct RingBufferScheme {
  static constexpr std::size_t floats_of_own(const Sampling& sampling, std::size_t row) {
    return rows_of_shared_ring(sampling) * row;
  }

  template <int R, class Team>
  static WORDLOOM_BOTH void train(const Team& team, const ModelView& model,
                                  const Sampling& sampling, const Sentence& sentence, float* memory,
                                  PairLoss& loss) {
    using Lanes = typename Team::template Lanes<float>;
    SharedRing<R, Team> ring(team, model, sentence, memory, sampling.largest_reach());
    for (std::uint32_t center = 0; center < sentence.size; ++center) {
      ring.move_to(center);
      train_window<R>(team, model, sampling, sentence, center,
                      [&](bool positive, std::uint32_t context, Lanes(&y)[R]) {
                        Lanes x[R], x_before[R];
                        team.load_own(x, ring.current(context));
                        copy_row(x_before, x);
                        const float score = team.sum(partial_dot<R>(team, x, y));
                        const float g = score_pair(sentence, score, positive, loss);
                        add_scaled(x, g, y);
                        team.store_own(ring.current(context), x);
                        add_scaled(y, g, x_before);
                      });
    }
    ring.leave_all();
  }
};

}  // namespace wordloom::cuda

#pragma GCC diagnostic pop
