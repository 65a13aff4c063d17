#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/train/detail/callback.hpp>
#include <wordloom/train/detail/checkpoint.hpp>
#include <wordloom/train/detail/run_progress.hpp>
#include <wordloom/train/progress.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The options of a trainer, besides its policies.
struct TrainerSettings {
  Hyperparameters parameters;
  std::vector<Callback> callbacks = {};   // in the order in which they were added
  std::filesystem::path checkpoint = {};  // empty: none
  std::chrono::duration<double> checkpoint_interval{600};

  bool saves() const { return !checkpoint.empty(); }
  /// Throws InvalidArgument where there is a file of checkpoints already.
  void add_checkpoint(const std::filesystem::path& path, std::chrono::duration<double> interval) {
    if (saves())
      throw InvalidArgument{"this trainer writes its checkpoints to '", checkpoint,
                            "' already: it has one file of them"};
    checkpoint = path;
    checkpoint_interval = interval;
  }
};

/// The progress that the threads of a rank share, and the points at which they wait for each other:
/// for a callback that takes the model, or for one at the end of an epoch. Threads report every few
/// thousand tokens, so a mutex is cheap enough. Thread-safe.
class SharedProgress {
 public:
  /// `start`: the position at which this rank begins. `is_alone`: false for one of several ranks,
  /// which stop together: when a callback returns false, only `asked_to_stop` becomes true.
  SharedProgress(const TrainerSettings& options, const Checkpoint::Rank& start,
                 std::uint64_t tokens_per_epoch, bool is_alone);

  // Functions that a loop sets before threads train. Each is called by one thread, while no thread
  // trains.
  std::function<void()> before_callbacks = [] {};  // completes the model for one that takes it
  std::function<void()> after_callbacks = [] {};   // before threads train again
  std::uint64_t round_words = (std::numeric_limits<std::uint64_t>::max)();  // between two end_round
  std::function<void(double)> end_round;  // receives the learning rate

  bool stopped() const noexcept { return stop_.load(std::memory_order_relaxed); }
  bool asked_to_stop() const noexcept { return asked_.load(std::memory_order_relaxed); }
  void stop() {
    const std::lock_guard lock(guard_);
    stop_ = true;
    changed_.notify_all();
  }
  /// Returns the fraction of the whole run that is done, 0 to 1, including `more` tokens that have
  /// not been reported.
  double fraction(std::uint64_t more = 0) const {
    const std::lock_guard lock(guard_);
    return progress_.fraction(more);
  }
  /// Returns the position of this rank. `stops`: also stops training; the epochs that end later are
  /// reported by the run that resumes there.
  Checkpoint::Rank reached(bool stops);
  void set_position(std::size_t thread, const Checkpoint::Thread& position) {
    const std::lock_guard lock(guard_);
    progress_.reached.threads[thread] = position;
  }

  /// `failure`: the reason why the last checkpoint was not written; empty if it was.
  void set_checkpoint_failure(std::optional<IoError> failure) {
    const std::lock_guard lock(guard_);
    progress_.checkpoint_failure = std::move(failure);
  }
  void throw_checkpoint_failure() const {
    const std::lock_guard lock(guard_);
    if (progress_.checkpoint_failure) throw IoError(*progress_.checkpoint_failure);
  }

  /// Adds the work of a thread in `epoch` and returns the fraction of the whole run that is done.
  /// Throws TrainingError if its loss is not finite. `rate`: the learning rate it trained with.
  double report(const WorkDone& done, std::size_t epoch, double rate, const Model& model);

  /// Returns whether something is due that takes the whole model: threads then pause() between two
  /// sentences.
  bool is_due() const noexcept { return due_.load(std::memory_order_relaxed); }
  /// Waits for the other threads; the last to arrive here or to wait elsewhere does the due work.
  void pause(const Model& model) { wait(std::nullopt, model); }

