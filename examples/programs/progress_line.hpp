#pragma once
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <wordloom/train/progress.hpp>

/// Progress on stderr: one line that is overwritten on a terminal, else a line a second.
class ProgressLine {
 public:
  /// Formats a speed.
  using Speed = std::function<std::string(double words_per_second)>;

  /// `counts`: numbers of the corpus, which are written first.
  ProgressLine(std::string program, bool quiet, Speed speed, std::string counts)
      : program_(std::move(program)),
        speed_(std::move(speed)),
        counts_(std::move(counts)),
        quiet_(quiet),
        terminal_(::isatty(STDERR_FILENO) == 1) {}

  /// Returns the time between two lines. It is short even without lines, so that an interrupt takes
  /// effect before a launcher that waits a second kills the process.
  std::chrono::milliseconds interval() const {
    return std::chrono::milliseconds(quiet_ ? 100 : terminal_ ? 200 : 1000);
  }

  /// Shows progress, and why a checkpoint was not written: once for each cause, even with --quiet.
  /// `more`: further numbers, each followed by two spaces.
  void show(const wordloom::Progress& progress, const std::string& more = {}) {
    if (progress.checkpoint_failure != failure_) {
      failure_ = progress.checkpoint_failure;
      if (!failure_.empty()) note("warning: " + failure_);
    }
    if (quiet_) return;
    if (!counts_.empty()) std::fprintf(stderr, "%s\n", std::exchange(counts_, {}).c_str());
    char loss[32] = "";  // none is known before the first pair is trained
    if (std::isfinite(progress.mean_loss))
      std::snprintf(loss, sizeof loss, "loss %.4f  ", progress.mean_loss);
    std::fprintf(stderr, "%sepoch %zu/%zu  %5.1f%%  %s  alpha %.6f  %s%s%.0f s left%s",
                 terminal_ ? "\r" : "", progress.epoch + 1, progress.epochs,
                 100.0 * progress.fraction(), speed_(progress.words_per_second).c_str(),
                 progress.learning_rate, loss, more.c_str(), progress.eta_seconds,
                 terminal_ ? "   " : "\n");
    open_ = terminal_;
  }

  /// Writes a line of its own.
  void note(const std::string& text) {
    end();
    std::fprintf(stderr, "%s: %s\n", program_.c_str(), text.c_str());
  }

  /// Ends the line of a terminal.
  void end() {
    if (open_) std::fputc('\n', stderr);
    open_ = false;
  }

 private:
  std::string program_;
  Speed speed_;
  std::string counts_;
  bool quiet_, terminal_, open_ = false;
  std::string failure_;  // shown last
};
