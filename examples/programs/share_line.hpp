#pragma once
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

#include "interrupts.hpp"

/// Shows the counts of the input on stderr when the work begins, and then the share that is done:
/// one line that is overwritten on a terminal, else a line a second. Throws Interrupted after a
/// signal.
class ShareLine {
 public:
  /// `name`: "node2vec: prone".
  ShareLine(std::string name, std::string counts, bool quiet)
      : name_(std::move(name)), counts_(std::move(counts)), quiet_(quiet) {}

  void show(double share) {
    check_signals();
    show_counts();
    const auto now = std::chrono::steady_clock::now();
    if (quiet_ || now < next_) return;
    next_ = now + std::chrono::milliseconds(terminal_ ? 200 : 1000);
    std::fprintf(stderr, "%s%s  %5.1f%%%s", terminal_ ? "\r" : "", name_.c_str(), 100 * share,
                 terminal_ ? "" : "\n");
    open_ = terminal_;
  }
  void end() {
    show_counts();
    if (open_) std::fputc('\n', stderr);
    open_ = false;
  }

 private:
  void show_counts() {
    if (!counts_.empty()) std::fprintf(stderr, "%s\n", std::exchange(counts_, {}).c_str());
  }

  std::string name_, counts_;
  bool quiet_, open_ = false, terminal_ = ::isatty(STDERR_FILENO) == 1;
  std::chrono::steady_clock::time_point next_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(1);
};
