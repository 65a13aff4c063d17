#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <future>
#include <limits>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/files.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/sync/concept.hpp>
#include <wordloom/train/checkpoint.hpp>
#include <wordloom/train/progress.hpp>

namespace wordloom::inline WORDLOOM_ABI::detail {

/// The options of a trainer, besides its policies.
struct RunOptions {
  Hyperparameters parameters;
  Callback on_progress = {}, on_epoch = {};
  std::chrono::duration<double> progress_interval{1};
  std::filesystem::path checkpoint = {};  // empty: none
  std::chrono::duration<double> checkpoint_interval{600};

  bool saves() const { return !checkpoint.empty(); }
  /// Throws IoError when no file can be written there: a wrong name must not cost hours.
  void try_checkpoint() const {
    if (saves()) static_cast<void>(AtomicFile{checkpoint});
  }
};

/// The work of one thread since its last report.
struct WorkDone {
  std::uint64_t tokens = 0;
  std::uint64_t examples = 0;  // that `loss` is of
  LossSum loss;
};

/// The progress that the threads of a rank share, and where they wait for each other: where a
/// callback takes the model, or epochs have one. Threads report every few thousand tokens, so a
/// mutex is cheap enough. Thread-safe.
class RunState {
 public:
  /// `start`: where this rank begins. `stops_by_agreement`: when the callback returns false, only
  /// `asked_to_stop` is true then, so that ranks stop together.
  RunState(const RunOptions& options, const Checkpoint::Rank& start, std::uint64_t tokens_per_epoch,
           bool stops_by_agreement)
      : options_(options),
        total_tokens_(tokens_per_epoch * options.parameters.epochs),
        before_(start.tokens),
        reached_(start),
        stops_by_agreement_(stops_by_agreement),
        training_(start.threads.size()) {
    for (const Checkpoint::Thread& thread : start.threads) epochs_ended_.push_back(thread.epoch);
    epochs_called_ = *std::ranges::min_element(epochs_ended_);
  }

  /// Returns where this rank is.
  Checkpoint::Rank reached() const {
    const std::lock_guard lock(guard_);
    return reached_;
  }
  void set_position(std::size_t thread, const Checkpoint::Thread& position) {
    const std::lock_guard lock(guard_);
    reached_.threads[thread] = position;
  }

  /// Returns the fraction of the whole run that is done, 0 to 1, including `more` tokens that have
  /// not been reported.
  double fraction(std::uint64_t more = 0) const {
    const std::lock_guard lock(guard_);
    return Progress{.tokens = reached_.tokens + more, .total_tokens = total_tokens_}.fraction();
  }
  bool stopped() const noexcept { return stop_.load(std::memory_order_relaxed); }
  void stop() {
    const std::lock_guard lock(guard_);
    stop_ = true;
    changed_.notify_all();
  }
  /// Sets a function that completes the model before a callback takes it, while no thread trains.
  void before_callbacks(std::function<void()> gather) { gather_ = std::move(gather); }
  /// Sets what one thread does after every `words` words, while no thread trains. It is called with
  /// the learning rate.
  void after_rounds(std::uint64_t words, std::function<void(double)> end_round) {
    round_words_ = words;
    end_round_ = std::move(end_round);
  }
  bool asked_to_stop() const noexcept { return asked_.load(std::memory_order_relaxed); }

  /// `failure`: why the last checkpoint was not written; empty: it was.
  void set_checkpoint_failure(std::string failure) {
    const std::lock_guard lock(guard_);
    checkpoint_failure_ = std::move(failure);
  }
  void throw_checkpoint_failure() const {
    const std::lock_guard lock(guard_);
    if (!checkpoint_failure_.empty()) throw IoError(checkpoint_failure_);
  }

  /// Adds what a thread did in `epoch` and returns the fraction of the whole run that is done.
  /// Throws TrainingError when its loss is not finite. `rate`: the learning rate it trained with.
  double report(const WorkDone& done, std::size_t epoch, double rate, const Model& model) {
    const std::lock_guard lock(guard_);
    const std::uint64_t rounds = reached_.tokens / round_words_;
    reached_.tokens += done.tokens;
    if (reached_.tokens / round_words_ != rounds) round_ended_ = due_ = true;
    const double loss = done.loss.value();
    if (!std::isfinite(loss)) throw_diverged(loss, epoch, rate);
    reached_.losses[epoch].add(loss, done.examples);
    since_callback_.add(loss, done.examples);
    epoch_ = epoch;
    rate_ = rate;
    const Callback& callback = options_.on_progress;
    if (callback.call && seconds() >= last_callback_ + options_.progress_interval.count()) {
      if (callback.takes_model)
        callback_is_due_ = due_ = true;
      else
        call_back(model);
    }
    return Progress{.tokens = reached_.tokens, .total_tokens = total_tokens_}.fraction();
  }

