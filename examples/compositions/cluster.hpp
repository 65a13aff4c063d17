#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/core/error.hpp>
#include <wordloom/optimizer/concept.hpp>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/bf16_ranks.hpp>
#include <wordloom/sync/in_process.hpp>
#include <wordloom/sync/row_allgather.hpp>

#if WORDLOOM_HAS_MPI
#include <wordloom/mpi.hpp>
#endif

/// The processes that train together; only one without --sync.
class Cluster {
 public:
#if WORDLOOM_HAS_MPI
  using Ranks = wordloom::MpiRanks;
#else
  using Ranks = wordloom::InProcess;  // never constructed
#endif
  using SyncRanks = wordloom::Bf16Ranks<Ranks>;  // changes are exchanged as bfloat16 on request
  using Sync = wordloom::Allreduce<SyncRanks, wordloom::AnyRule>;
  using ColumnSync = wordloom::RowAllgather<Ranks>;

  /// Joins the other processes. Throws InvalidArgument in a build without MPI.
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

  /// Makes the other processes, if any, end with an error that names this one.
  void fail(const std::string& cause) noexcept {
    if (ranks_) ranks_->fail(cause);
  }

 private:
#if WORDLOOM_HAS_MPI
  std::unique_ptr<wordloom::MpiSession> session_;
#endif
  std::optional<Ranks> ranks_;
};

/// A SyncPolicy that is NoSync for one process, so that one trainer serves both.
template <class Sync>
class OptionalSync {
 public:
  using Replica = typename Sync::Replica;
  static constexpr bool shares_rows = requires { requires Sync::shares_rows; };

  explicit OptionalSync(std::optional<Sync> sync) : sync_(std::move(sync)) {}
  std::size_t rank() const { return sync_ ? sync_->rank() : 0; }
  std::size_t size() const { return sync_ ? sync_->size() : 1; }
  std::uint64_t start(Replica& replica, wordloom::SyncRun& run) {
    return sync_ ? sync_->start(replica, run) : none_.start(replica, run);
  }
  wordloom::Signal tick(Replica& replica, double progress, wordloom::Signal request) {
    return sync_ ? sync_->tick(replica, progress, request) : none_.tick(replica, progress, request);
  }
  wordloom::Positions gather(Replica& replica, std::span<const std::uint64_t> numbers) {
    return sync_ ? sync_->gather(replica, numbers) : none_.gather(replica, numbers);
  }
  wordloom::Signal finish(Replica& replica) {
    return sync_ ? sync_->finish(replica) : none_.finish(replica);
  }
  void fail(const std::string& cause) {
    if (sync_) sync_->fail(cause);
  }
  void share_rows(Replica& replica, wordloom::Side side, std::size_t first, std::size_t last) {
    if constexpr (shares_rows)
      if (sync_) sync_->share_rows(replica, side, first, last);
  }

 private:
  std::optional<Sync> sync_;
  wordloom::NoSync none_;
};

using ClusterSync = OptionalSync<Cluster::Sync>;
