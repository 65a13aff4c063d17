#pragma once
#include <cstdint>

#include <wordloom/cuda/detail/draws.hpp>
#include <wordloom/cuda/detail/sentence.hpp>
#include <wordloom/cuda/detail/shared_ring.hpp>
#include <wordloom/cuda/detail/warp_sums.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// WarpScheme with the rows in shared memory, for windows and dimensions that do not fit registers.
/// The outputs are scored against their contexts one after the other, eight contexts at a time. A
/// row is loaded while the one before it is in use: if a word occurs twice in succession, the
/// second load misses the change by the first use.
struct SharedWarpScheme : RingScheme {
  template <class Task>
  static WORDLOOM_BOTH void train(const Task& task) {
    if (task.sentence.size < 2) return;
    SharedRing<Task> ring(task);
    Reaches<Task> reaches(task);
    Negatives<Task> negatives(task);
    for (std::uint32_t center = 0; center < task.sentence.size; ++center) {
      ring.move_to(center);
      negatives.move_to(center);
      const auto window = task.window(center, reaches.of(center));
      typename Task::Row y, ahead;
      WordId word = task.sentence.words[center];
      task.team.load(y, task.output_row(word));
      for (std::uint32_t k = 0; word != no_word;) {
        WordId next = no_word;
        std::uint32_t next_k = k;
        while (next == no_word && next_k < task.sampling.per_window) next = negatives[next_k++];
        if (next != no_word) task.team.load(ahead, task.output_row(next));
        meet(task, ring, window, center, k == 0, y, task.output_row(word));
        copy_row(y, ahead);
        word = next;
        k = next_k;
      }
      if (task.sentence.with_loss)
        task.loss.examples += static_cast<float>(window.end - window.first - 1);
    }
    ring.leave_all();
  }

 private:
  template <class Task>
  static WORDLOOM_BOTH void meet(const Task& task, const SharedRing<Task>& ring,
                                 const detail::WindowRange<std::uint32_t>& window,
                                 std::uint32_t center, bool positive, const typename Task::Row& y,
                                 float* output) {
    constexpr unsigned count = 8;
    const auto& team = task.team;
    const std::uint32_t contexts = window.end - window.first - 1;
    const auto row_of = [&](std::uint32_t j) {
      const std::uint32_t position = window.first + j;
      return ring.current(position < center ? position : position + 1);
    };
    typename Task::Row x, change;
    clear_row(team, change);
    for (std::uint32_t first = 0; first < contexts; first += count) {
      const std::uint32_t here = contexts - first < count ? contexts - first : count;
      typename Task::Team::template Lanes<float> sums[count];
      WORDLOOM_UNROLL
      for (unsigned j = 0; j < count; ++j) {
        sums[j] = team.each([](int) { return 0.0f; });
        if (j < here) {
          team.load_own(x, row_of(first + j));
          sums[j] = partial_dot(x, y);
        }
      }
      transposed_sums<false, 16, count>(team, sums);
      constexpr int threads = 32 / count;  // threads that have the same sum
      gradients<1>(
          task, sums, [&](int, std::uint32_t) { return positive; },
          [&](int l, std::uint32_t) { return static_cast<std::uint32_t>(l / threads) < here; },
          [&](int l, std::uint32_t) { return l % threads == 0; });
      WORDLOOM_UNROLL
      for (unsigned j = 0; j < count; ++j)
        if (j < here) {
          float* const row = row_of(first + j);
          team.load_own(x, row);
          const float own = team.from(sums[0], static_cast<int>(j) * threads);
          add_scaled(change, own, x);
          add_scaled(x, own, y);
          team.store_own(row, x);
        }
    }
    team.add(output, change);
  }
};

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