  /// Whether something is due that takes the whole model: threads then pause() between two
  /// sentences.
  bool is_due() const noexcept { return due_.load(std::memory_order_relaxed); }
  /// Lets the last thread that comes here or waits elsewhere do it, while none trains.
  void pause(const Model& model) {
    std::unique_lock lock(guard_);
    wait(lock, model, [&] { return !due_; });
  }

  /// Before a thread trains in `epoch`: waits until all have ended those before it.
  void begin_epoch(std::size_t epoch, const Model& model) {
    if (!options_.on_epoch.call) return;
    std::unique_lock lock(guard_);
    wait(lock, model, [&] { return epochs_called_ >= epoch; });
  }
  /// When a thread has reported all of it. The last one calls back.
  void end_epoch(std::size_t thread, std::size_t epoch, const Model& model) {
    if (!options_.on_epoch.call) return;
    const std::lock_guard lock(guard_);
    epochs_ended_[thread] = epoch + 1;
    for (; epochs_called_ < *std::ranges::min_element(epochs_ended_); ++epochs_called_) {
      Progress now = progress();
      now.epoch = epochs_called_;
      now.mean_loss = reached_.losses[epochs_called_].mean();
      call(options_.on_epoch, now, model);
    }
    changed_.notify_all();
  }
  /// When a thread has trained all that it has to.
  void leave() {
    const std::lock_guard lock(guard_);
    --training_;
    changed_.notify_all();
  }

  /// Calls back for the last time, after all threads have returned.
  void end(const Model& model) {
    if (!stopped()) total_tokens_ = reached_.tokens;  // the shard of a rank is about its share
    if (options_.on_progress.call) call_back(model);
  }
  /// The last report.
  TrainReport finish() const {
    TrainReport result{.tokens = reached_.tokens,
                       .seconds = seconds(),
                       .stopped = stopped(),
                       .checkpoint_failure = checkpoint_failure_};
    result.words_per_second = speed(result.seconds);
    result.loss = std::numeric_limits<double>::quiet_NaN();
    for (const Checkpoint::EpochLoss& epoch : reached_.losses) {
      result.epoch_losses.push_back(epoch.mean());
      if (epoch.examples > 0) result.loss = epoch.mean();
    }
    return result;
  }

 private:
  using Clock = std::chrono::steady_clock;

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  double speed(double seconds) const {
    return static_cast<double>(reached_.tokens - before_) / std::max(seconds, 1e-9);
  }

  Progress progress() const {
    const double now = seconds();
    const std::uint64_t left = total_tokens_ - std::min(reached_.tokens, total_tokens_);
    return {.epoch = epoch_,
            .epochs = reached_.losses.size(),
            .tokens = reached_.tokens,
            .total_tokens = total_tokens_,
            .seconds = now,
            .words_per_second = speed(now),
            .learning_rate = rate_,
            .eta_seconds = static_cast<double>(left) / std::max(speed(now), 1e-9),
            .checkpoint_failure = checkpoint_failure_};
  }

  void call_back(const Model& model) {
    Progress now = progress();
    now.mean_loss = std::exchange(since_callback_, {}).mean();
    last_callback_ = now.seconds;
    call(options_.on_progress, now, model);
  }
  void call(const Callback& callback, const Progress& now, const Model& model) {
    if (callback.takes_model) gather_();
    if (callback.call(now, model)) return;
    (stops_by_agreement_ ? asked_ : stop_) = true;
    changed_.notify_all();
  }

  /// Waits until `ready()` or the end of training. When all threads wait, one of them does what is
  /// due.
  template <class Ready>
  void wait(std::unique_lock<std::mutex>& lock, const Model& model, const Ready& ready) {
    ++waiting_;
    while (!ready()) {
      if (due_ && waiting_ == training_) {
        if (std::exchange(round_ended_, false)) end_round_(rate_);
        if (std::exchange(callback_is_due_, false) && !stopped()) call_back(model);
        due_ = false;
        changed_.notify_all();
      } else if (stopped()) {
        break;
      } else {
        changed_.wait(lock);
      }
    }
    --waiting_;
  }

  [[noreturn]] void throw_diverged(double loss, std::size_t epoch, double rate) const {
    std::ostringstream message;
    message << "training diverged: the loss is " << loss << " in epoch " << epoch + 1 << " of "
            << reached_.losses.size() << ", by token " << reached_.tokens << " of " << total_tokens_
            << ", at learning rate " << rate << "; try a lower learning rate";
    throw TrainingError(message.str());
  }

