#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The order in which the threads of a rank train blocks of some steps, each in some shares: in
/// step s, input i is trained with output i + s. A block waits for the one of its input in the step
/// before, and for the one that had its output, which is that of the next input: no two blocks that
/// are trained at a time have a row in common, and each row sees its blocks in the order of steps.
/// There is no barrier between steps, so that a long block delays those alone which need its rows.
/// Thread-safe.
class BlockOrder {
 public:
  /// A share of a block.
  struct Share {
    std::uint32_t input, step, number;
  };

  /// `is_ring`: whether the outputs of the last input's block come from the first input's;
  /// otherwise others bring them, see arrived(). `shares`: of each block.
  BlockOrder(std::size_t inputs, bool is_ring, std::uint32_t shares)
      : state_(inputs), is_ring_(is_ring), shares_(shares) {}

  /// Begins steps [0, steps). Between two of these, no thread may be in another function.
  void begin(std::uint32_t steps) {
    for (State& state : state_) {
      state.begun.store(0, std::memory_order_relaxed);
      state.ended.store(0, std::memory_order_relaxed);
    }
    steps_ = steps;
    arrived_.store(0, std::memory_order_relaxed);
  }
  /// Returns a share for this thread: one of the earliest step that can be trained. If there is
  /// none, `is_idle` tells whether no thread trains.
  std::optional<Share> take(bool& is_idle) {
    for (;;) {
      std::optional<Share> first;
      is_idle = true;
      for (std::uint32_t i = 0; i < state_.size(); ++i) {
        const std::uint32_t ended = state_[i].ended.load(std::memory_order_acquire),
                            begun = state_[i].begun.load(std::memory_order_acquire),
                            step = begun / shares_;
        if (begun != ended) is_idle = false;
        if (step < (first ? first->step : steps_) && step == ended / shares_ && step <= passed(i))
          first = Share{i, step, begun % shares_};
      }
      if (!first) return first;
      std::uint32_t expected = first->step * shares_ + first->number;
      if (state_[first->input].begun.compare_exchange_strong(expected, expected + 1,
                                                             std::memory_order_acquire))
        return first;
    }
  }
  /// Must be called when a share that was taken is trained.
  void trained(Share share) {
    const std::uint32_t ended =
        state_[share.input].ended.fetch_add(1, std::memory_order_acq_rel) + 1;
    if (ended % shares_ == 0) changed();
  }
  /// Must be called when the outputs of the last input have arrived for all steps up to `step`.
  void arrived(std::uint32_t step) {
    if (arrived_.exchange(step, std::memory_order_release) != step) changed();
  }

  /// Returns the number of steps that an input was trained in.
  std::uint32_t trained(std::uint32_t input) const {
    return state_[input].ended.load(std::memory_order_acquire) / shares_;
  }
  /// Returns whether all steps are trained, and the outputs of the last one have arrived.
  bool is_over() const {
    for (std::uint32_t i = 0; i < state_.size(); ++i)
      if (trained(i) < steps_) return false;
    return is_ring_ || arrived_.load(std::memory_order_acquire) == steps_;
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
    std::atomic<std::uint32_t> begun{0}, ended{0};  // shares of all steps
  };

  /// Returns the step up to which an input has the outputs that it needs.
  std::uint32_t passed(std::uint32_t input) const {
    if (input + 1 < state_.size()) return trained(input + 1);
    return is_ring_ ? trained(0) : arrived_.load(std::memory_order_acquire);
  }

  std::vector<State> state_;  // [inputs]
  const bool is_ring_;
  const std::uint32_t shares_;
  std::uint32_t steps_ = 0;
  std::atomic<std::uint32_t> arrived_{0}, changes_{0};
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
