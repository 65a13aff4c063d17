#pragma once
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sync/concept.hpp>
#include <wordloom/train/detail/checkpoint.hpp>
#include <wordloom/train/detail/shared_progress.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// A run of one rank: the data that its loops share, and their work between two sentences, which is
/// to synchronise and, when they are due, to write checkpoints in the background. Functions are for
/// one thread at a time.
template <class Sync, class Schedule, class Replica>
struct RankRun {
  const TrainerSettings& options;
  Sync& sync;
  const Schedule& schedule;
  Model& model;
  Replica& replica;                        // the replica that the SyncPolicy synchronises
  const Checkpoint& beginning;             // the starting positions of all ranks, without matrices
  const std::uint64_t tick_interval;       // maximum words that this rank trains between two ticks
  const bool ticks_from_any_thread;        // see RankInfo
  std::function<void()> arrive = [] {};    // ends and reports all work in progress
  std::function<void()> download = [] {};  // copies `replica` to `model`
  // Adds the changes that threads have not merged yet to copies of the model's matrices.
  std::function<void(std::vector<NamedMatrix>&)> complete = [](std::vector<NamedMatrix>&) {};

  const Hyperparameters& parameters = options.parameters;
  const Checkpoint::Rank& start = beginning.ranks[sync.rank()];
  const std::uint64_t tokens_per_epoch = beginning.corpus_tokens / sync.size();  // of this rank
  SharedProgress state{options, start, tokens_per_epoch, sync.size() == 1};
  std::chrono::steady_clock::time_point last_write = std::chrono::steady_clock::now();
  std::jthread write = {};

  /// Synchronises if that is due: where a run begins, more than one synchronisation may be.
  void synchronise(double progress, RankInfo::Signal request = RankInfo::Signal::go_on);
  /// Reports progress to the sync policy. Requests a checkpoint if one is due, or the end of
  /// training if a callback requested it.
  void tick(double progress);
  /// Ends the run after all threads have returned. Throws IoError if a run that was stopped could
  /// not write its last checkpoint. With several ranks, none fails after another one has returned.
  void end();

  /// Makes all replicas equal; rank 0 then writes a checkpoint with the positions of all ranks, if
  /// there are checkpoints. Other threads may train the model while it is copied: the changes that
  /// they have made since they last reported are trained again on resuming.
  void pause(RankInfo::Signal signal);

  /// Saves by `save()`; stores a failure, after which the next checkpoint is due as usual.
  template <class Save>
  void attempt(Save save) {
    try {
      save();
    } catch (const std::exception& error) {
      state.set_checkpoint_failure(
          IoError{"cannot write checkpoint '", options.checkpoint, "': ", error.what()});
    }
  }
  void wait_for_write() {
    if (write.joinable()) write.join();
    if (state.stopped()) state.throw_checkpoint_failure();
  }
};

// Defined outside of the class, so that instances that are compiled elsewhere (systems.hpp) are not
// compiled again.
template <class Sync, class Schedule, class Replica>
void RankRun<Sync, Schedule, Replica>::synchronise(double progress, RankInfo::Signal request) {
  RankInfo::Signal signal = sync.tick(replica, progress, request);
  while (signal != RankInfo::Signal::go_on) {
    pause(signal);
    if (signal == RankInfo::Signal::stop) return;
    signal = sync.tick(replica, progress, RankInfo::Signal::go_on);
  }
}

template <class Sync, class Schedule, class Replica>
void RankRun<Sync, Schedule, Replica>::tick(double progress) {
  const std::chrono::duration<double> age = std::chrono::steady_clock::now() - last_write;
  const bool is_due = options.saves() && sync.rank() == 0 && age >= options.checkpoint_interval;
  synchronise(progress, state.asked_to_stop() ? RankInfo::Signal::stop
                        : is_due              ? RankInfo::Signal::checkpoint
                                              : RankInfo::Signal::go_on);
}

template <class Sync, class Schedule, class Replica>
void RankRun<Sync, Schedule, Replica>::end() {
  arrive();
  state.stop_clock();
  if (write.joinable()) write.join();  // the last callback reports its failure
  state.end(model);
  if (sync.size() > 1) wait_for_write();
  for (RankInfo::Signal signal = sync.finish(replica); signal != RankInfo::Signal::go_on;
       signal = sync.finish(replica)) {
    pause(signal);
    wait_for_write();
  }
  if (sync.size() > 1) state.stop_clock();
  if (sync.size() == 1 && state.stopped()) pause(RankInfo::Signal::stop);
  wait_for_write();
}

template <class Sync, class Schedule, class Replica>
void RankRun<Sync, Schedule, Replica>::pause(RankInfo::Signal signal) {
  arrive();
  std::vector<std::uint64_t> own;  // taken before other threads continue
  if (options.saves()) own = state.reached(signal == RankInfo::Signal::stop).numbers();
  const RankInfo::Positions all = sync.gather(replica, own);
  if (signal == RankInfo::Signal::stop) state.stop();
  if (!options.saves() || sync.rank() != 0) return;
  if (write.joinable()) write.join();
  download();
  attempt([&] {
    const auto now = std::make_shared<Checkpoint>(Checkpoint{beginning.method,
                                                             beginning.vocabulary,
                                                             beginning.corpus,
                                                             beginning.corpus_tokens,
                                                             all.sync_state[0],
                                                             all.sync_state[1],
                                                             {},
                                                             model.copy_of_matrices()});
    complete(now->matrices);
    now->set_positions(all.numbers, start.losses.size(), start.threads.size());
    // A thread of the lambda itself has a type with our name, which hosts would export.
    write = std::jthread(std::function<void()>([this, now] {
      attempt([&] {
        now->save(options.checkpoint);
        state.set_checkpoint_failure(std::nullopt);
      });
    }));
  });
  last_write = std::chrono::steady_clock::now();
}

}}}  // namespace wordloom::WORDLOOM_ABI::detail
