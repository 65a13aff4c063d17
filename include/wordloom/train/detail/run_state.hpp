#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/train/detail/checkpoint.hpp>
#include <wordloom/train/detail/run_options.hpp>
#include <wordloom/train/detail/work_done.hpp>
#include <wordloom/train/progress.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The progress that the threads of a rank share, and the points at which they wait for each other:
/// for a callback that takes the model, or for one at the end of an epoch. Threads report every few
/// thousand tokens, so a mutex is cheap enough. Thread-safe.
class RunState {
 public:
  /// `start`: the position at which this rank begins. `stops_by_agreement`: when the callback
  /// returns false, only `asked_to_stop` becomes true, so that ranks stop together.
  RunState(const RunOptions& options, const Checkpoint::Rank& start, std::uint64_t tokens_per_epoch,
           bool stops_by_agreement);

  /// Returns the position of this rank.
  Checkpoint::Rank reached() const;
  void set_position(std::size_t thread, const Checkpoint::Thread& position);

  /// Returns the fraction of the whole run that is done, 0 to 1, including `more` tokens that have
  /// not been reported.
  double fraction(std::uint64_t more = 0) const;
  bool stopped() const noexcept { return stop_.load(std::memory_order_relaxed); }
  void stop();
  /// Sets a function that completes the model before a callback takes it, while no thread trains.
  void before_callbacks(std::function<void()> gather) { gather_ = std::move(gather); }
  /// Sets a function that is called after such a callback, before any thread trains again.
  void after_callbacks(std::function<void()> restore) { restore_ = std::move(restore); }
  /// Sets a function that one thread calls after every `words` words, while no thread trains, with
  /// the learning rate.
  void after_rounds(std::uint64_t words, std::function<void(double)> end_round) {
    round_words_ = words;
    end_round_ = std::move(end_round);
  }
  bool asked_to_stop() const noexcept { return asked_.load(std::memory_order_relaxed); }

  /// `failure`: the reason why the last checkpoint was not written; empty if it was.
  void set_checkpoint_failure(std::optional<IoError> failure);
  void throw_checkpoint_failure() const;

  /// Adds the work of a thread in `epoch` and returns the fraction of the whole run that is done.
  /// Throws TrainingError if its loss is not finite. `rate`: the learning rate it trained with.
  double report(const WorkDone& done, std::size_t epoch, double rate, const Model& model);

  /// Returns whether something is due that takes the whole model: threads then pause() between two
  /// sentences.
  bool is_due() const noexcept { return due_.load(std::memory_order_relaxed); }
  /// Waits for the other threads; the last to arrive here or to wait elsewhere does the due work.
  void pause(const Model& model);

  /// Must be called before a thread trains in `epoch`: waits until all have ended earlier epochs.
  void begin_epoch(std::size_t epoch, const Model& model);
  /// Must be called when a thread has reported all of `epoch`. The last thread calls back.
  void end_epoch(std::size_t thread, std::size_t epoch, const Model& model);
  /// Must be called when a thread of the only rank has reported its first epoch: FirstEpoch::end.
  void end_first_epoch(bool contexts);
  /// Must be called when a thread has trained its whole shard.
  void leave();

  /// Calls back for the last time, after all threads have returned.
  void end(const Model& model);
  /// Returns the last report.
  TrainReport finish() const;

 private:
  using Clock = std::chrono::steady_clock;

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  double speed(double seconds) const {
    return static_cast<double>(reached_.tokens - before_) / std::max(seconds, 1e-9);
  }

  Progress progress() const;

  /// Calls those callbacks of progress that are due, where this thread may: all, or those that do
  /// not take the model.
  void call_due(const Model& model, bool with_model);
  void call_progress(std::size_t i, const Model& model, bool ended = false);
  void call(const Callback& callback, const Progress& now, const Model& model);
  /// Calls back for the epochs that all threads have ended, where this thread may.
  void call_epochs(const Model& model);
  /// Returns whether this thread may call all callbacks of epochs (`each_epoch`), or all of
  /// progress that take the model.
  bool may_call(bool each_epoch) const;
  bool epochs_are_due() const { return epochs_called_ < *std::ranges::min_element(epochs_ended_); }
  bool is_caller() const { return std::this_thread::get_id() == caller_; }

  /// Waits until `ready()` or the end of training. When all threads wait, one of them does the due
  /// work.
  template <class Ready>
  void wait(std::unique_lock<std::mutex>& lock, const Model& model, const Ready& ready);

  [[noreturn]] void throw_diverged(double loss, std::size_t epoch, double rate) const;

