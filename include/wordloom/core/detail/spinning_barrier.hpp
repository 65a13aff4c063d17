#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

#include <wordloom/core/detail/abi.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// A barrier for short steps, at which thread 0 works while the others wait. A thread that waits
/// spins for some 100 microseconds before it sleeps, because waking it may take as long as a step.
/// It sleeps at once when there are more threads than processors.
class SpinningBarrier {
 public:
  explicit SpinningBarrier(std::size_t threads)
      : others_(static_cast<std::uint32_t>(threads - 1)),
        spins_(threads <= std::thread::hardware_concurrency() ? 2000 : 0) {}

  /// Waits until thread 0 releases the barrier, and then sees all that it wrote. For the others.
  void arrive_and_wait() noexcept {
    const std::uint32_t round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == others_) arrived_.notify_one();
    wait(round_, [round](std::uint32_t now) { return now != round; });
  }

  /// Waits until all others have arrived, and then sees all that they wrote. For thread 0.
  void wait_for_others() noexcept {
    wait(arrived_, [this](std::uint32_t now) { return now == others_; });
  }
  /// Lets the others go, which must have arrived. For thread 0.
  void release() noexcept {
    arrived_.store(0, std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
  }

 private:
  template <class Until>
  void wait(const std::atomic<std::uint32_t>& value, Until until) const noexcept {
    for (int i = 0; i < spins_; ++i) {
      if (until(value.load(std::memory_order_acquire))) return;
      pause();
    }
    for (;;) {
      const std::uint32_t now = value.load(std::memory_order_acquire);
      if (until(now)) return;
      value.wait(now, std::memory_order_acquire);
    }
  }

  static void pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  alignas(64) std::atomic<std::uint32_t> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> round_{0};
  const std::uint32_t others_;
  const int spins_;
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
