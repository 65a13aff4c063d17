#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

#include <wordloom/core/detail/processors.hpp>
#include <wordloom/core/detail/spinning_barrier.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/train/detail/run_progress.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The work of one thread, or of all threads, in some steps.
struct alignas(64) TrainedByThread {
  std::uint64_t examples = 0;
  LossSum loss;

  void add(const WorkDone& done) {
    examples += done.examples;
    loss += done.loss;
  }
  /// Returns the work of all threads, and forgets it.
  static TrainedByThread take(std::vector<TrainedByThread>& of_threads) {
    TrainedByThread all;
    for (TrainedByThread& of_thread : of_threads) {
      all.examples += of_thread.examples;
      all.loss += of_thread.loss;
      of_thread = {};
    }
    return all;
  }
};

/// Threads that work in steps and wait for each other after each. Between two steps only thread 0
/// works.
class StepTeam {
 public:
  StepTeam(std::size_t threads, bool pins_threads)
      : threads_(threads), pins_threads_(pins_threads), barrier_(threads) {}

  std::size_t threads() const noexcept { return threads_; }

  /// Calls `member(thread, serve)` in each thread, which makes what the thread needs and then calls
  /// `serve(part)`: in thread 0, that calls `work()`, which calls step(); in the others, `part()`
  /// in each step. Rethrows the first exception of any thread.
  template <class Member>
  void run(const Member& member, const std::function<void()>& work) {
    const auto processors =
        pins_threads_ ? cores_first(allowed_processors()) : std::vector<std::size_t>();
    run_threads(threads_, [&](std::size_t thread) {
      const PinnedThread pinned(processors, thread);
      attempt([&] {
        member(thread, [&](const auto& part) {
          if (thread == 0) {
            barrier_.wait_for_others();
            part_ = std::ref(part);
            work();
          } else {
            while (waits_for_step()) attempt(part);
          }
        });
      });
      if (thread == 0) {
        barrier_.wait_for_others();
        ended_ = true;
        barrier_.release();
      } else {
        while (!ended_ && waits_for_step()) continue;  // the barrier counts a failed thread
      }
    });
    if (failure_) std::rethrow_exception(failure_);
  }

  /// Lets each thread do its part. For thread 0. Rethrows the first exception of any thread.
  void step() {
    barrier_.release();
    attempt(part_);
    barrier_.wait_for_others();
    if (failed_) std::rethrow_exception(failure_);
  }

 private:
  /// Waits for the next step; returns false if there are no more steps.
  bool waits_for_step() {
    barrier_.arrive_and_wait();
    return !ended_;
  }
  /// Does `work` unless a thread has failed, and keeps the first exception. A thread that failed
  /// still takes part in the barriers, so that no other waits for it in vain.
  template <class Work>
  void attempt(const Work& work) noexcept {
    try {
      if (!failed_) work();
    } catch (...) {
      if (!failed_.exchange(true)) failure_ = std::current_exception();
    }
  }

  const std::size_t threads_;
  const bool pins_threads_;
  std::function<void()> part_;  // of thread 0
  bool ended_ = false;          // written by thread 0, between two steps
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;
  SpinningBarrier barrier_;
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
