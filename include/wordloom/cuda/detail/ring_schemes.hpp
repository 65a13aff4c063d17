#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <wordloom/cuda/detail/gemm_scheme.hpp>
#include <wordloom/cuda/detail/published_schemes.hpp>
#include <wordloom/cuda/detail/sentence.hpp>
#include <wordloom/cuda/detail/shared_ring.hpp>

/// FULL-W2V's idea that a context row stays in shared memory while it is in the window, with its
/// own sampler and with others.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// Refuses samplers without windows, for which a ring is useless.
struct RingSamplers {
  template <class Sampler>
  static constexpr bool require() {
    static_assert(
        requires(const Sampler& sampler) { sampler.window.size; },
        "wordloom: the ring-buffer kernel keeps a row in shared memory while it is in the "
        "window of one centre after the other, and this Sampler has no windows");
    return true;
  }
};

/// Trains windows like train_windows, with their context rows in a ring.
template <class Targets, class Task>
WORDLOOM_BOTH void train_windows_in_ring(const Task& task) {
  using Row = typename Task::Row;
  SharedRing<Task> ring(task);
  train_windows<Targets>(
      task, [&](std::uint32_t center) { ring.move_to(center); },
      [&](const Target& target, std::uint32_t context, Row& y) {
        Row x, x_before;
        float* const row = ring.current(context);
        task.team.load_own(x, row);
        copy_row(x_before, x);
        const float g = task.gradient(x, y, target.positive, target.examples);
        add_scaled(x, g, y);
        task.team.store_own(row, x);
        add_scaled(y, g, x_before);
      });
  ring.leave_all();
}

/// The scheme of FULL-W2V (Randall et al. 2021): RegisterScheme, with context rows in shared memory
/// while they are in the window. As in the authors' program, a slot also keeps the row as it was
/// loaded, and the difference is added to the model.
struct RingBufferScheme : RingScheme {
  template <class Task>
  static WORDLOOM_BOTH void train(const Task& task) {
    train_windows_in_ring<WordTargets>(task);
  }
};

/// A ring of context rows for Hogwild. Pairs have negatives of their own, as in SentenceScheme, so
/// that output rows are read from the model and changed there for each pair. A context row is read
/// and changed in the model only once, instead of in each of its windows.
struct PairRingScheme : RingScheme {
  template <class Task>
  static WORDLOOM_BOTH void train(const Task& task) {
    SharedRing<Task> ring(task);
    for (std::uint32_t center = 0; center < task.sentence.size; ++center) {
      ring.move_to(center);
      const auto window = task.window(center, task.reach(center));
      for (std::uint32_t context = window.first; context < window.end; ++context) {
        if (context == center) continue;
        typename Task::Row x, change;
        task.team.load_own(x, ring.current(context));
        clear_row(task.team, change);
        score<WordTargets>(task, center, task.sampling.pair(center, context), x, change);
        add_scaled(x, 1.0f, change);
        task.team.store_own(ring.current(context), x);
      }
    }
    ring.leave_all();
  }
};

/// A centre without negatives.
struct CenterTarget {
  template <class Task, class Use>
  static WORDLOOM_BOTH void for_each(const Task& task, std::uint32_t center, std::uint32_t,
                                     Use&& use) {
    use(Target{task.output_row(task.sentence.words[center]), true, 1.0f});
  }
};

/// A ring of context rows for SentenceMinibatch: it trains the positives of all windows, then
/// minibatches are trained as in GemmScheme. Minibatches have no windows, and their rows are in
/// shared memory in any case.
struct MinibatchRingScheme {
  static constexpr std::size_t floats_of_own(const Sampling& sampling, std::size_t row) {
    return (std::max)(RingScheme::floats_of_own(sampling, row), GemmTileShape::floats(row));
  }

  template <class Task>
  static WORDLOOM_BOTH void train(const Task& task) {
    if (task.sentence.size < 2) return;
    train_windows_in_ring<CenterTarget>(task);
    task.team.barrier();
    GemmScheme::repel(task);
  }
};

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
