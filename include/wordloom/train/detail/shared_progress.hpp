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
  /// Sets the file of checkpoints. Throws InvalidArgument if the trainer already has one.
  void add_checkpoint(const std::filesystem::path& path, std::chrono::duration<double> interval) {
    if (saves())
      throw InvalidArgument{"this trainer writes its checkpoints to '", checkpoint,
                            "' already: it has one file of them"};
    checkpoint = path;
    checkpoint_interval = interval;
  }
};

/// The progress that the threads of a rank share, and the points at which they wait for each other:
/// for a callback that takes the model, for a callback at the end of an epoch, or for the end of a
/// round. Threads report every few thousand tokens, so a mutex is cheap enough. Thread-safe.
class SharedProgress {
 public:
  /// `start`: the position at which this rank begins. `is_alone`: false if there are several ranks.
  /// They must stop together, so a callback that returns false then only sets asked_to_stop().
  SharedProgress(const TrainerSettings& options, const Checkpoint::Rank& start,
                 std::uint64_t tokens_per_epoch, bool is_alone);

  // Functions that a training loop sets before threads train. Each is called by one thread, while
  // no thread trains.
  std::function<void()> before_callbacks = [] {};  // completes the model that a callback will read
  std::function<void()> after_callbacks = [] {};   // prepares the model for training again
  std::uint64_t round_words = (std::numeric_limits<std::uint64_t>::max)();  // between two rounds
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
  /// Returns the position of this rank. `stops`: also stops training and calls no more callbacks of
  /// epochs; the run that resumes from the position calls them.
  Checkpoint::Rank reached(bool stops);
  void set_position(std::size_t thread, const Checkpoint::Thread& position) {
    const std::lock_guard lock(guard_);
    progress_.reached.threads[thread] = position;
  }

  /// `failure`: the reason why the last checkpoint was not written; empty if it was.
  void set_checkpoint_failure(std::optional<IoError> failure);
  void throw_checkpoint_failure() const {
    const std::lock_guard lock(guard_);
    if (progress_.checkpoint_failure) throw IoError(*progress_.checkpoint_failure);
  }

  /// Adds the work of a thread in `epoch`, calls the due callbacks that do not take the model, and
  /// returns the fraction of the whole run that is done. `rate`: the learning rate of that work.
  /// Throws TrainingError if its loss is not finite.
  double report(const WorkDone& done, std::size_t epoch, double rate, const Model& model);

  /// Returns whether a callback that takes the model or the end of a round is due. Threads then
  /// call pause() between two sentences.
  bool is_due() const noexcept { return due_.load(std::memory_order_relaxed); }
  /// Waits until all threads wait, here or in begin_epoch(). One of them then does the due work.
  void pause(const Model& model) { wait(std::nullopt, model); }

  /// Waits, if there are callbacks of epochs, until they have been called for all epochs before
  /// `epoch`. Each thread must call it before it trains in `epoch`.
  void begin_epoch(std::size_t epoch, const Model& model) {
    if (std::ranges::any_of(options_.callbacks, &Callback::each_epoch)) wait(epoch, model);
  }
  /// Moves a thread to the beginning of the next epoch. Each thread must call it after it has
  /// reported all of `epoch`. The last one calls the callbacks of the epoch: once, even if the run
  /// is stopped there and resumed. Throws NothingTrained after the first epoch of a single rank if
  /// nothing was trained. `contexts`: the thread has seen a sentence of two different words.
  void end_epoch(std::size_t thread, std::size_t epoch, bool contexts, const Model& model);
  /// Removes a thread from those that others wait for. Each thread must call it after its last
  /// work.
  void leave();

  /// Calls the remaining callbacks of epochs, then each callback of progress for the last time.
  /// Call it after all threads have returned.
  void end(const Model& model);
  /// Makes the time of training end now; the last call counts.
  void stop_clock() {
    const std::lock_guard lock(guard_);
    progress_.stop_clock();
  }
  /// Sets the number of sentences that a device trains at a time.
  void set_in_flight(std::size_t sentences) {
    const std::lock_guard lock(guard_);
    progress_.sentences_in_flight = sentences;
  }
  /// Returns the report of the run.
  TrainReport summary() const { return progress_.report(stopped()); }

 private:
  /// The state of a callback of progress between two of its calls.
  struct Called {
    double last = 0;  // in seconds
    double last_loss = std::numeric_limits<double>::quiet_NaN();
    Checkpoint::EpochLoss since = {};
  };

  static constexpr std::size_t never =
      (std::numeric_limits<std::size_t>::max)();  // no epoch is due

  bool is_caller() const { return std::this_thread::get_id() == caller_; }
  bool epochs_are_due() const { return epochs_called_ < progress_.epochs_ended(); }

  /// Waits until the callbacks of all epochs before `epoch` have been called; without `epoch`,
  /// until nothing is due. Also returns when training stops. When all threads wait, one of them
  /// does the due work.
  void wait(std::optional<std::size_t> epoch, const Model& model);
  /// Returns whether this thread may call all callbacks of epochs (`each_epoch`), or else all
  /// callbacks of progress that take the model. Some must be called by the thread that called
  /// fit().
  bool may_call(bool each_epoch) const;

  /// Calls the due callbacks of progress that this thread may call: with `with_model` those that
  /// take the model. Otherwise those that do not, and requests a pause for the others.
  void call_due(const Model& model, bool with_model);
  void call_progress(std::size_t i, const Model& model, bool ended = false);
  /// Calls the callbacks of the epochs that all threads have ended.
  void call_epochs(const Model& model);
  void call(const Callback& callback, const Progress& now, const Model& model);

  const std::thread::id caller_ = std::this_thread::get_id();
  const TrainerSettings& options_;
  const bool is_alone_;
  mutable std::mutex guard_;
  RunProgress progress_;
  std::vector<Called> called_ = std::vector<Called>(options_.callbacks.size());
  std::size_t epochs_called_ = progress_.epochs_ended();  // whose callbacks were called
  bool caller_left_ = false;                              // the calling thread has left
  bool trained_, has_contexts_;  // a block was; a sentence had two different words
  std::atomic<bool> stop_{false}, asked_{false}, due_{false};
  bool callback_is_due_ = false, round_ended_ = false;
  std::condition_variable changed_;
  std::size_t training_, waiting_ = 0;  // threads that have not left; those of them in wait()
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail

#if WORDLOOM_DEFINES_FUNCTIONS
#include <wordloom/train/detail/shared_progress.inl>
#endif
