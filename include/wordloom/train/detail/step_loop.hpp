#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>

#include <wordloom/model/model.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/train/detail/checkpoint.hpp>
#include <wordloom/train/detail/model_checks.hpp>
#include <wordloom/train/detail/rank_run.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The part that loops share whose steps one thread submits: batches of sentences, or columns. The
/// engine trains them in their order, some of them in flight at a time.
template <class Engine, class Run>
class StepLoop {
 protected:
  /// `in_flight`: the steps after which one is waited for.
  StepLoop(Engine& engine, Run& run, std::size_t in_flight)
      : engine_(engine), run_(run), at_(run.start.threads[0]), max_in_flight_(in_flight) {
    run.arrive = [this] { arrive(); };
    run.download = [this] { engine_.download(run_.model); };
    run.state.before_callbacks = run.download;
  }

  /// Returns whether there is an epoch to train, or the rest of one.
  bool goes_on() const { return at_.epoch < run_.parameters.epochs && !run_.state.stopped(); }

  /// Must be called when a step of `words` words was submitted, with the learning rate `rate`.
  void submitted(std::uint64_t words, double rate) {
    in_flight_.push_back({words, at_.epoch, rate});
    if (in_flight_.size() == max_in_flight_) wait_for_one();
  }
  /// Does all that is due after a step; `at_` is the position behind it.
  void end_step(double progress) {
    if (run_.state.is_due()) {
      arrive();
      run_.state.pause(run_.model);
    }
    run_.tick(progress);
  }
  /// Ends the epoch, unless training stops: the run that resumes it then does so. Throws
  /// TrainingError if the engine can tell that the model has diverged.
  void end_epoch(bool contexts = true) {
    arrive();
    if (run_.state.stopped()) return;
    if constexpr (requires { engine_.largest(Model::Side::input); }) {
      require_convergence("input", engine_.largest(Model::Side::input));
      require_convergence("output", engine_.largest(Model::Side::output));
    }
    run_.state.end_epoch(0, at_.epoch, contexts, run_.model);
    at_ = {.epoch = at_.epoch + 1};
  }
  void arrive() {
    while (!in_flight_.empty()) wait_for_one();
    run_.state.set_position(0, at_);
  }

  Engine& engine_;
  Run& run_;
  Checkpoint::Thread at_;  // the next step, by the sentences or columns of its epoch before it
  std::size_t max_in_flight_;

 private:
  struct Step {
    std::uint64_t words, epoch;
    double rate;
  };

  void wait_for_one() {
    const auto trained = engine_.wait();
    const Step step = in_flight_.front();
    in_flight_.pop_front();
    run_.state.report(
        {step.words, static_cast<std::uint64_t>(trained.examples), LossSum(trained.loss), 1},
        step.epoch, step.rate, run_.model);
  }

  std::deque<Step> in_flight_;
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
