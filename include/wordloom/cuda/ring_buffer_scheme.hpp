#pragma once
#include <cstddef>
#include <cstdint>

#include <wordloom/cuda/register_scheme.hpp>
#include <wordloom/cuda/sentence.hpp>

namespace wordloom::cuda {

/// The memory of a SharedRing, floats, for rows of `row` floats.
constexpr std::size_t floats_of_shared_ring(const Sampling& sampling, std::size_t row) {
  return 2 * (2 * std::size_t{sampling.max_reach} + 1) * row;
}

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
    for (; first_ < window.first; ++first_) leave(first_);
    for (; end_ < window.end; ++end_) enter(end_);
  }
  WORDLOOM_BOTH void leave_all() {
    for (; first_ < end_; ++first_) leave(first_);
  }

 private:
  WORDLOOM_BOTH void enter(std::uint32_t position) {
    typename Task::Row x;
    task_.team.load(x, task_.input_row(position));
    task_.team.store_own(current(position), x);
    task_.team.store_own(current(position) + Task::row_size, x);
  }
  WORDLOOM_BOTH void leave(std::uint32_t position) {
    typename Task::Row x, loaded, change;
    task_.team.load_own(x, current(position));
    task_.team.load_own(loaded, current(position) + Task::row_size);
    set_difference(change, x, loaded);
    task_.team.add(task_.input_row(position), change);
  }

  const Task& task_;
  std::uint32_t first_ = 0, end_ = 0;  // of the words in the ring
};

/// The scheme of FULL-W2V: as RegisterScheme, and context rows stay in shared memory while they are
/// in the window.
struct RingBufferScheme {
  static constexpr std::size_t floats_of_own(const Sampling& sampling, std::size_t row) {
    return floats_of_shared_ring(sampling, row);
  }

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

}  // namespace wordloom::cuda
