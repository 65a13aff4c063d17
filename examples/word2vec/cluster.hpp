#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/core/error.hpp>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/bf16_ranks.hpp>
#include <wordloom/sync/in_process.hpp>
#include <wordloom/train/progress.hpp>

#if WORDLOOM_HAS_MPI
#include <wordloom/mpi.hpp>
#endif

/// The processes that train together, one without --sync.
class Cluster {
 public:
#if WORDLOOM_HAS_MPI
  using Ranks = wordloom::MpiRanks;
#else
  using Ranks = wordloom::InProcess;  // never made
#endif
  using SyncRanks = wordloom::Bf16Ranks<Ranks>;  // where it is asked for
  using Sync = wordloom::Allreduce<SyncRanks>;

  /// Joins the others. Throws InvalidArgument in a build without MPI.
  void join() {
#if WORDLOOM_HAS_MPI
    session_ = std::make_unique<wordloom::MpiSession>();
    ranks_.emplace();
#else
    throw wordloom::InvalidArgument("--sync needs a build with MPI (WORDLOOM_ENABLE_MPI)");
#endif
  }

  bool is_joined() const { return ranks_.has_value(); }
  bool is_first() const { return !ranks_ || ranks_->rank() == 0; }
  std::size_t rank() const { return ranks_ ? ranks_->rank() : 0; }
  std::size_t size() const { return ranks_ ? ranks_->size() : 1; }
  std::vector<std::uint64_t> gather(std::uint64_t number) {
    return ranks_ ? ranks_->gather(number) : std::vector{number};
  }
  const std::optional<Ranks>& ranks() const { return ranks_; }

  /// Ends all processes where there are others; the message is then written.
  void fail(const std::string& cause) noexcept {
    if (ranks_) ranks_->fail(cause);
  }

 private:
#if WORDLOOM_HAS_MPI
  std::unique_ptr<wordloom::MpiSession> session_;
#endif
  std::optional<Ranks> ranks_;
};

/// A SyncPolicy that is NoSync for one process, so that there is one trainer for both.
template <class Sync>
class OptionalSync {
 public:
  using Replica = typename Sync::Replica;

  explicit OptionalSync(std::optional<Sync> sync) : sync_(std::move(sync)) {}
  std::size_t rank() const { return sync_ ? sync_->rank() : 0; }
  std::size_t size() const { return sync_ ? sync_->size() : 1; }
  void agree(const char* what, std::uint64_t number) {
    if (sync_) sync_->agree(what, number);
  }
  void begin(const wordloom::Model& model, std::uint64_t words_per_epoch,
             const wordloom::Hyperparameters& parameters, std::function<double(double)> rate,
             std::uint64_t least_interval) {
    if (sync_) sync_->begin(model, words_per_epoch, parameters, std::move(rate), least_interval);
  }
  std::uint64_t least_interval() const {
    return sync_ ? sync_->least_interval() : std::numeric_limits<std::uint64_t>::max();
  }
  void broadcast(Replica& model) {
    if (sync_) sync_->broadcast(model);
  }
  void tick(Replica& model, double progress) {
    if (sync_) sync_->tick(model, progress);
  }
  void finish(Replica& model) {
    if (sync_) sync_->finish(model);
  }
  void fail(const std::string& cause) {
    if (sync_) sync_->fail(cause);
  }
  void ask_for_pause(bool to_stop) {
    if (sync_) sync_->ask_for_pause(to_stop);
  }
  bool stopping() const { return sync_ && sync_->stopping(); }
  bool paused() const { return sync_ && sync_->paused(); }
  void wait(Replica& model) {
    if (sync_) sync_->wait(model);
  }
  void settle(Replica& model) {
    if (sync_) sync_->settle(model);
  }
  std::vector<std::uint64_t> gather(std::uint64_t number) {
    return sync_ ? sync_->gather(number) : std::vector{number};
  }
  std::uint64_t synchronisations() const { return sync_ ? sync_->synchronisations() : 0; }
  std::uint64_t fingerprint() const { return sync_ ? sync_->fingerprint() : 0; }
  void go_on_after(std::uint64_t synchronisations) {
    if (sync_) sync_->go_on_after(synchronisations);
  }

 private:
  std::optional<Sync> sync_;
};

using ClusterSync = OptionalSync<Cluster::Sync>;
