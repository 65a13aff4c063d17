#pragma once
#include <chrono>
#include <filesystem>

#include <wordloom/core/error.hpp>
#include <wordloom/core/files.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/train/detail/callback.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The options of a trainer, besides its policies.
struct RunOptions {
  Hyperparameters parameters;
  Callbacks callbacks = {};
  std::filesystem::path checkpoint = {};  // empty: none
  std::chrono::duration<double> checkpoint_interval{600};

  bool saves() const { return !checkpoint.empty(); }
  /// Throws InvalidArgument where there is a file of checkpoints already.
  void add_checkpoint(const std::filesystem::path& path, std::chrono::duration<double> interval) {
    if (saves())
      throw InvalidArgument{"this trainer writes its checkpoints to '", checkpoint,
                            "' already: it has one file of them"};
    checkpoint = path;
    checkpoint_interval = interval;
  }
  /// Throws IoError if the checkpoint cannot be written, so that a wrong name does not cost hours.
  void try_checkpoint() const {
    if (saves()) static_cast<void>(AtomicFile{checkpoint});
  }
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
