#pragma once
#include <cstddef>
#include <cstdint>

#include <wordloom/cuda/sentence.hpp>

/// Schemes as others have published them.
namespace wordloom::inline WORDLOOM_ABI::cuda {

/// What a window is scored against.
struct Target {
  float* row;
  bool positive;
  float examples;  // that it counts as: 1 for the first of a window
};

/// The centre and its negatives, as targets. `window` numbers the windows of a sentence.
struct WordTargets {
  template <class Task, class Use>
  static WORDLOOM_BOTH void for_each(const Task& task, std::uint32_t center, std::uint32_t window,
                                     Use&& use) {
    const WordId positive = task.sentence.words[center];
    use(Target{task.model.output_row(positive), true, 1.0f});
    const std::uint32_t first = window * task.sampling.per_window;
    for (std::uint32_t k = 0; k < task.sampling.per_window; ++k) {
      const WordId word = task.sampling.negative(task.sentence.random, first + k, positive);
      if (word != no_word) use(Target{task.model.output_row(word), false, 0.0f});
    }
  }
};

/// The path of the centre in the Huffman tree, or both (HuffmanPathAndNegatives).
struct AnyTargets {
  template <class Task, class Use>
  static WORDLOOM_BOTH void for_each(const Task& task, std::uint32_t center, std::uint32_t window,
                                     Use&& use) {
    const Sampling& sampling = task.sampling;
    const WordId positive = task.sentence.words[center];
    float examples = 1.0f;
    const auto use_row = [&](RowId row, bool is_positive) {
      use(Target{task.model.output_row(row), is_positive, examples});
      examples = 0.0f;
    };
    if (sampling.per_window > 0) use_row(sampling.row_of_word(positive), true);
    for (std::uint32_t k = 0; k < sampling.per_window; ++k) {
      const WordId word =
          sampling.negative(task.sentence.random, window * sampling.per_window + k, positive);
      if (word != no_word) use_row(sampling.row_of_word(word), false);
    }
    if (sampling.has_paths)
      for_each_node(
          sampling.paths, task.sentence.random, positive, window,
          [&](RowId node, bool is_positive) { use_row(sampling.row_of_node(node), is_positive); });
  }
};

/// Scores x against the targets of a centre, adds to their rows, and adds the gradient of x times
/// the learning rate to `change`.
template <class Targets, class Task>
WORDLOOM_BOTH void score(const Task& task, std::uint32_t center, std::uint32_t window,
                         const typename Task::Row& x, typename Task::Row& change) {
  Targets::for_each(task, center, window, [&](const Target& target) {
    typename Task::Row y;
    task.team.load(y, target.row);
    const float g = task.gradient(x, y, target.positive, target.examples);
    add_scaled(change, g, y);
    task.add_product(target.row, g, x);
  });
}

/// The scheme of BlazingText (Gupta and Khare 2017) and accSGNS: word2vec as it is. Each pair of
/// words has targets of its own, and each pair reads its rows from the model and adds to them
/// there.
template <class Targets>
struct BasicSentenceScheme {
  static constexpr std::size_t floats_of_own(const Sampling&, std::size_t) { return 0; }

  template <class Task>
  static WORDLOOM_BOTH void train(const Task& task) {
    for (std::uint32_t center = 0; center < task.sentence.size; ++center)
      train_window(task, center);
  }

  /// Trains the window of one centre.
  template <class Task>
  static WORDLOOM_BOTH void train_window(const Task& task, std::uint32_t center) {
    typename Task::Row x, change;
    const std::uint32_t side = task.sampling.max_reach;
    const auto window = task.window(center, task.reach(center));
    for (std::uint32_t context = window.first; context < window.end; ++context) {
      if (context == center) continue;
      const std::uint32_t pair = center * (2 * side + 1) + (context + side - center);
      task.team.load(x, task.input_row(context));
      task.clear(change);
      score<Targets>(task, center, pair, x, change);
      task.team.add(task.input_row(context), change);
    }
  }
};
using SentenceScheme = BasicSentenceScheme<WordTargets>;

/// CBOW (BlazingText trains it too): the mean of a window's rows is scored against the targets of
/// its centre, 1 x M. Reads every row from the model and adds to it there.
struct CbowScheme {
  static constexpr std::size_t floats_of_own(const Sampling&, std::size_t) { return 0; }

  template <class Task>
  static WORDLOOM_BOTH void train(const Task& task) {
    for (std::uint32_t center = 0; center < task.sentence.size; ++center)
      train_window(task, center);
  }

 private:
  template <class Task>
  static WORDLOOM_BOTH void train_window(const Task& task, std::uint32_t center) {
    typename Task::Row sum, member, mean, change;
    const auto window = task.window(center, task.reach(center));
    const std::uint32_t members = window.end - window.first - 1;
    if (members == 0) return;
    const float share = 1.0f / static_cast<float>(members);
    task.clear(sum);
    for (std::uint32_t context = window.first; context < window.end; ++context) {
      if (context == center) continue;
      task.team.load(member, task.input_row(context));
      add_scaled(sum, 1.0f, member);
    }
    task.clear(mean);
    add_scaled(mean, share, sum);
    task.clear(change);
    score<AnyTargets>(task, center, center, mean, change);
    for (std::uint32_t context = window.first; context < window.end; ++context)
      if (context != center)
        task.add_product(task.input_row(context), task.sampling.whole_gradient ? 1.0f : share,
                         change);
  }
};

/// Trains a window whose words share their targets. Each output row `y` stays in registers while
/// it meets all context words, by meet(target, context, y), which changes y and the context's row.
template <class Targets, class Task, class Meet>
WORDLOOM_BOTH void train_window(const Task& task, std::uint32_t center, Meet&& meet) {
  const auto window = task.window(center, task.reach(center));
  if (window.end - window.first < 2) return;
  Targets::for_each(task, center, center, [&](const Target& target) {
    typename Task::Row y, before;
    task.team.load(y, target.row);
    copy_row(before, y);
    for (std::uint32_t context = window.first; context < window.end; ++context)
      if (context != center) meet(target, context, y);
    task.add_difference(target.row, y, before);
  });
}

/// The scheme of FULL-Register (Randall et al. 2021, "FULL-W2V"): output rows in registers, context
/// rows from and to the model.
template <class Targets>
struct BasicRegisterScheme {
  static constexpr std::size_t floats_of_own(const Sampling&, std::size_t) { return 0; }

  template <class Task>
  static WORDLOOM_BOTH void train(const Task& task) {
    using Row = typename Task::Row;
    for (std::uint32_t center = 0; center < task.sentence.size; ++center)
      cuda::train_window<Targets>(
          task, center, [&](const Target& target, std::uint32_t context, Row& y) {
            Row x;
            task.team.load(x, task.input_row(context));
            const float g = task.gradient(x, y, target.positive, target.examples);
            task.add_product(task.input_row(context), g, y);
            add_scaled(y, g, x);
          });
  }
};
using RegisterScheme = BasicRegisterScheme<WordTargets>;

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
      cuda::train_window<WordTargets>(
          task, center, [&](const Target& target, std::uint32_t context, Row& y) {
            Row x, x_before;
            task.team.load_own(x, ring.current(context));
            copy_row(x_before, x);
            const float g = task.gradient(x, y, target.positive, target.examples);
            add_scaled(x, g, y);
            task.team.store_own(ring.current(context), x);
            add_scaled(y, g, x_before);
          });
    }
    ring.leave_all();
  }
};

}  // namespace wordloom::inline WORDLOOM_ABI::cuda
