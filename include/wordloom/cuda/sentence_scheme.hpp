#pragma once
#include <cstddef>
#include <cstdint>

#include <wordloom/cuda/sentence.hpp>

namespace wordloom::cuda {

/// Calls use(is_positive, word) for the centre of a window, then for its negatives. The first of
/// these is the `first`-th negative of the sentence.
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

/// The scheme of BlazingText (Gupta and Khare 2017) and accSGNS: word2vec as it is. Each pair of
/// words has negatives of its own, and each pair reads its rows from the model and adds to them
/// there.
struct SentenceScheme {
  static constexpr std::size_t floats_of_own(const Sampling&, std::size_t) { return 0; }

  template <class Task>
  static WORDLOOM_BOTH void train(const Task& task) {
    for (std::uint32_t center = 0; center < task.sentence.size; ++center)
      train_window(task, center);
  }

  /// Trains the window of one centre.
  template <class Task>
  static WORDLOOM_BOTH void train_window(const Task& task, std::uint32_t center) {
    typename Task::Row x, y, change, y_change;
    const std::uint32_t side = task.sampling.max_reach;
    const auto window = task.window(center, task.reach(center));
    for (std::uint32_t context = window.first; context < window.end; ++context) {
      if (context == center) continue;
      const std::uint32_t pair = center * (2 * side + 1) + (context + side - center);
      task.team.load(x, task.input_row(context));
      task.clear(change);
      for_each_word(task.sampling, task.sentence, center, pair * task.sampling.per_window,
                    [&](bool positive, WordId word) {
                      float* const output = task.model.output_row(word);
                      task.team.load(y, output);
                      const float g = task.gradient(x, y, positive);
                      add_scaled(change, g, y);
                      task.clear(y_change);
                      add_scaled(y_change, g, x);
                      task.team.add(output, y_change);
                    });
      task.team.add(task.input_row(context), change);
    }
  }
};

}  // namespace wordloom::cuda