  /// Must be called before a thread trains in `epoch`: waits until all have ended earlier epochs,
  /// if callbacks are called then.
  void begin_epoch(std::size_t epoch, const Model& model) {
    if (std::ranges::any_of(options_.callbacks, &Callback::each_epoch)) wait(epoch, model);
  }
  /// Must be called when a thread has reported all of `epoch`; its position is then the beginning
  /// of the next one. The last thread calls back: once for each epoch, also when the run is stopped
  /// there and resumed. Throws NothingTrained after the first epoch of a rank alone in which no
  /// pair was trained; `contexts`: whether the thread has seen a sentence of two different words.
  void end_epoch(std::size_t thread, std::size_t epoch, bool contexts, const Model& model);
  /// Must be called when a thread has trained its whole shard.
  void leave();

  /// Calls back for the last time, after all threads have returned.
  void end(const Model& model);
  /// Returns the report of the run.
  TrainReport summary() const { return progress_.report(stopped()); }

 private:
  /// A callback of progress between two of its calls.
  struct Called {
    double last = 0;  // in seconds
    double last_loss = std::numeric_limits<double>::quiet_NaN();
    Checkpoint::EpochLoss since = {};
  };

  static constexpr std::size_t never =
      (std::numeric_limits<std::size_t>::max)();  // no epoch is due

  bool is_caller() const { return std::this_thread::get_id() == caller_; }
  bool epochs_are_due() const { return epochs_called_ < progress_.epochs_ended(); }

  /// Waits until earlier epochs than `epoch` were called back, or, without, until nothing is due;
  /// or until training stops. When all threads wait, one of them does the due work.
  void wait(std::optional<std::size_t> epoch, const Model& model);
  /// Returns whether this thread may call all callbacks of epochs (`each_epoch`), or all of
  /// progress that take the model.
  bool may_call(bool each_epoch) const;

  /// Calls those callbacks of progress that are due, where this thread may: all, or those that do
  /// not take the model.
  void call_due(const Model& model, bool with_model);
  void call_progress(std::size_t i, const Model& model, bool ended = false);
  /// Calls back for the epochs that all threads have ended.
  void call_epochs(const Model& model);
  void call(const Callback& callback, const Progress& now, const Model& model);

