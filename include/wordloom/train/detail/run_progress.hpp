#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <sstream>
#include <vector>

#include <wordloom/core/detail/finite.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/train/detail/checkpoint.hpp>
#include <wordloom/train/progress.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The work of one thread since its last report.
struct WorkDone {
  std::uint64_t tokens = 0;
  std::uint64_t examples = 0;  // number of examples whose loss is in `loss`
  LossSum loss;
  std::uint64_t blocks = 0;  // blocks whose loss was measured
};

/// Thrown at the end of the first epoch if no pair of different words was trained.
struct NothingTrained : std::exception {};

/// The progress of a rank. Not thread-safe.
struct RunProgress {
  Checkpoint::Rank reached;           // the current position; at first, the start of the run
  std::uint64_t total_tokens;         // of the run
  std::size_t epoch = first_epoch();  // of the last report, as is the rate
  double rate = 0;
  std::optional<IoError> checkpoint_failure = {};
  std::size_t sentences_in_flight = 0;          // see TrainReport
  const std::uint64_t before = reached.tokens;  // tokens before this run
  const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::optional<std::chrono::steady_clock::time_point> clock_stopped = {};
  std::size_t epochs_noted = epochs_ended();  // whose end was noted, or was before this run
  // [epochs] in seconds(); NaN of an epoch that did not end in this run
  std::vector<double> epoch_ends =
      std::vector<double>(reached.losses.size(), std::numeric_limits<double>::quiet_NaN());

  /// Returns the fraction of the whole run that is done, 0 to 1, including `more` tokens.
  double fraction(std::uint64_t more = 0) const {
    return Progress{.tokens = reached.tokens + more, .total_tokens = total_tokens}.fraction();
  }
  /// Returns the seconds since the start; once stop_clock() was called, until its last call.
  double seconds() const {
    const auto now = clock_stopped ? *clock_stopped : std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - start).count();
  }
  void stop_clock() { clock_stopped = std::chrono::steady_clock::now(); }
  /// Returns the number of epochs that all threads have ended.
  std::size_t epochs_ended() const {
    return (std::ranges::min)(reached.threads, {}, &Checkpoint::Thread::epoch).epoch;
  }

  /// Must be called when a thread has ended an epoch: notes the time if it was the last one.
  void note_epochs() {
    while (epochs_noted < epochs_ended()) epoch_ends[epochs_noted++] = seconds();
  }
  /// Adds the work of a thread in an epoch, done at a learning rate. Throws TrainingError if its
  /// loss is not finite.
  void add(const WorkDone& done, std::size_t in_epoch, double at_rate);
  /// Returns the current progress, without a mean loss.
  Progress now() const;
  TrainReport report(bool stopped) const;

 private:
  std::size_t first_epoch() const { return (std::min)(epochs_ended(), reached.losses.size() - 1); }
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION void RunProgress::add(const WorkDone& done, std::size_t in_epoch,
                                        double at_rate) {
  epoch = in_epoch;
  rate = at_rate;
  reached.tokens += done.tokens;
  const double loss = done.loss.value();
  reached.losses[epoch].add(loss, done.examples);
  if (is_finite(loss)) return;
  std::ostringstream message;
  message << "training diverged: the loss is " << loss << " in epoch " << epoch + 1 << " of "
          << reached.losses.size() << ", by token " << reached.tokens << " of " << total_tokens
          << ", at learning rate " << rate << "; try a lower learning rate";
  throw TrainingError(message.str());
}

WORDLOOM_FUNCTION Progress RunProgress::now() const {
  const double time = seconds();
  const double speed = static_cast<double>(reached.tokens - before) / (std::max)(time, 1e-9);
  const std::uint64_t left = total_tokens - (std::min)(reached.tokens, total_tokens);
  return {.epoch = epoch,
          .epochs = reached.losses.size(),
          .tokens = reached.tokens,
          .total_tokens = total_tokens,
          .seconds = time,
          .words_per_second = speed,
          .learning_rate = rate,
          .eta_seconds = static_cast<double>(left) / (std::max)(speed, 1e-9),
          .checkpoint_failure = checkpoint_failure ? checkpoint_failure->what() : ""};
}

WORDLOOM_FUNCTION TrainReport RunProgress::report(bool stopped) const {
  const Progress at = now();
  TrainReport result{.tokens = at.tokens,
                     .seconds = at.seconds,
                     .words_per_second = at.words_per_second,
                     .loss = std::numeric_limits<double>::quiet_NaN(),
                     .sentences_in_flight = sentences_in_flight,
                     .stopped = stopped,
                     .checkpoint_failure = at.checkpoint_failure};
  for (const Checkpoint::EpochLoss& of_epoch : reached.losses) {
    result.epoch_losses.push_back(of_epoch.mean());
    if (of_epoch.examples > 0) result.loss = of_epoch.mean();
  }
  double begin = 0;
  for (const double end : epoch_ends) {
    result.epoch_seconds.push_back(end - begin);
    if (is_finite(end)) begin = end;
  }
  return result;
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