  const Clock::time_point start_ = Clock::now();
  std::function<void()> gather_ = [] {}, restore_ = [] {};
  const RunOptions& options_;
  std::uint64_t total_tokens_;
  const std::uint64_t before_;  // tokens of the checkpoint
  mutable std::mutex guard_;
  Checkpoint::Rank reached_;
  std::size_t epoch_ = 0;  // of the last report, like the rate
  double rate_ = 0;
  /// A callback of progress between two of its calls.
  struct Called {
    double last = 0;  // in seconds
    double last_loss = std::numeric_limits<double>::quiet_NaN();
    Checkpoint::EpochLoss since = {};
  };
  std::vector<Called> called_ = std::vector<Called>(options_.callbacks.list.size());
  const std::thread::id caller_ = std::this_thread::get_id();
  bool caller_left_ = false;  // it has trained all that it has to
  const bool has_epochs_ = options_.callbacks.has_epochs();
  FirstEpoch first_epoch_;
  std::optional<IoError> checkpoint_failure_;
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

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION RunState::RunState(const RunOptions& options, const Checkpoint::Rank& start,
                                     std::uint64_t tokens_per_epoch, bool stops_by_agreement)
    : options_(options),
      total_tokens_(tokens_per_epoch * options.parameters.epochs),
      before_(start.tokens),
      reached_(start),
      first_epoch_{start.tokens > 0, start.tokens > 0},
      stops_by_agreement_(stops_by_agreement),
      training_(start.threads.size()) {
  for (const Checkpoint::Thread& thread : start.threads) epochs_ended_.push_back(thread.epoch);
  epochs_called_ = *std::ranges::min_element(epochs_ended_);
}

WORDLOOM_FUNCTION Checkpoint::Rank RunState::reached() const {
  const std::lock_guard lock(guard_);
  return reached_;
}

WORDLOOM_FUNCTION void RunState::set_position(std::size_t thread,
                                              const Checkpoint::Thread& position) {
  const std::lock_guard lock(guard_);
  reached_.threads[thread] = position;
}

WORDLOOM_FUNCTION double RunState::fraction(std::uint64_t more) const {
  const std::lock_guard lock(guard_);
  return Progress{.tokens = reached_.tokens + more, .total_tokens = total_tokens_}.fraction();
}

WORDLOOM_FUNCTION void RunState::stop() {
  const std::lock_guard lock(guard_);
  stop_ = true;
  changed_.notify_all();
}

WORDLOOM_FUNCTION void RunState::set_checkpoint_failure(std::optional<IoError> failure) {
  const std::lock_guard lock(guard_);
  checkpoint_failure_ = std::move(failure);
}

WORDLOOM_FUNCTION void RunState::throw_checkpoint_failure() const {
  const std::lock_guard lock(guard_);
  if (checkpoint_failure_) throw IoError(*checkpoint_failure_);
}

WORDLOOM_FUNCTION void RunState::end_first_epoch(bool contexts) {
  const std::lock_guard lock(guard_);
  first_epoch_.end(contexts, epochs_ended_.size());
}

WORDLOOM_FUNCTION void RunState::leave() {
  const std::lock_guard lock(guard_);
  --training_;
  if (is_caller()) caller_left_ = true;
  changed_.notify_all();
}

WORDLOOM_FUNCTION double RunState::report(const WorkDone& done, std::size_t epoch, double rate,
                                          const Model& model) {
  const std::lock_guard lock(guard_);
  const std::uint64_t rounds = reached_.tokens / round_words_;
  reached_.tokens += done.tokens;
  if (reached_.tokens / round_words_ != rounds) round_ended_ = due_ = true;
  const double loss = done.loss.value();
  if (!std::isfinite(loss)) throw_diverged(loss, epoch, rate);
  reached_.losses[epoch].add(loss, done.examples);
  for (Called& called : called_) called.since.add(loss, done.examples);
  first_epoch_.trained |= done.blocks > 0;
  epoch_ = epoch;
  rate_ = rate;
  call_due(model, false);
  return Progress{.tokens = reached_.tokens, .total_tokens = total_tokens_}.fraction();
}

template <class Ready>
void RunState::wait(std::unique_lock<std::mutex>& lock, const Model& model, const Ready& ready) {
  if (++waiting_ == training_) changed_.notify_all();  // one of them may be alone to call back
  while (!ready()) {
    if (due_ && waiting_ == training_ && (!callback_is_due_ || may_call(false))) {
      if (std::exchange(round_ended_, false)) end_round_(rate_);
      if (std::exchange(callback_is_due_, false) && !stopped()) call_due(model, true);
      due_ = false;
      changed_.notify_all();
    } else if (!stopped() && epochs_are_due() && may_call(true)) {
      call_epochs(model);
    } else if (stopped()) {
      break;
    } else {
      changed_.wait(lock);
    }
  }
  --waiting_;
}

WORDLOOM_FUNCTION void RunState::pause(const Model& model) {
  std::unique_lock lock(guard_);
  wait(lock, model, [&] { return !due_; });
}

WORDLOOM_FUNCTION void RunState::begin_epoch(std::size_t epoch, const Model& model) {
  if (!has_epochs_) return;
  std::unique_lock lock(guard_);
  wait(lock, model, [&] { return epochs_called_ >= epoch; });
}

WORDLOOM_FUNCTION void RunState::end_epoch(std::size_t thread, std::size_t epoch,
                                           const Model& model) {
  if (!has_epochs_) return;
  const std::lock_guard lock(guard_);
  epochs_ended_[thread] = epoch + 1;
  if (may_call(true)) call_epochs(model);
  changed_.notify_all();
}

WORDLOOM_FUNCTION void RunState::call_epochs(const Model& model) {
  for (; epochs_are_due(); ++epochs_called_) {
    Progress now = progress();
    now.epoch = epochs_called_;
    now.mean_loss = reached_.losses[epochs_called_].mean();
    for (const Callback& callback : options_.callbacks.list)
      if (callback.each_epoch) call(callback, now, model);
  }
}

WORDLOOM_FUNCTION bool RunState::may_call(bool each_epoch) const {
  if (is_caller()) return true;
  if (!each_epoch && caller_left_) return true;  // without those that only it may call
  for (const Callback& callback : options_.callbacks.list)
    if (callback.on_calling_thread && callback.each_epoch == each_epoch &&
        (each_epoch || callback.takes_model))
      return false;
  return true;
}

WORDLOOM_FUNCTION void RunState::end(const Model& model) {
  if (!stopped()) {
    total_tokens_ = reached_.tokens;  // the shard of a rank is about its share
    call_epochs(model);               // of the last epoch, where only this thread may
  }
  for (std::size_t i = 0; i < called_.size(); ++i)
    if (!options_.callbacks.list[i].each_epoch) call_progress(i, model, true);
}

WORDLOOM_FUNCTION TrainReport RunState::finish() const {
  TrainReport result{.tokens = reached_.tokens,
                     .seconds = seconds(),
                     .stopped = stopped(),
                     .checkpoint_failure = checkpoint_failure_ ? checkpoint_failure_->what() : ""};
  result.words_per_second = speed(result.seconds);
  result.loss = std::numeric_limits<double>::quiet_NaN();
  for (const Checkpoint::EpochLoss& epoch : reached_.losses) {
    result.epoch_losses.push_back(epoch.mean());
    if (epoch.examples > 0) result.loss = epoch.mean();
  }
  return result;
}

WORDLOOM_FUNCTION Progress RunState::progress() const {
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
          .checkpoint_failure = checkpoint_failure_ ? checkpoint_failure_->what() : ""};
}

