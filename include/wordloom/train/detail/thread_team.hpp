#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <wordloom/core/detail/processors.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/corpus/subsampling.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/train/detail/checkpoint.hpp>
#include <wordloom/train/detail/private_rows.hpp>
#include <wordloom/train/detail/rank_run.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The part of training by threads that is independent of samplers and kernels, so that a program
/// with many of them contains it once.
template <class Run>
struct ThreadTeam {
  /// `subsample`: the threshold of subsampling.
  ThreadTeam(Run& of, double subsample, std::unique_ptr<PrivateRows> private_rows);
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  /// Reports the work of a thread since its last report, up to its position `at`, and does what is
  /// due. Sets `rate` to the learning rate from here on.
  void report(std::size_t thread, const WorkDone& done, const Checkpoint::Thread& at, double& rate);

  /// Returns whether the thread calls tick(): with several ranks all do.
  bool ticks(std::size_t thread) const { return thread == 0 || has_ranks; }
  /// Synchronises if that is due; `at` is the position of the thread, with its unreported work.
  void tick(std::size_t thread, const Checkpoint::Thread& at);

  /// Calls `work(i)` for each thread, and then merges the rows that they have trained.
  void train(const std::function<void(std::size_t)>& work);

  Run& run;
  const std::unique_ptr<PrivateRows> rows;  // null: no private rows
  const Subsampling subsampling;
  const std::size_t threads = run.start.threads.size();
  const bool has_ranks = run.sync.size() > 1;
  // Synchronisations may be due more often than threads report.
  const std::uint64_t tick_interval = (std::max<std::uint64_t>)(1, run.tick_interval / threads);
  // Tokens of a thread between two updates of the learning rate and the clock: rare enough to cost
  // nothing, frequent enough that the rate falls smoothly on a small corpus, and that threads know
  // how far the others of the rank have come when they synchronise.
  const std::uint64_t interval = std::clamp<std::uint64_t>(
      run.tokens_per_epoch * run.parameters.epochs / threads / 1000, 100,
      threads > 1 && has_ranks ? std::clamp<std::uint64_t>(tick_interval, 100, 10'000) : 10'000);
  // Measuring a loss takes a tenth of a block's time: it is done for this many tokens of an
  // interval.
  const std::uint64_t measured = interval / 16;
  // Tokens of short sentences that a sampler takes at once: enough that the few whose rows were not
  // announced do not count.
  const std::uint64_t at_once = (std::min)((std::max<std::uint64_t>)(100, measured), tick_interval);
  const double first_rate = run.schedule.rate(run.state.fraction());
  std::vector<std::size_t> processors = {};  // to pin threads to

 private:
  /// Synchronises if that is due, unless another thread does. Which one does it is left to chance:
  /// the thread that is ahead is the first to find it due, and falls behind, so that all come
  /// equally far. Waits for the other only if the next synchronisation would be due: or else all
  /// but one would train on while a slow network delays exchanges, and ranks drift apart.
  void tick(std::size_t thread, double progress);

  std::mutex guard_;
  std::atomic<double> limit_{0};  // the progress at which threads wait for the one that ticks
  bool in_tick_ = false;          // for good after an exception: then no rank answers
};

// Defined outside of the class, so that instances that are compiled elsewhere (systems.hpp) are not
// compiled again.
template <class Run>
[[gnu::noinline]] ThreadTeam<Run>::ThreadTeam(Run& of, double subsample,
                                              std::unique_ptr<PrivateRows> private_rows)
    : run(of), rows(std::move(private_rows)), subsampling(of.model.vocabulary, subsample) {
  if (rows) {
    run.state.before_callbacks = [this] { rows->merge_all(); };
    run.complete = [this](std::vector<NamedMatrix>& copies) { rows->complete(copies); };
  }
  if (run.parameters.pin_threads) processors = cores_first(allowed_processors());
}

template <class Run>
[[gnu::noinline]] void ThreadTeam<Run>::report(std::size_t thread, const WorkDone& done,
                                               const Checkpoint::Thread& at, double& rate) {
  const double now = run.state.report(done, at.epoch, rate, run.model);
  rate = run.schedule.rate(now);
  run.state.set_position(thread, at);
  if (run.state.is_due()) run.state.pause(run.model);
  if (ticks(thread)) tick(thread, now);
}

template <class Run>
[[gnu::noinline]] void ThreadTeam<Run>::tick(std::size_t thread, const Checkpoint::Thread& at) {
  run.state.set_position(thread, at);
  tick(thread, run.state.fraction(at.tokens * threads));
}

template <class Run>
void ThreadTeam<Run>::tick(std::size_t thread, double progress) {
  std::unique_lock lock(guard_, std::try_to_lock);
  if (!lock) {
    if (progress < limit_.load(std::memory_order_relaxed)) return;
    lock.lock();
  }
  if (in_tick_ || (thread != 0 && !run.ticks_from_any_thread)) return;
  const auto tokens = static_cast<double>(run.tokens_per_epoch * run.parameters.epochs);
  limit_ = progress + static_cast<double>(run.tick_interval) / tokens;
  in_tick_ = true;
  run.tick(progress);
  in_tick_ = false;
}

template <class Run>
[[gnu::noinline]] void ThreadTeam<Run>::train(const std::function<void(std::size_t)>& work) {
  run.synchronise(run.state.fraction(run.start.threads[0].tokens * threads));
  run_threads(threads, [&](std::size_t thread) {
    try {
      const PinnedThread pinned(processors, thread);
      work(thread);
    } catch (...) {
      run.state.stop();
      throw;
    }
  });
  if (rows) rows->merge_all();
}

}}}  // namespace wordloom::WORDLOOM_ABI::detail
