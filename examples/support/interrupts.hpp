#pragma once
#include <csignal>
#include <stdexcept>

/// The last SIGINT, SIGTERM or SIGHUP since `catch_signals`, 0 if there was none.
inline volatile std::sig_atomic_t caught_signal = 0;

/// Makes the first of each of these signals only set `caught_signal`, so that the program can end
/// without unfinished files; a second one ends it at once. A signal that is ignored, for example
/// under nohup, stays ignored.
inline void catch_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const auto before = std::signal(signal, [](int caught) {
      caught_signal = caught;
      std::signal(caught, SIG_DFL);
    });
    if (before == SIG_IGN) std::signal(signal, SIG_IGN);
  }
}

struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted, no vectors written") {}
};

/// Returns the shell's exit code for an end by that signal; another process may have caught it.
inline int exit_code_of_signal() { return 128 + (caught_signal != 0 ? caught_signal : SIGINT); }

/// Throws Interrupted if a signal was caught.
inline void check_signals() {
  if (caught_signal != 0) throw Interrupted();
}
