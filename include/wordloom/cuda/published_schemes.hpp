#pragma once
#include <cstddef>
#include <cstdint>

#include <wordloom/cuda/sentence.hpp>

/// Schemes as others have published them.
namespace wordloom::inline WORDLOOM_ABI::cuda {

/// Calls use(is_positive, output_row) for the centre of a window, then for its negatives. The first
/// of these is the `first`-th negative of the sentence.
template <class Task, class Use>
WORDLOOM_BOTH void for_each_word(const Task& task, std::uint32_t center, std::uint32_t first,
                                 Use&& use) {
  const WordId positive = task.sentence.words[center];
  use(true, task.model.output_row(positive));
  for (std::uint32_t k = 0; k < task.sampling.per_window; ++k) {
    const WordId word = task.sampling.negative(task.sentence.random, first + k, positive);
    if (word != no_word) use(false, task.model.output_row(word));
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
    typename Task::Row x, y, change;
    const std::uint32_t side = task.sampling.max_reach;
    const auto window = task.window(center, task.reach(center));
    for (std::uint32_t context = window.first; context < window.end; ++context) {
      if (context == center) continue;
      const std::uint32_t pair = center * (2 * side + 1) + (context + side - center);
      task.team.load(x, task.input_row(context));
      task.clear(change);
      for_each_word(task, center, pair * task.sampling.per_window,
                    [&](bool positive, float* output) {
                      task.team.load(y, output);
                      const float g = task.gradient(x, y, positive);
                      add_scaled(change, g, y);
                      task.add_product(output, g, x);
                    });
      task.team.add(task.input_row(context), change);
    }
  }
};

/// Trains a window whose words share their negatives. Each output row `y` stays in registers while
/// it meets all context words, by meet(is_positive, context, y), which changes y and the context's
/// row.
template <class Task, class Meet>
WORDLOOM_BOTH void train_window(const Task& task, std::uint32_t center, Meet&& meet) {
  const auto window = task.window(center, task.reach(center));
  if (window.end - window.first < 2) return;
  for_each_word(task, center, center * task.sampling.per_window, [&](bool positive, float* output) {
    typename Task::Row y, before;
    task.team.load(y, output);
    copy_row(before, y);
    for (std::uint32_t context = window.first; context < window.end; ++context)
      if (context != center) meet(positive, context, y);
    task.add_difference(output, y, before);
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
        Row x;
        task.team.load(x, task.input_row(context));
        const float g = task.gradient(x, y, positive);
        task.add_product(task.input_row(context), g, y);
        add_scaled(y, g, x);
      });
  }
};

/// The rows of the words round the centre, in the team's memory from when a word enters the widest
/// window until it leaves: `current` as training changes it, and a copy as it was loaded, so that
/// its change can be added to the model. Word p of the sentence has slot p mod (2 max_reach + 1).
template <class Task>
class SharedRing {
 public:
  WORDLOOM_BOTH explicit SharedRing(const Task& task) : task_(task) {}

  WORDLOOM_BOTH float* current(std::uint32_t position) const {
    return task_.memory +
           std::size_t{position % (2 * task_.sampling.max_reach + 1)} * 2 * Task::row_size;
  }
  /// Loads the words of the widest window round `center`, which must be the next one, and adds the
  /// changes of those that leave it.
  WORDLOOM_BOTH void move_to(std::uint32_t center) {
    const auto window = task_.window(center, task_.sampling.max_reach);
    leave_until(window.first);
    for (; end_ < window.end; ++end_) {
      typename Task::Row x;
      task_.team.load(x, task_.input_row(end_));
      task_.team.store_own(current(end_), x);
      task_.team.store_own(current(end_) + Task::row_size, x);
    }
  }
  WORDLOOM_BOTH void leave_all() { leave_until(end_); }

 private:
  WORDLOOM_BOTH void leave_until(std::uint32_t end) {
    for (; first_ < end; ++first_) {
      typename Task::Row x, loaded;
      task_.team.load_own(x, current(first_));
      task_.team.load_own(loaded, current(first_) + Task::row_size);
      task_.add_difference(task_.input_row(first_), x, loaded);
    }
  }

  const Task& task_;
  std::uint32_t first_ = 0, end_ = 0;  // of the words in the ring
};

/// The memory of a scheme whose context rows are in a SharedRing.
struct RingScheme {
  static constexpr std::size_t floats_of_own(const Sampling& sampling, std::size_t row) {
    return 2 * (2 * std::size_t{sampling.max_reach} + 1) * row;
  }
};

/// The scheme of FULL-W2V: as RegisterScheme, and context rows stay in shared memory while they are
/// in the window.
struct RingBufferScheme : RingScheme {
  template <class Task>
  static WORDLOOM_BOTH void train(const Task& task) {
    using Row = typename Task::Row;
    SharedRing<Task> ring(task);
    for (std::uint32_t center = 0; center < task.sentence.size; ++center) {
      ring.move_to(center);
      train_window(task, center, [&](bool positive, std::uint32_t context, Row& y) {
        Row x, x_before;
        task.team.load_own(x, ring.current(context));
        copy_row(x_before, x);
        const float g = task.gradient(x, y, positive);
        add_scaled(x, g, y);
        task.team.store_own(ring.current(context), x);
        add_scaled(y, g, x_before);
      });
    }
    ring.leave_all();
  }
};

}  // namespace wordloom::inline WORDLOOM_ABI::cuda