  const Clock::time_point start_ = Clock::now();
  std::function<void()> gather_ = [] {};
  const RunOptions& options_;
  std::uint64_t total_tokens_;
  const std::uint64_t before_;  // tokens of the checkpoint
  mutable std::mutex guard_;
  Checkpoint::Rank reached_;
  std::size_t epoch_ = 0;  // of the last report, as is the rate
  double rate_ = 0;
  Checkpoint::EpochLoss since_callback_;
  std::string checkpoint_failure_;
  double last_callback_ = 0;
  const bool stops_by_agreement_;
  std::atomic<bool> stop_{false}, asked_{false};
  std::condition_variable changed_;
  std::size_t training_, waiting_ = 0;  // threads that have not left; those of them in wait()
  std::atomic<bool> due_{false};
  bool callback_is_due_ = false, round_ended_ = false;
  std::uint64_t round_words_ = std::numeric_limits<std::uint64_t>::max();
  std::function<void(double)> end_round_;
  std::vector<std::size_t> epochs_ended_;  // [threads]
  std::size_t epochs_called_;              // back: all threads have ended them
};

/// A run of one rank: what its loops share, and what they do between two sentences: synchronise,
/// and write checkpoints when they are due, in the background. Functions are for one thread at a
/// time.
template <class Sync, class Schedule, class Replica>
struct Run {
  const RunOptions& options;
  Sync& sync;
  const Schedule& schedule;
  Model& model;
  Replica& replica;                        // what the SyncPolicy keeps alike
  const Checkpoint& beginning;             // where all ranks begin, without matrices
  const std::uint64_t tick_interval;       // words that this rank trains between two ticks, at most
  std::function<void()> arrive = [] {};    // ends and reports all that is in progress
  std::function<void()> download = [] {};  // makes `model` what `replica` is
  // Adds the changes that threads have not merged yet to copies of the model's matrices.
  std::function<void(std::vector<NamedMatrix>&)> complete = [](std::vector<NamedMatrix>&) {};

  const Hyperparameters& parameters = options.parameters;
  const Checkpoint::Rank& start = beginning.ranks[sync.rank()];
  const std::uint64_t tokens_per_epoch = beginning.corpus_tokens / sync.size();  // of this rank
  RunState state{options, start, tokens_per_epoch, sync.size() > 1};
  std::chrono::steady_clock::time_point last_write = std::chrono::steady_clock::now();
  std::future<void> write = {};

  /// Synchronises where that is due: where a run begins, more than one synchronisation may be.
  void synchronise(double progress, Signal request = Signal::go_on) {
    Signal signal = sync.tick(replica, progress, request);
    while (signal != Signal::go_on) {
      pause(signal);
      if (signal == Signal::stop) return;
      signal = sync.tick(replica, progress, Signal::go_on);
    }
  }
  /// The same; requests a checkpoint where one is due, or the end where the program requested it.
  void tick(double progress) {
    const std::chrono::duration<double> age = std::chrono::steady_clock::now() - last_write;
    const bool is_due = options.saves() && sync.rank() == 0 && age >= options.checkpoint_interval;
    synchronise(progress, state.asked_to_stop() ? Signal::stop
                          : is_due              ? Signal::checkpoint
                                                : Signal::go_on);
  }
  /// After all threads have returned. Throws IoError when a run that was stopped could not write
  /// its last checkpoint. Of several ranks, none fails after another one has returned.
  void end() {
    if (write.valid()) write.get();  // the last callback reports its failure
    if (options.on_progress.takes_model) download();
    state.end(model);
    if (sync.size() > 1) wait_for_write();
    for (Signal signal = sync.finish(replica); signal != Signal::go_on;
         signal = sync.finish(replica)) {
      pause(signal);
      wait_for_write();
    }
    if (sync.size() == 1 && state.stopped()) pause(Signal::stop);
    wait_for_write();
  }

  /// Makes all replicas alike; rank 0 writes where all ranks are, where there are checkpoints.
  /// Other threads may train the model while it is copied: the changes that they have made
  /// since they last reported are trained again on resuming.
  void pause(Signal signal) {
    arrive();
    std::vector<std::uint64_t> own;  // taken before other threads continue
    if (options.saves()) own = state.reached().numbers();
    const Positions all = sync.gather(replica, own);
    if (signal == Signal::stop) state.stop();
    if (!options.saves() || sync.rank() != 0) return;
    if (write.valid()) write.get();
    download();
    attempt([&] {
      Checkpoint now{beginning.method,
                     beginning.vocabulary,
                     beginning.corpus,
                     beginning.corpus_tokens,
                     all.sync_state[0],
                     all.sync_state[1],
                     {},
                     model.copy_of_matrices()};
      complete(now.matrices);
      now.set_positions(all.numbers, start.losses.size(), start.threads.size());
      write = std::async(std::launch::async, [this, now = std::move(now)] {
        attempt([&] {
          now.save(options.checkpoint);
          state.set_checkpoint_failure("");
        });
      });
    });
    last_write = std::chrono::steady_clock::now();
  }

  /// Saves by `save()`; a failure is remembered, and the next checkpoint is due as ever.
  template <class Save>
  void attempt(Save save) {
    try {
      save();
    } catch (const std::exception& error) {
      state.set_checkpoint_failure("cannot write checkpoint '" + options.checkpoint.string() +
                                   "': " + error.what());
    }
  }
  void wait_for_write() {
    if (write.valid()) write.get();
    if (state.stopped()) state.throw_checkpoint_failure();
  }
};

}  // namespace wordloom::inline WORDLOOM_ABI::detail
