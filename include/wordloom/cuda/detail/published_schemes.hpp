#pragma once
#include <cstddef>
#include <cstdint>

#include <wordloom/cuda/detail/draws.hpp>
#include <wordloom/cuda/detail/sentence.hpp>

/// Published schemes. Those with a ring are in ring_schemes.hpp.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// An output that a window is scored against.
struct Target {
  float* row;
  bool positive;
  float examples;  // the number of examples it counts as: 1 for the first of a window
};

/// The centre and its negatives, as targets. `window` numbers the windows of a sentence.
struct WordTargets {
  template <class Task, class Use>
  static WORDLOOM_BOTH void for_each(const Task& task, std::uint32_t center, std::uint32_t window,
                                     Use&& use) {
    const WordId positive = task.sentence.words[center];
    use(Target{task.output_row(positive), true, 1.0f});
    const std::uint32_t first = window * task.sampling.per_window;
    std::uint32_t k = 0;
    WORDLOOM_NO_UNROLL
    do {
      WORDLOOM_MARK(15);
      const WordId word = task.sampling.negative(task.sentence.random, first + k, positive);
      if (word != no_word) use(Target{task.output_row(word), false, 0.0f});
    } while (++k < task.sampling.per_window);
  }
};

/// The path of the centre in the Huffman tree, or path and negatives (HuffmanPathAndNegatives).
struct AnyTargets {
  template <class Task, class Use>
  static WORDLOOM_BOTH void for_each(const Task& task, std::uint32_t center, std::uint32_t window,
                                     Use&& use) {
    const Sampling& sampling = task.sampling;
    const WordId positive = task.sentence.words[center];
    float examples = 1.0f;
    const auto use_row = [&](RowId row, bool is_positive) {
      use(Target{task.output_row(row), is_positive, examples});
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
    WORDLOOM_MARK(6);
    typename Task::Row y;
    task.team.load(y, target.row);
    const float g = task.gradient(x, y, target.positive, target.examples);
    add_scaled(change, g, y);
    task.add_product(target.row, g, x);
  });
}

/// Calls use(context) for each word of the window of `center`, except the centre.
template <class Use>
WORDLOOM_BOTH void for_each_context(const detail::WindowRange<std::uint32_t>& window,
                                    std::uint32_t center, Use&& use) {
  std::uint32_t context = window.first;  // a window contains at least its centre
  WORDLOOM_NO_UNROLL
  do {
    WORDLOOM_MARK(14);
    if (context == center) {
      WORDLOOM_MARK(16);
      continue;
    }
    WORDLOOM_MARK(7);
    use(context);
  } while (++context < window.end);
}

/// Trains a sentence by train_window(task, center) of `Scheme`, which needs no memory of its own.
template <class Scheme>
struct WindowByWindow {
  static constexpr std::size_t floats_of_own(const Sampling&, std::size_t) { return 0; }

  template <class Task>
  static WORDLOOM_BOTH void train(const Task& task) {
    for (std::uint32_t center = 0; center < task.sentence.size; ++center)
      Scheme::train_window(task, center);
  }
};

/// The scheme of BlazingText (Gupta and Khare 2017) and accSGNS: unchanged word2vec. Each pair of
/// words has targets of its own, and each pair reads its rows from the model and adds to them
/// there.
template <class Targets>
struct BasicSentenceScheme : WindowByWindow<BasicSentenceScheme<Targets>> {
  template <class Task>
  static WORDLOOM_BOTH void train_window(const Task& task, std::uint32_t center) {
    typename Task::Row x, change;
    WORDLOOM_MARK(4);
    const auto window = task.window(center, task.reach(center));
    for_each_context(window, center, [&](std::uint32_t context) {
      task.team.load(x, task.input_row(context));
      clear_row(task.team, change);
      score<Targets>(task, center, task.sampling.pair(center, context), x, change);
      task.team.add(task.input_row(context), change);
    });
  }
};
using SentenceScheme = BasicSentenceScheme<WordTargets>;

