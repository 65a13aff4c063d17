#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <wordloom/core/detail/abi.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// The progress of a training run. Words are in-vocabulary corpus words before subsampling.
struct Progress {
  std::size_t epoch = 0;           // the epoch that is being trained, from 0
  std::size_t epochs = 0;          // of the run
  std::uint64_t tokens = 0;        // trained so far, all epochs together
  std::uint64_t total_tokens = 0;  // of the run; with several ranks, about equal on each
  double seconds = 0;              // since training began
  double words_per_second = 0;     // mean since training began
  double learning_rate = 0;        // as of now
  /// Mean loss of an example since the last call; if none was measured, that of the last call. NaN
  /// until one was measured.
  double mean_loss = 0;
  double eta_seconds = 0;  // to the end, at the mean speed
  /// The reason why the last checkpoint was not written; empty if it was written or none was due.
  /// See checkpoint_to.
  std::string checkpoint_failure = {};
  bool ended = false;  // in the last call of a run

  /// Returns the fraction of the run that is done, 0 to 1; 1 in the last call, unless the run was
  /// stopped.
  double fraction() const {
    return tokens >= total_tokens ? 1.0
                                  : static_cast<double>(tokens) / static_cast<double>(total_tokens);
  }
};

/// The report of a finished run.
struct TrainReport {
  std::uint64_t tokens = 0;  // trained, all epochs together
  /// Time of training, until the last step or synchronisation ended: without the last copy of the
  /// model from a device.
  double seconds = 0;
  double words_per_second = 0;  // tokens / seconds
  /// Mean loss of an example in the last trained epoch: the sum of -log sigma(score) of its
  /// positives and -log sigma(-score) of its negatives, each measured just before its update, on a
  /// sixteenth of the tokens (and at least one pair of each report). An example is a context word
  /// of a centre for skip-gram, a centre for CBOW. Weights do not count: losses of samplers that
  /// weight pairs cannot be compared with others.
  double loss = 0;
  std::vector<double> epoch_losses = {};  // of each epoch; NaN if nothing was trained
  /// Seconds of each epoch: to its end from that of the one before, for the first epoch of this run
  /// from its start. Includes callbacks that were called meanwhile. NaN if it was not ended.
  std::vector<double> epoch_seconds = {};
  /// Maximum number of sentences (of words for kernels that divide sentences) that a device trained
  /// at a time, which is at most the number that fits it; 0 if threads of the host trained.
  std::size_t sentences_in_flight = 0;
  bool stopped = false;                 // by a callback
  std::string checkpoint_failure = {};  // see Progress
};

}}  // namespace wordloom::WORDLOOM_ABI
