#pragma once
#include <cstddef>
#include <cstdint>

#include <wordloom/cuda/detail/sentence.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// The rows of the words around the centre, in the team's memory from when a word enters the widest
/// window until it leaves: `current` is changed by training, and a copy is kept as it was loaded,
/// so that the difference can be added to the model. Word p of the sentence has slot p mod (2
/// max_reach + 1).
template <class Task>
class SharedRing {
 public:
  WORDLOOM_BOTH explicit SharedRing(const Task& task)
      : task_(task), places_(2 * task.sampling.max_reach + 1) {}

  WORDLOOM_BOTH float* current(std::uint32_t position) const {
    const std::uint32_t place = position - lap_, wrapped = place - places_;
    // The difference wraps to a large number if `place` is below.
    return task_.memory + std::size_t{wrapped < place ? wrapped : place} * 2 * Task::row_size;
  }
  WORDLOOM_BOTH float* loaded(std::uint32_t position) const {
    return current(position) + Task::row_size;
  }
  /// Loads the words of the widest window around `center`, which must be the next one, and adds the
  /// changes of those that leave it.
  WORDLOOM_BOTH void move_to(std::uint32_t center) {
    const auto window = task_.window(center, task_.sampling.max_reach);
    leave_until(window.first);
    if (end_ < window.end) WORDLOOM_MARK(17);
    WORDLOOM_NO_UNROLL
    for (; end_ < window.end; ++end_) {
      WORDLOOM_MARK(9);
      typename Task::Row x;
      task_.team.load(x, task_.input_row(end_));
      task_.team.store_own(current(end_), x);
      task_.team.store_own(loaded(end_), x);
    }
  }
  WORDLOOM_BOTH void leave_all() { leave_until(end_); }

 private:
  WORDLOOM_BOTH void leave_until(std::uint32_t end) {
    if (first_ < end) WORDLOOM_MARK(18);
    WORDLOOM_NO_UNROLL
    for (; first_ < end; ++first_) {
      WORDLOOM_MARK(10);
      typename Task::Row x, before;
      task_.team.load_own(x, current(first_));
      task_.team.load_own(before, loaded(first_));
      task_.add_difference(task_.input_row(first_), x, before);
      if (first_ + 1 - lap_ == places_) lap_ += places_;
    }
  }

  const Task& task_;
  std::uint32_t places_;
  std::uint32_t first_ = 0, end_ = 0;  // of the words in the ring
  std::uint32_t lap_ = 0;              // the largest multiple of places_ that is at most first_
};

/// The memory of a scheme whose context rows are in a SharedRing.
struct RingScheme {
  static constexpr std::size_t floats_of_own(const Sampling& sampling, std::size_t row) {
    return 2 * (2 * std::size_t{sampling.max_reach} + 1) * row;
  }
};

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
