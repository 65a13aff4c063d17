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

}}}  // namespace wordloom::WORDLOOM_ABI::detail

#if WORDLOOM_DEFINES_FUNCTIONS
#include <wordloom/train/detail/shared_progress.inl>
#endif
