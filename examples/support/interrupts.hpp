#pragma once
#include <csignal>
#include <stdexcept>

/// The first signal that `catch_signals` caught, 0 if there was none.
inline volatile std::sig_atomic_t caught_signal = 0;

/// Makes the signals that ask a program to stop only set `caught_signal`, so that it can write a
/// checkpoint and end without unfinished files: SIGINT, SIGTERM, SIGHUP, SIGXCPU, and SIGUSR1 and
/// SIGUSR2, by which batch systems and launchers warn. A launcher may repeat them, which changes
/// nothing; only a second SIGINT, as of Ctrl-C, ends the program at once. Ignores SIGXFSZ, so that
/// a file that exceeds the limit is an IoError. A signal that was ignored, for example under nohup,
/// stays ignored. Windows has SIGINT, SIGTERM and SIGBREAK (Ctrl-Break).
inline void catch_signals() {
#ifdef _WIN32
  constexpr int signals[] = {SIGINT, SIGTERM, SIGBREAK};
#else
  constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU};
#endif
  for (const int signal : signals) {
    const auto before = std::signal(signal, [](int caught) {
      if (caught_signal == 0) caught_signal = caught;
      if (caught == SIGINT) std::signal(SIGINT, SIG_DFL);
    });
    if (before == SIG_IGN) std::signal(signal, SIG_IGN);
  }
#ifndef _WIN32
  std::signal(SIGXFSZ, SIG_IGN);
#endif
}

struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted, no vectors written") {}
};

/// Returns the shell's exit code for an end by that signal, 128 + its number; 130 if another
/// process of the job caught it.
inline int exit_code_of_signal() { return 128 + (caught_signal != 0 ? caught_signal : SIGINT); }

/// Throws Interrupted if a signal was caught.
inline void check_signals() {
  if (caught_signal != 0) throw Interrupted();
}