  const std::thread::id caller_ = std::this_thread::get_id();
  const TrainerSettings& options_;
  const bool is_alone_;
  mutable std::mutex guard_;
  RunProgress progress_;
  std::vector<Called> called_ = std::vector<Called>(options_.callbacks.size());
  std::size_t epochs_called_ = progress_.epochs_ended();  // back
  bool caller_left_ = false;                              // it has trained all that it has to
  bool trained_, has_contexts_;  // any block; a sentence has two different words
  std::atomic<bool> stop_{false}, asked_{false}, due_{false};
  bool callback_is_due_ = false, round_ended_ = false;
  std::condition_variable changed_;
  std::size_t training_, waiting_ = 0;  // threads that have not left; those of them in wait()
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION SharedProgress::SharedProgress(const TrainerSettings& options,
                                                 const Checkpoint::Rank& start,
                                                 std::uint64_t tokens_per_epoch, bool is_alone)
    : options_(options),
      is_alone_(is_alone),
      progress_{start, tokens_per_epoch * options.parameters.epochs},
      trained_(start.tokens > 0),
      has_contexts_(start.tokens > 0),
      training_(start.threads.size()) {}

WORDLOOM_FUNCTION Checkpoint::Rank SharedProgress::reached(bool stops) {
  const std::lock_guard lock(guard_);
  if (stops) {
    stop_ = true;
    epochs_called_ = never;
    changed_.notify_all();
  }
  return progress_.reached;
}

WORDLOOM_FUNCTION void SharedProgress::leave() {
  const std::lock_guard lock(guard_);
  --training_;
  if (is_caller()) caller_left_ = true;
  changed_.notify_all();
}

WORDLOOM_FUNCTION double SharedProgress::report(const WorkDone& done, std::size_t epoch,
                                                double rate, const Model& model) {
  const std::lock_guard lock(guard_);
  const std::uint64_t rounds = progress_.reached.tokens / round_words;
  progress_.add(done, epoch, rate);
  if (progress_.reached.tokens / round_words != rounds) round_ended_ = due_ = true;
  for (Called& called : called_) called.since.add(done.loss.value(), done.examples);
  trained_ |= done.blocks > 0;
  call_due(model, false);
  return progress_.fraction();
}

WORDLOOM_FUNCTION void SharedProgress::wait(std::optional<std::size_t> epoch, const Model& model) {
  std::unique_lock lock(guard_);
  if (++waiting_ == training_) changed_.notify_all();  // one of them may be alone to call back
  while (epoch ? epochs_called_ < *epoch : due_.load()) {
    if (due_ && waiting_ == training_ && (!callback_is_due_ || may_call(false))) {
      if (std::exchange(round_ended_, false)) end_round(progress_.rate);
      if (std::exchange(callback_is_due_, false) && !stopped()) call_due(model, true);
      due_ = false;
      changed_.notify_all();
    } else if (epochs_are_due() && may_call(true)) {
      call_epochs(model);
    } else if (stopped()) {
      break;
    } else {
      changed_.wait(lock);
    }
  }
  --waiting_;
}

WORDLOOM_FUNCTION bool SharedProgress::may_call(bool each_epoch) const {
  if (is_caller() || (!each_epoch && caller_left_)) return true;  // without those of the caller
  return std::ranges::none_of(options_.callbacks, [&](const Callback& callback) {
    return callback.on_calling_thread && callback.each_epoch == each_epoch &&
           (each_epoch || callback.takes_model);
  });
}

WORDLOOM_FUNCTION void SharedProgress::end_epoch(std::size_t thread, std::size_t epoch,
                                                 bool contexts, const Model& model) {
  const std::lock_guard lock(guard_);
  progress_.reached.threads[thread] = {.epoch = epoch + 1};
  has_contexts_ |= contexts;
  if (is_alone_ && epoch == 0 && progress_.epochs_ended() > 0 && !(trained_ && has_contexts_)) {
    epochs_called_ = never;  // by the other threads
    throw NothingTrained();
  }
  if (may_call(true)) call_epochs(model);
  changed_.notify_all();
}

WORDLOOM_FUNCTION void SharedProgress::end(const Model& model) {
  if (!stopped())
    progress_.total_tokens = progress_.reached.tokens;  // the shard of a rank is about its share
  call_epochs(model);                                   // of the last, where only this thread may
  for (std::size_t i = 0; i < called_.size(); ++i)
    if (!options_.callbacks[i].each_epoch) call_progress(i, model, true);
}

WORDLOOM_FUNCTION void SharedProgress::call_due(const Model& model, bool with_model) {
  for (std::size_t i = 0; i < called_.size(); ++i) {
    const Callback& callback = options_.callbacks[i];
    if (callback.each_epoch || progress_.seconds() < called_[i].last + callback.interval) continue;
    const bool may = !callback.on_calling_thread || is_caller();
    if (callback.takes_model == with_model) {
      if (may) call_progress(i, model);
    } else if (callback.takes_model && (may || !caller_left_)) {
      callback_is_due_ = due_ = true;
    }
  }
}

WORDLOOM_FUNCTION void SharedProgress::call_progress(std::size_t i, const Model& model,
                                                     bool ended) {
  Called& called = called_[i];
  Progress now = progress_.now();
  now.ended = ended;
  const auto since = std::exchange(called.since, {});
  if (since.examples > 0) called.last_loss = since.mean();
  now.mean_loss = called.last_loss;
  called.last = now.seconds;
  call(options_.callbacks[i], now, model);
}

WORDLOOM_FUNCTION void SharedProgress::call_epochs(const Model& model) {
  while (epochs_are_due()) {
    Progress now = progress_.now();
    now.epoch = epochs_called_++;
    now.mean_loss = progress_.reached.losses[now.epoch].mean();
    for (const Callback& callback : options_.callbacks)
      if (callback.each_epoch) call(callback, now, model);
  }
}

WORDLOOM_FUNCTION void SharedProgress::call(const Callback& callback, const Progress& now,
                                            const Model& model) {
  if (callback.takes_model) before_callbacks();
  bool goes_on = false;
  try {
    goes_on = callback.call(now, model);
  } catch (...) {  // others train until they learn of it
    if (callback.takes_model) after_callbacks();
    throw;
  }
  if (callback.takes_model) after_callbacks();
  if (goes_on) return;
  (is_alone_ ? stop_ : asked_) = true;
  changed_.notify_all();
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
