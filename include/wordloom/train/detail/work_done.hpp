#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>

#include <wordloom/objective/loss.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The work of one thread since its last report.
struct WorkDone {
  std::uint64_t tokens = 0;
  std::uint64_t examples = 0;  // number of examples in `loss`
  LossSum loss;
  std::uint64_t blocks = 0;  // blocks whose loss was measured
};

/// Thrown when all threads have ended the first epoch and no pair of words was trained.
struct NothingTrained : std::exception {};

/// Findings of the threads of a rank in their first epoch.
struct FirstEpoch {
  bool trained = false;       // the sampler has made a block
  bool has_contexts = false;  // a sentence has two different words
  std::size_t ended = 0;      // by threads

  /// Ends the first epoch of one of `threads` threads. `contexts`: whether a sentence of that
  /// thread has two different words. For the last thread, throws NothingTrained if nothing was
  /// trained, also before the checkpoint that a run resumes, or if no sentence has contexts.
  void end(bool contexts, std::size_t threads) {
    has_contexts |= contexts;
    if (++ended == threads && !(trained && has_contexts)) throw NothingTrained();
  }
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
