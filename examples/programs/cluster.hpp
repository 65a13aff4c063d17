#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>
#include <wordloom/core/error.hpp>
#include <wordloom/sync/bf16_ranks.hpp>
#include <wordloom/sync/thread_ranks.hpp>

#if WORDLOOM_HAS_MPI
#include <wordloom/mpi.hpp>
#endif

/// The processes that train together; only one without --sync.
class Cluster {
 public:
#if WORDLOOM_HAS_MPI
  using Ranks = wordloom::MpiRanks;
#else
  using Ranks = wordloom::ThreadRanks;  // never constructed
#endif
  using SyncRanks = wordloom::Bf16Ranks<Ranks>;  // changes are exchanged as bfloat16 on request

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
