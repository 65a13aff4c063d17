#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <wordloom/model/model.hpp>
#include <wordloom/train/checkpoint.hpp>
#include <wordloom/train/run_state.hpp>

namespace wordloom::detail {

/// Writes checkpoints of a run while its threads train. Thread-safe but for `begin`, `finish` and
/// `wait`, which are for one thread.
class Checkpointer {
 public:
  /// `start`: where the run begins; `rank`: which of its ranks this is.
  Checkpointer(std::filesystem::path path, double seconds, const Checkpoint& start,
               std::size_t rank)
      : path_(std::move(path)),
        seconds_(seconds),
        method_(start.method),
        vocabulary_(start.vocabulary),
        corpus_tokens_(start.corpus_tokens),
        sync_options_(start.sync_options),
        own_(start.ranks[rank]) {}

  /// Where a thread is.
  void stands(std::size_t thread, const Checkpoint::Thread& position) {
    const std::lock_guard lock(guard_);
    own_.threads[thread] = position;
  }
  /// Where this rank is.
  Checkpoint::Rank own(RunState& state) {
    const std::lock_guard lock(guard_);
    state.save(own_);
    return own_;
  }

  bool is_due() const { return Clock::now() - last_ >= std::chrono::duration<double>(seconds_); }

  /// Copies the model, which other threads may go on with (Hogwild: what they have changed since
  /// they last reported is trained again on resuming), and writes it in the background. Throws what
  /// went wrong with the one before.
  void begin(const Model& model, std::vector<Checkpoint::Rank> ranks,
             std::uint64_t synchronisations) {
    wait();
    writer_ = std::jthread(
        [this, checkpoint = snapshot(model, std::move(ranks), synchronisations)]() noexcept {
          try {
            checkpoint.save(path_);
          } catch (...) {
            failure_ = std::current_exception();
          }
        });
    last_ = Clock::now();
  }

  /// Writes the last one of a run that has ended early, after all of its threads.
  void finish(const Model& model, RunState& state) {
    wait();
    snapshot(model, {own(state)}, 0).save(path_);
  }

  /// Until what `begin` began is written.
  void wait() {
    if (writer_.joinable()) writer_.join();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  using Clock = std::chrono::steady_clock;

  Checkpoint snapshot(const Model& model, std::vector<Checkpoint::Rank> ranks,
                      std::uint64_t synchronisations) const {
    return {method_,       vocabulary_,      corpus_tokens_,     synchronisations,
            sync_options_, std::move(ranks), model.input.copy(), model.output.copy()};
  }

  std::filesystem::path path_;
  double seconds_;
  std::mutex guard_;
  const std::uint64_t method_, vocabulary_, corpus_tokens_, sync_options_;
  Checkpoint::Rank own_;
  Clock::time_point last_ = Clock::now();
  std::exception_ptr failure_;
  std::jthread writer_;  // last: it ends before what it uses
};

}  // namespace wordloom::detail
