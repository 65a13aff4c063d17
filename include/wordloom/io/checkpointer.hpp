#pragma once
#include <chrono>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <wordloom/core/model.hpp>
#include <wordloom/core/run_state.hpp>
#include <wordloom/io/checkpoint.hpp>

namespace wordloom::detail {

/// Writes checkpoints of a run while its threads train. Thread-safe but for `begin` and `finish`,
/// which are for one thread.
class Checkpointer {
 public:
  /// `start`: what is the same in all checkpoints, and where the threads begin.
  Checkpointer(std::filesystem::path path, double seconds, Checkpoint start)
      : path_(std::move(path)), seconds_(seconds), now_(std::move(start)) {}

  /// Where a thread is.
  void stands(std::size_t thread, const Checkpoint::Thread& position) {
    const std::lock_guard lock(guard_);
    now_.threads[thread] = position;
  }

  bool is_due() const { return Clock::now() - last_ >= std::chrono::duration<double>(seconds_); }

  /// Copies the model, which other threads may go on with (Hogwild: what they have changed since
  /// they last reported is trained again on resuming), and writes it in the background. Throws what
  /// went wrong with the one before.
  void begin(const Model& model, RunState& state) {
    wait();
    Checkpoint checkpoint = snapshot(model, state);
    writer_ = std::jthread([this, checkpoint = std::move(checkpoint)]() noexcept {
      try {
        checkpoint.save(path_);
      } catch (...) {
        failure_ = std::current_exception();
      }
    });
    last_ = Clock::now();
  }

  /// Writes the last one, after all threads have ended.
  void finish(const Model& model, RunState& state) {
    wait();
    snapshot(model, state).save(path_);
  }

  /// Until what `begin` began is written.
  void wait() {
    if (writer_.joinable()) writer_.join();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  using Clock = std::chrono::steady_clock;

  Checkpoint snapshot(const Model& model, RunState& state) {
    const std::lock_guard lock(guard_);
    state.save(now_);
    Checkpoint result;
    result.method = now_.method;
    result.vocabulary = now_.vocabulary;
    result.corpus_tokens = now_.corpus_tokens;
    result.tokens = now_.tokens;
    result.losses = now_.losses;
    result.threads = now_.threads;
    result.input = model.input.copy();
    result.output = model.output.copy();
    return result;
  }

  std::filesystem::path path_;
  double seconds_;
  std::mutex guard_;
  Checkpoint now_;  // without its matrices
  Clock::time_point last_ = Clock::now();
  std::exception_ptr failure_;
  std::jthread writer_;  // last: it ends before what it uses
};

}  // namespace wordloom::detail
