#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sync/concept.hpp>
#include <wordloom/train/checkpoint.hpp>
#include <wordloom/train/checkpointer.hpp>
#include <wordloom/train/run_state.hpp>

namespace wordloom::detail {

/// What the loops of a run share.
template <class Sync, class Schedule>
struct Run {
  const Hyperparameters& parameters;
  Sync& sync;
  const Schedule& schedule;
  const Checkpoint::Rank& start;   // where this rank begins
  std::uint64_t tokens_per_epoch;  // of this rank
  std::uint64_t tick_interval;     // words that this rank trains between two ticks, at most
  RunState& state;
  Checkpointer* checkpointer;  // null where there are no checkpoints
};

/// What the trainer of one rank does between two sentences: synchronises, and writes checkpoints
/// when they are due. One thread at a time. `Place` says where the model is:
/// - `replica()`: what the SyncPolicy keeps alike,
/// - `arrive()` ends and reports all that is in progress,
/// - `model()`: the model as it is now.
template <class Sync, class Schedule, class Place>
class RunControl {
 public:
  RunControl(const Run<Sync, Schedule>& run, Place& place) : run_(run), place_(place) {
    if (run.sync.size() > 1) run.state.stop_by_agreement();
  }

  /// Synchronises where that is due, requesting a checkpoint or an end where one is due or asked
  /// for.
  void tick(double progress) {
    const bool is_due =
        run_.checkpointer != nullptr && run_.sync.rank() == 0 && run_.checkpointer->is_due();
    follow(progress, run_.state.asked_to_stop() && run_.sync.size() > 1 ? Signal::stop
                     : is_due                                           ? Signal::checkpoint
                                                                        : Signal::go_on);
  }
  /// The same without a request: where a run begins, more than one synchronisation may be due.
  void begin(double progress) { follow(progress, Signal::go_on); }

  /// After all threads have returned.
  void end() {
    for (Signal signal = run_.sync.finish(place_.replica()); signal != Signal::go_on;
         signal = run_.sync.finish(place_.replica()))
      pause(signal);
    if (run_.sync.size() == 1 && run_.state.stopped()) save();
    if (run_.checkpointer != nullptr) run_.checkpointer->wait();
  }

 private:
  void follow(double progress, Signal request) {
    Signal signal = run_.sync.tick(place_.replica(), progress, request);
    while (signal != Signal::go_on) {
      pause(signal);
      if (signal == Signal::stop) return;
      signal = run_.sync.tick(place_.replica(), progress, Signal::go_on);
    }
  }
  void pause(Signal signal) {
    save();
    if (signal == Signal::stop) run_.state.stop();
  }

  /// Makes all replicas alike; rank 0 writes where all ranks are, where there are checkpoints.
  void save() {
    place_.arrive();
    std::vector<std::uint64_t> own;  // taken before other threads go on
    if (run_.checkpointer != nullptr) own = run_.checkpointer->own(run_.state).numbers();
    const Positions positions = run_.sync.gather(place_.replica(), own);
    if (run_.checkpointer != nullptr && run_.sync.rank() == 0)
      run_.checkpointer->begin(place_.model(), positions);
  }

  const Run<Sync, Schedule>& run_;
  Place& place_;
};

}  // namespace wordloom::detail
