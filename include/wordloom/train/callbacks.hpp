#pragma once
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <iomanip>
#include <limits>
#include <ostream>
#include <sstream>
#include <utility>

#include <wordloom/core/detail/finite.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/train/detail/callback.hpp>
#include <wordloom/train/detail/checkpoint.hpp>
#include <wordloom/train/progress.hpp>

/// Callbacks for Trainer::add. A custom callback is a function or an object with
///
///     bool on_progress(const Progress&);  // or (const Progress&, const Model&), or void
///     bool on_epoch(const Progress&);     // likewise; an object may have both
///     std::chrono::milliseconds interval() const;  // between calls of on_progress; without: 1 s
///
/// that stops training when it returns false. Callbacks are called one at a time, by any of the
/// training threads: OnCallingThread chooses the one that called `fit`. While one that takes the
/// model runs, no thread trains.
namespace wordloom { inline namespace WORDLOOM_ABI {

/// Calls another callback only on the thread that called `fit`, which trains as thread 0: for hosts
/// whose interpreter or window belongs to that thread. It may come late: when that thread reaches
/// the end of its sentence.
template <class Callback>
struct OnCallingThread {
  explicit OnCallingThread(Callback function_or_object) : callback(std::move(function_or_object)) {}

  Callback callback;
};

/// Writes checkpoints: see Trainer::checkpoint_to. A trainer has one.
struct Checkpoint {
  /// The ranks that wrote a checkpoint, and the threads of each; 1 thread where they train columns
  /// or on a GPU.
  struct Team {
    std::size_t ranks, threads;
  };

  explicit Checkpoint(std::filesystem::path file,
                      std::chrono::duration<double> every = std::chrono::minutes(10))
      : path(std::move(file)), interval(every) {}

  /// Returns who wrote the file at `path`. Throws IoError, and FormatError if it is no checkpoint.
  Team team() const;
  /// Returns the model in the file at `path`, with the state of an optimizer, to query, to save or
  /// to train further. `vocabulary`: that of the run, of which a checkpoint has no words. Throws as
  /// team(), and InvalidArgument for another vocabulary and for a model with subwords, which
  /// Trainer::resume_training can read.
  Model model(const Vocabulary& vocabulary) const;

  std::filesystem::path path;
  std::chrono::duration<double> interval;
};

/// Writes a line of progress over the one before, and a line feed at the end of a run. Writes to
/// `out`, which must outlive the trainer, on any of the training threads.
class ProgressBar {
 public:
  explicit ProgressBar(std::ostream& out,
                       std::chrono::duration<double> interval = std::chrono::milliseconds(200))
      : out_(&out), interval_(interval) {}

  std::chrono::duration<double> interval() const { return interval_; }
  void on_progress(const Progress& progress);

 private:
  std::ostream* out_;
  std::chrono::duration<double> interval_;
};

/// Writes a line with the mean loss of each epoch to `out`, which must outlive the trainer.
class PrintLoss {
 public:
  explicit PrintLoss(std::ostream& out) : out_(&out) {}
  void on_epoch(const Progress& progress);

 private:
  std::ostream* out_;
};

/// Stops training after `patience` epochs in a row whose loss was not lower than the lowest before
/// by at least `min_change`. The vectors are those of the last epoch.
class EarlyStopping {
 public:
  /// Throws InvalidArgument for a patience of 0 and for a change that is negative or NaN.
  explicit EarlyStopping(std::size_t patience = 1, double min_change = 0)
      : patience_(patience), min_change_(min_change) {
    if (patience == 0) throw InvalidArgument("patience is 0, must be at least 1");
    if (detail::is_nan(min_change) || min_change < 0)
      throw InvalidArgument{"min_change is ", min_change, ", must be 0 or above"};
  }

  bool on_epoch(const Progress& progress) {
    if (progress.epoch == 0) *this = EarlyStopping(patience_, min_change_);  // a new run
    if (progress.mean_loss < lowest_ - min_change_ || lowest_ == none) {
      lowest_ = progress.mean_loss;
      worse_ = 0;
      return true;
    }
    return ++worse_ < patience_;
  }

 private:
  static constexpr double none = (std::numeric_limits<double>::max)();

  std::size_t patience_;
  double min_change_;
  double lowest_ = none;
  std::size_t worse_ = 0;  // epochs in a row
};

/// Calls `evaluate(progress, model)` after every `epochs` epochs, while no thread trains; it may
/// return false to stop.
template <class Evaluate>
class EvaluateEvery {
 public:
  /// Throws InvalidArgument for 0 epochs.
  EvaluateEvery(std::size_t epochs, Evaluate evaluate)
      : epochs_(epochs), evaluate_(std::move(evaluate)) {
    if (epochs == 0) throw InvalidArgument("epochs is 0, must be at least 1");
  }

  bool on_epoch(const Progress& progress, const Model& model) {
    if ((progress.epoch + 1) % epochs_ != 0) return true;
    if constexpr (std::is_void_v<decltype(evaluate_(progress, model))>)
      return evaluate_(progress, model), true;
    else
      return static_cast<bool>(evaluate_(progress, model));
  }

 private:
  std::size_t epochs_;
  Evaluate evaluate_;
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION Checkpoint::Team Checkpoint::team() const {
  const auto [ranks, threads] = detail::Checkpoint::load_team(path);
  return {ranks, threads};
}

WORDLOOM_FUNCTION Model Checkpoint::model(const Vocabulary& vocabulary) const {
  auto loaded = detail::Checkpoint::load(path);
  const auto rows_of = [&](std::size_t i) { return loaded.matrices[i].matrix.rows(); };
  if (loaded.vocabulary != vocabulary.fingerprint())
    throw InvalidArgument{"'", path, "' was written with another vocabulary: give that of the run"};
  if (loaded.matrices.empty() || rows_of(0) != vocabulary.size())
    throw InvalidArgument{"'", path, "' has a model with subwords or an encoder: resume_training ",
                          "of its trainer reads that"};
  const bool two = loaded.matrices.size() > 1 && loaded.matrices[1].name == "output";
  Model result(vocabulary, {.dimension = loaded.matrices[0].matrix.columns(),
                            .output_rows = two ? rows_of(1) : 0,
                            .one_matrix = !two});
  result.set_matrices(std::move(loaded.matrices));
  return result;
}

WORDLOOM_FUNCTION void ProgressBar::on_progress(const Progress& progress) {
  std::ostringstream line;  // the caller's stream keeps its format
  line << std::fixed << "\repoch " << progress.epoch + 1 << '/' << progress.epochs << std::setw(7)
       << std::setprecision(1) << 100 * progress.fraction() << "%  " << std::setprecision(2)
       << progress.words_per_second / 1e6 << "M words/s  ";
  if (detail::is_finite(progress.mean_loss))
    line << "loss " << std::setprecision(4) << progress.mean_loss << "  ";
  line << std::setprecision(0) << progress.eta_seconds << " s left   ";
  if (progress.ended) line << '\n';
  *out_ << line.str() << std::flush;
}

WORDLOOM_FUNCTION void PrintLoss::on_epoch(const Progress& progress) {
  std::ostringstream line;
  line << "epoch " << progress.epoch + 1 << ": loss " << progress.mean_loss << '\n';
  *out_ << line.str() << std::flush;
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