WORDLOOM_FUNCTION void RunState::call_due(const Model& model, bool with_model) {
  for (std::size_t i = 0; i < called_.size(); ++i) {
    const Callback& callback = options_.callbacks.list[i];
    if (callback.each_epoch || seconds() < called_[i].last + callback.interval) continue;
    const bool may = !callback.on_calling_thread || is_caller();
    if (callback.takes_model == with_model) {
      if (may) call_progress(i, model);
    } else if (callback.takes_model && (may || !caller_left_)) {
      callback_is_due_ = due_ = true;
    }
  }
}

WORDLOOM_FUNCTION void RunState::call_progress(std::size_t i, const Model& model, bool ended) {
  Progress now = progress();
  now.ended = ended;
  const auto since = std::exchange(called_[i].since, {});
  if (since.examples > 0) called_[i].last_loss = since.mean();
  now.mean_loss = called_[i].last_loss;
  called_[i].last = now.seconds;
  call(options_.callbacks.list[i], now, model);
}

WORDLOOM_FUNCTION void RunState::call(const Callback& callback, const Progress& now,
                                      const Model& model) {
  if (callback.takes_model) gather_();
  bool goes_on = false;
  try {
    goes_on = callback.call(now, model);
  } catch (...) {  // others train until they learn of it
    if (callback.takes_model) restore_();
    throw;
  }
  if (callback.takes_model) restore_();
  if (goes_on) return;
  (stops_by_agreement_ ? asked_ : stop_) = true;
  changed_.notify_all();
}

WORDLOOM_FUNCTION void RunState::throw_diverged(double loss, std::size_t epoch, double rate) const {
  std::ostringstream message;
  message << "training diverged: the loss is " << loss << " in epoch " << epoch + 1 << " of "
          << reached_.losses.size() << ", by token " << reached_.tokens << " of " << total_tokens_
          << ", at learning rate " << rate << "; try a lower learning rate";
  throw TrainingError(message.str());
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
