#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/sampler/block.hpp>
#include <wordloom/train/progress.hpp>

namespace wordloom::detail {

/// The work of one thread since its last report.
struct WorkDone {
  std::uint64_t tokens = 0;
  std::uint64_t examples = 0;  // that `loss` is of
  LossSum loss;
};

[[noreturn]] inline void throw_too_large(const Block& block, BlockShape max) {
  const auto shape = [](std::size_t inputs, std::size_t outputs, std::size_t members) {
    return std::to_string(inputs) + " x " + std::to_string(outputs) +
           (members == 0 ? "" : " with " + std::to_string(members) + " members of bags");
  };
  throw InvalidArgument(
      "the sampler made a block of " +
      shape(block.input_count(), block.outputs.size(), block.has_bags() ? block.inputs.size() : 0) +
      ", more than its max_block() of " + shape(max.inputs, max.outputs, max.members));
}

/// The progress that the threads of a training run share. Threads report every few thousand tokens,
/// so a mutex is cheap enough. Thread-safe.
class RunState {
 public:
  RunState(std::uint64_t tokens_per_epoch, std::size_t epochs, ProgressCallback callback,
           double callback_seconds)
      : callback_(std::move(callback)), callback_seconds_(callback_seconds), epoch_sums_(epochs) {
    progress_.epochs = epochs;
    progress_.total_tokens = tokens_per_epoch * epochs;
  }

  /// Resumes where a Checkpoint::Rank was.
  template <class Rank>
  void resume(const Rank& rank) {
    progress_.tokens = before_ = rank.tokens;
    for (std::size_t i = 0; i < epoch_sums_.size() && i < rank.losses.size(); ++i)
      epoch_sums_[i] = {rank.losses[i].loss, rank.losses[i].examples};
  }
  template <class Rank>
  void save(Rank& rank) {
    const std::lock_guard lock(guard_);
    rank.tokens = progress_.tokens;
    rank.losses.clear();
    for (const Sum& sum : epoch_sums_) rank.losses.push_back({sum.loss, sum.examples});
  }

  /// Of the whole run, 0 to 1, with so many tokens that have not been reported.
  double fraction(std::uint64_t more = 0) {
    const std::lock_guard lock(guard_);
    Progress progress = progress_;
    progress.tokens += more;
    return progress.fraction();
  }
  bool stopped() const noexcept { return stop_.load(std::memory_order_relaxed); }
  void stop() noexcept { stop_.store(true, std::memory_order_relaxed); }
  /// When the callback returns false: only `asked_to_stop` then, so that ranks stop together.
  void stop_by_agreement() noexcept { by_agreement_ = true; }
  bool asked_to_stop() const noexcept { return asked_.load(std::memory_order_relaxed); }

  /// Adds what a thread did in `epoch` and returns the fraction of the whole run that is done.
  /// Throws TrainingError when its loss is not finite. `rate`: the learning rate it trained with.
  double report(const WorkDone& done, std::size_t epoch, double rate) {
    const std::lock_guard lock(guard_);
    progress_.tokens += done.tokens;
    const double loss = done.loss.value();
    if (!std::isfinite(loss)) throw_diverged(loss, epoch, rate);
    epoch_sums_[epoch] += {loss, done.examples};
    since_callback_ += {loss, done.examples};
    progress_.epoch = epoch;
    progress_.learning_rate = rate;
    if (callback_ && seconds() >= last_callback_ + callback_seconds_) call_back();
    return progress_.fraction();
  }

  /// The last report, after all threads have returned.
  TrainReport finish() {
    if (callback_) call_back();
    TrainReport result{.tokens = progress_.tokens, .seconds = seconds(), .stopped = stopped()};
    result.words_per_second = speed(result.seconds);
    result.loss = std::numeric_limits<double>::quiet_NaN();
    for (const Sum& sum : epoch_sums_) {
      result.epoch_losses.push_back(sum.mean());
      if (sum.examples > 0) result.loss = sum.mean();
    }
    return result;
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Sum {
    double loss = 0;
    std::uint64_t examples = 0;
    Sum& operator+=(const Sum& other) {
      loss += other.loss;
      examples += other.examples;
      return *this;
    }
    double mean() const { return loss / static_cast<double>(examples); }  // NaN for no examples
  };

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  double speed(double seconds) const {
    return static_cast<double>(progress_.tokens - before_) / std::max(seconds, 1e-9);
  }

  void call_back() {
    progress_.seconds = seconds();
    progress_.words_per_second = speed(progress_.seconds);
    const auto left = static_cast<double>(progress_.total_tokens -
                                          std::min(progress_.tokens, progress_.total_tokens));
    progress_.eta_seconds = left / std::max(progress_.words_per_second, 1e-9);
    progress_.mean_loss = since_callback_.mean();
    since_callback_ = {};
    last_callback_ = progress_.seconds;
    if (callback_(progress_)) return;
    asked_.store(true, std::memory_order_relaxed);
    if (!by_agreement_) stop();
  }

  [[noreturn]] void throw_diverged(double loss, std::size_t epoch, double rate) const {
    std::ostringstream message;
    message << "training diverged: the loss is " << loss << " in epoch " << epoch + 1 << " of "
            << progress_.epochs << ", by token " << progress_.tokens << " of "
            << progress_.total_tokens << ", at learning rate " << rate
            << "; try a lower learning rate";
    throw TrainingError(message.str());
  }

  const Clock::time_point start_ = Clock::now();
  ProgressCallback callback_;
  double callback_seconds_;
  std::atomic<bool> stop_{false}, asked_{false};
  bool by_agreement_ = false;
  std::mutex guard_;
  Progress progress_;
  std::uint64_t before_ = 0;  // tokens that a checkpoint had
  std::vector<Sum> epoch_sums_;
  Sum since_callback_;
  double last_callback_ = 0;
};

}  // namespace wordloom::detail
