#pragma once
#include <cstddef>
#include <cstdint>

#include <wordloom/cuda/sentence.hpp>
#include <wordloom/cuda/sentence_scheme.hpp>

namespace wordloom::cuda {

/// Trains a window whose words share their negatives. Each output row `y` stays in registers while
/// it meets all context words, by meet(is_positive, context, y), which changes y and the context's
/// row.
template <class Task, class Meet>
WORDLOOM_BOTH void train_window(const Task& task, std::uint32_t center, Meet&& meet) {
  const auto window = task.window(center, task.reach(center));
  if (window.end - window.first < 2) return;
  for_each_word(task.sampling, task.sentence, center, center * task.sampling.per_window,
                [&](bool positive, WordId word) {
                  typename Task::Row y, before, change;
                  float* const output = task.model.output_row(word);
                  task.team.load(y, output);
                  copy_row(before, y);
                  for (std::uint32_t context = window.first; context < window.end; ++context)
                    if (context != center) meet(positive, context, y);
                  set_difference(change, y, before);
                  task.team.add(output, change);
                });
}

/// The scheme of FULL-Register (Randall et al. 2021, "FULL-W2V"): output rows in registers, context
/// rows from and to the model.
struct RegisterScheme {
  static constexpr std::size_t floats_of_own(const Sampling&, std::size_t) { return 0; }

  template <class Task>
  static WORDLOOM_BOTH void train(const Task& task) {
    using Row = typename Task::Row;
    for (std::uint32_t center = 0; center < task.sentence.size; ++center)
      train_window(task, center, [&](bool positive, std::uint32_t context, Row& y) {
        Row x, x_change;
        float* const input = task.input_row(context);
        task.team.load(x, input);
        const float g = task.gradient(x, y, positive);
        task.clear(x_change);
        add_scaled(x_change, g, y);
        task.team.add(input, x_change);
        add_scaled(y, g, x);
      });
  }
};

}  // namespace wordloom::cuda