/// CBOW (also part of BlazingText): the mean of a window's rows is scored against the targets of
/// its centre, 1 x M. Reads every row from the model and adds to it there.
struct CbowScheme : WindowByWindow<CbowScheme> {
  template <class Task>
  static WORDLOOM_BOTH void train_window(const Task& task, std::uint32_t center) {
    typename Task::Row sum, member, mean, change;
    const auto window = task.window(center, task.reach(center));
    const std::uint32_t members = window.end - window.first - 1;
    if (members == 0) return;
    const auto size = static_cast<float>(members);
    clear_row(task.team, sum);
    for (std::uint32_t context = window.first; context < window.end; ++context) {
      if (context == center) continue;
      task.team.load(member, task.input_row(context));
      add_scaled(sum, 1.0f, member);
    }
    clear_row(task.team, mean);
    add_scaled(mean, 1.0f / size, sum);
    clear_row(task.team, change);
    score<AnyTargets>(task, center, center, mean, change);
    const float share = detail::member_share(task.sampling.bag_gradient, size);
    for (std::uint32_t context = window.first; context < window.end; ++context)
      if (context != center) task.add_product(task.input_row(context), share, change);
  }
};

/// Word-per-block scheduling (Gupta and Khare 2017, section 4.1, who found that it costs accuracy):
/// a team trains one window of a sentence, while others train its neighbours, which share most of
/// its rows.
template <class Scheme>
struct WordAtATime : Scheme {
  static constexpr bool by_word = true;
};
template <class Scheme>
concept TrainsByWord = Scheme::by_word;

/// The centres of a sentence in turn, and the targets of each.
template <class Targets, class Task>
class WindowTargets {
 public:
  WORDLOOM_BOTH explicit WindowTargets(const Task& task) : task_(task) {}

  WORDLOOM_BOTH std::uint32_t move_to(std::uint32_t center) { return task_.reach(center); }
  template <class Use>
  WORDLOOM_BOTH void for_each(std::uint32_t center, Use&& use) const {
    Targets::for_each(task_, center, center, use);
  }

 private:
  const Task& task_;
};
/// Draws negatives for many windows at once.
template <class Task>
class WindowTargets<WordTargets, Task> {
 public:
  WORDLOOM_BOTH explicit WindowTargets(const Task& task)
      : task_(task), reaches_(task), negatives_(task) {}

  /// Returns the reach of the window.
  WORDLOOM_BOTH std::uint32_t move_to(std::uint32_t center) {
    negatives_.move_to(center);
    return reaches_.of(center);
  }
  template <class Use>
  WORDLOOM_BOTH void for_each(std::uint32_t center, Use&& use) const {
    WordId word = task_.sentence.words[center];
    for (std::uint32_t k = 0;; ++k) {
      WORDLOOM_MARK(15);
      if (word != no_word) use(Target{task_.output_row(word), k == 0, k == 0 ? 1.0f : 0.0f});
      if (k == task_.sampling.per_window) break;
      word = negatives_[k];
    }
  }

 private:
  const Task& task_;
  Reaches<Task> reaches_;
  Negatives<Task> negatives_;
};

/// Trains windows whose words share their targets. Each output row `y` stays in registers while it
/// is scored against all context words, by meet(target, context, y), which changes y and the
/// context's row. `move_to(center)` is called before each window.
template <class Targets, class Task, class MoveTo, class Meet>
WORDLOOM_BOTH void train_windows(const Task& task, MoveTo&& move_to, Meet&& meet) {
  if (task.sentence.size < 2) return;
  WindowTargets<Targets, Task> targets(task);
  for (std::uint32_t center = 0; center < task.sentence.size; ++center) {
    WORDLOOM_MARK(4);
    move_to(center);
    const auto window = task.window(center, targets.move_to(center));
    targets.for_each(center, [&](const Target& target) {
      WORDLOOM_MARK(6);
      typename Task::Row y, before;
      task.team.load(y, target.row);
      copy_row(before, y);
      for_each_context(window, center, [&](std::uint32_t context) { meet(target, context, y); });
      task.add_difference(target.row, y, before);
    });
  }
}

/// The scheme of FULL-Register (Randall et al. 2021, "FULL-W2V"): output rows in registers; context
/// rows are read from the model and written back.
template <class Targets>
struct BasicRegisterScheme {
  static constexpr std::size_t floats_of_own(const Sampling&, std::size_t) { return 0; }

  template <class Task>
  static WORDLOOM_BOTH void train(const Task& task) {
    using Row = typename Task::Row;
    train_windows<Targets>(
        task, [](std::uint32_t) {},
        [&](const Target& target, std::uint32_t context, Row& y) {
          Row x;
          task.team.load(x, task.input_row(context));
          const float g = task.gradient(x, y, target.positive, target.examples);
          task.add_product(task.input_row(context), g, y);
          add_scaled(y, g, x);
        });
  }
};
using RegisterScheme = BasicRegisterScheme<WordTargets>;

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
