#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sync/concept.hpp>
#include <wordloom/train/checkpoint.hpp>
#include <wordloom/train/run_state.hpp>

namespace wordloom::detail {

/// Writes checkpoints of a run while its threads train. Thread-safe except `begin` and `wait`,
/// which are for one thread.
class Checkpointer {
 public:
  /// `start`: where the run begins; `rank`: the number of this rank.
  Checkpointer(std::filesystem::path path, double seconds, const Checkpoint& start,
               std::size_t rank)
      : path_(std::move(path)),
        seconds_(seconds),
        method_(start.method),
        vocabulary_(start.vocabulary),
        corpus_tokens_(start.corpus_tokens),
        own_(start.ranks[rank]) {}

  /// Takes note of the position of a thread.
  void set_position(std::size_t thread, const Checkpoint::Thread& position) {
    const std::lock_guard lock(guard_);
    own_.threads[thread] = position;
  }
  /// The position of this rank.
  Checkpoint::Rank own(RunState& state) {
    const std::lock_guard lock(guard_);
    state.save(own_);
    return own_;
  }

  bool is_due() const { return Clock::now() - last_ >= std::chrono::duration<double>(seconds_); }

  /// Copies the model, which other threads may go on with (Hogwild: the changes they have made
  /// since they last reported are trained again on resuming), and writes it in the background.
  /// Throws the failure of the write before.
  void begin(const Model& model, const Positions& positions) {
    wait();
    Checkpoint checkpoint;
    checkpoint.method = method_;
    checkpoint.vocabulary = vocabulary_;
    checkpoint.corpus_tokens = corpus_tokens_;
    checkpoint.synchronisations = positions.sync_state[0];
    checkpoint.sync_options = positions.sync_state[1];
    for (const auto& numbers : positions.ranks)
      checkpoint.ranks.push_back(
          Checkpoint::Rank::from(numbers, own_.losses.size(), own_.threads.size()));
    checkpoint.matrices = model.copy_of_matrices();
    writer_ = std::jthread([this, checkpoint = std::move(checkpoint)]() noexcept {
      try {
        checkpoint.save(path_);
      } catch (...) {
        failure_ = std::current_exception();
      }
    });
    last_ = Clock::now();
  }

  /// Waits until the write that `begin` started is over. Throws its failure.
  void wait() {
    if (writer_.joinable()) writer_.join();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  using Clock = std::chrono::steady_clock;

  std::filesystem::path path_;
  double seconds_;
  std::mutex guard_;
  const std::uint64_t method_, vocabulary_, corpus_tokens_;
  Checkpoint::Rank own_;
  Clock::time_point last_ = Clock::now();
  std::exception_ptr failure_;
  std::jthread writer_;  // last: it ends before the members that it uses
};

/// Loads the checkpoint in `path` and gives its matrices to the model. Throws IoError, FormatError,
/// and InvalidArgument when it is not of the run that `expected` is of, with as many ranks, threads
/// and epochs, or not of a model of this shape.
inline Checkpoint load_checkpoint(const std::filesystem::path& path, const Checkpoint& expected,
                                  Model& model) {
  Checkpoint loaded = Checkpoint::load(path);
  const auto require = [&](const std::string& what, std::uint64_t got, std::uint64_t wanted) {
    if (got != wanted)
      throw InvalidArgument("'" + path.string() + "' is of another " + what + ": " +
                            std::to_string(got) + ", not " + std::to_string(wanted));
  };
  require("method or set of hyperparameters (fingerprint)", loaded.method, expected.method);
  require("vocabulary (fingerprint)", loaded.vocabulary, expected.vocabulary);
  require("corpus (words)", loaded.corpus_tokens, expected.corpus_tokens);
  require("number of ranks", loaded.ranks.size(), expected.ranks.size());
  const Checkpoint::Rank &first = loaded.ranks[0], &wanted = expected.ranks[0];
  require("number of threads", first.threads.size(), wanted.threads.size());
  require("number of epochs", first.losses.size(), wanted.losses.size());
  model.set_matrices(std::exchange(loaded.matrices, {}));
  return loaded;
}

}  // namespace wordloom::detail
