#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The order in which the threads of a rank train blocks of some steps: in step s, input i is
/// trained with output i + s. A block waits for the one of its input in the step before, and for
/// the one that had its output, which is that of the next input: no two threads have a row in
/// common, and each row sees its blocks in the order of steps. There is no barrier between steps,
/// so that a long block delays those alone which need its rows. Thread-safe.
class BlockOrder {
 public:
  struct Block {
    std::uint32_t input, step;
  };

  /// `is_ring`: whether the outputs of the last input's block come from the first input's;
  /// otherwise others bring them, see arrived().
  BlockOrder(std::size_t inputs, bool is_ring) : state_(inputs), is_ring_(is_ring) {}

  /// Begins steps [0, steps). Between two of these, no thread may be in another function.
  void begin(std::uint32_t steps) {
    for (State& state : state_) state.of.store(0, std::memory_order_relaxed);
    steps_ = steps;
    arrived_.store(0, std::memory_order_relaxed);
  }
  /// Returns a block for this thread: one of the earliest step that can be trained. If there is
  /// none, `is_idle` tells whether no thread trains.
  std::optional<Block> take(bool& is_idle) {
    for (;;) {
      std::optional<Block> first;
      is_idle = true;
      for (std::uint32_t i = 0; i < state_.size(); ++i) {
        const std::uint32_t state = state_[i].of.load(std::memory_order_acquire), step = state / 2;
        if (state % 2 == 1)
          is_idle = false;
        else if (step < (first ? first->step : steps_) && step <= passed(i))
          first = Block{i, step};
      }
      std::uint32_t expected = first ? 2 * first->step : 0;
      if (!first || state_[first->input].of.compare_exchange_strong(expected, expected + 1,
                                                                    std::memory_order_acquire))
        return first;
    }
  }
  /// Must be called when a block that was taken is trained.
  void trained(Block block) {
    state_[block.input].of.store(2 * (block.step + 1), std::memory_order_release);
    changed();
  }
  /// Must be called when the outputs of the last input have arrived for all steps up to `step`.
  void arrived(std::uint32_t step) {
    if (arrived_.exchange(step, std::memory_order_release) != step) changed();
  }

  /// Returns the number of steps that an input was trained in.
  std::uint32_t trained(std::uint32_t input) const {
    return state_[input].of.load(std::memory_order_acquire) / 2;
  }
  bool all_trained() const {
    for (std::uint32_t i = 0; i < state_.size(); ++i)
      if (trained(i) < steps_) return false;
    return true;
  }

  /// Lets threads wait: a thread reads changes() before it looks for a block, and if it finds none,
  /// waits until they differ. changed() wakes all.
  std::uint32_t changes() const { return changes_.load(std::memory_order_acquire); }
  void wait_for_change(std::uint32_t since) const {
    changes_.wait(since, std::memory_order_acquire);
  }
  void changed() {
    changes_.fetch_add(1, std::memory_order_release);
    changes_.notify_all();
  }

 private:
  struct alignas(64) State {
    std::atomic<std::uint32_t> of{0};  // twice the steps trained, and 1 while a thread trains
  };

  /// Returns the step up to which an input has the outputs that it needs.
  std::uint32_t passed(std::uint32_t input) const {
    if (input + 1 < state_.size()) return trained(input + 1);
    return is_ring_ ? trained(0) : arrived_.load(std::memory_order_acquire);
  }

  std::vector<State> state_;  // [inputs]
  const bool is_ring_;
  std::uint32_t steps_ = 0;
  std::atomic<std::uint32_t> arrived_{0}, changes_{0};
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
