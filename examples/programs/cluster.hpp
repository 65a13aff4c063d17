#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/core/error.hpp>
#include <wordloom/sync/bf16_ranks.hpp>
#include <wordloom/sync/thread_ranks.hpp>

#if WORDLOOM_HAS_MPI
#include <wordloom/mpi.hpp>
#endif

/// The processes that a launcher has started together, as its environment variables tell.
struct Launch {
  std::size_t size = 1, rank = 0;
  std::string variable = {};  // the one that holds the size; empty: started alone

  static Launch of_environment() {
    struct Names {
      const char *size, *rank;
    };
    // The first that is set is that of the innermost launcher. SLURM_NTASKS says nothing: it is set
    // in a batch script, too, which is one process.
    for (const auto& [size, rank] :
         {Names{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"}, Names{"PMI_SIZE", "PMI_RANK"},
          Names{"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}})
      if (const char* const number = std::getenv(size)) {
        const char* const own = std::getenv(rank);
        return {std::strtoul(number, nullptr, 10), own ? std::strtoul(own, nullptr, 10) : 0, size};
      }
    return {};
  }
};

/// The processes that train together; only one without --sync.
class Cluster {
 public:
  /// The exchanges of this process.
  struct Traffic {
    std::uint64_t bytes = 0;  // of its changes
    double wire_mbit = 0;     // that it has sent for them, Mbit
    double waited_seconds = 0;
  };

 private:
  struct Shared {
    std::function<void()> report;  // empty after the first failure
    // Written by the thread that synchronises, read by the one that shows progress.
    std::atomic<std::uint64_t> bytes = 0;
    std::atomic<double> wire_mbit = 0, waited_seconds = 0;
  };

 public:
#if WORDLOOM_HAS_MPI
  /// MpiRanks that count their traffic, and report a failure before they wait for other ranks.
  class Ranks : public wordloom::MpiRanks {
   public:
    Ranks(std::chrono::duration<double> timeout, std::shared_ptr<Shared> shared)
        : MpiRanks(MPI_COMM_WORLD, timeout), shared_(std::move(shared)) {}

    /// `values`: a span, or quantised rows.
    void begin_sum(const auto& values) requires requires(wordloom::MpiRanks& ranks) {
      ranks.begin_sum(values);
    }
    {
      // A rank sends its changes of the others' parts, and the sums of its own part to them.
      count(values.size_bytes(), 2 * share_of_others());
      MpiRanks::begin_sum(values);
    }
    void wait() {
      timed([&] { MpiRanks::wait(); });
    }
    void gather_rows(std::span<float> rows, std::size_t row_size,
                     std::span<const std::uint64_t> first) {
      count((first[rank() + 1] - first[rank()]) * row_size * sizeof(float),
            static_cast<double>(size() - 1));
      timed([&] { MpiRanks::gather_rows(rows, row_size, first); });
    }
    void begin_pass(std::span<std::byte> values) {
      count(values.size() / 2, 1);
      MpiRanks::begin_pass(values);
    }
    void begin_exchange(std::vector<std::string> to) {
      for (std::size_t r = 0; r < to.size(); ++r)
        if (r != rank()) count(to[r].size(), 1);
      timed([&] { MpiRanks::begin_exchange(std::move(to)); });
    }
    std::vector<std::string> end_exchange() {
      std::vector<std::string> from;
      timed([&] { from = MpiRanks::end_exchange(); });
      return from;
    }
    std::vector<std::string> exchange(std::vector<std::string> to) {
      begin_exchange(std::move(to));
      return end_exchange();
    }
    void fail(const std::string& cause) noexcept {
      report(*shared_);
      MpiRanks::fail(cause);
    }

   private:
    template <class Wait>
    void timed(Wait wait) {
      const auto begin = std::chrono::steady_clock::now();
      wait();
      shared_->waited_seconds +=
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    double share_of_others() const {
      return static_cast<double>(size() - 1) / static_cast<double>(size());
    }
    void count(std::size_t bytes, double times_sent) {
      shared_->bytes += bytes;
      shared_->wire_mbit += static_cast<double>(bytes) * times_sent * 8e-6;
    }

    std::shared_ptr<Shared> shared_;
  };
#else
  using Ranks = wordloom::ThreadRanks;  // never constructed
#endif
  using SyncRanks = wordloom::Bf16Ranks<Ranks>;  // of GPUs: bfloat16 on request

  /// `report` prints the exception that is being handled. It is called once, before this process
  /// waits for the others.
  explicit Cluster(std::function<void()> report) { shared_->report = std::move(report); }

  /// Joins the other processes. `timeout`: see MpiRanks. Throws InvalidArgument in a build without
  /// MPI, and SyncError if MPI does not know of the processes that a launcher has started.
  void join([[maybe_unused]] double timeout) {
#if WORDLOOM_HAS_MPI
    session_ = std::make_unique<wordloom::MpiSession>();
    ranks_.emplace(std::chrono::duration<double>(timeout), shared_);
    const auto launch = Launch::of_environment();
    if (launch.size > 1 && size() == 1)
      throw wordloom::SyncError{"MPI knows of one process, the launcher has started ", launch.size,
                                " (", launch.variable,
                                "): use the launcher of the MPI that this program was built with; "
                                "with srun, give --mpi=pmix for Open MPI, --mpi=pmi2 for MPICH"};
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
  std::uint64_t sum(std::uint64_t number) {
    const auto all = gather(number);
    return std::accumulate(all.begin(), all.end(), std::uint64_t{0});
  }
  const std::optional<Ranks>& ranks() const { return ranks_; }
  /// Forgets the exchanges before training, as of the counts of words.
  void reset_traffic() {
    shared_->bytes = 0;
    shared_->wire_mbit = 0;
    shared_->waited_seconds = 0;
  }
  Traffic traffic() const { return {shared_->bytes, shared_->wire_mbit, shared_->waited_seconds}; }
  bool over_network() const {
#if WORDLOOM_HAS_MPI
    return is_joined() && ranks_->over_network();
#else
    return false;
#endif
  }

  /// Reports the exception that is being handled, unless that is done, and makes the other
  /// processes, if any, end with an error that names this one.
  void fail(const std::string& cause) noexcept {
    report(*shared_);
    if (ranks_) ranks_->fail(cause);
  }

 private:
  static void report(Shared& shared) noexcept {
    try {
      if (const auto report = std::exchange(shared.report, nullptr)) report();
    } catch (...) {  // no memory for the text
      std::fputs("error: not enough memory\n", stderr);
    }
  }

  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
#if WORDLOOM_HAS_MPI
  std::unique_ptr<wordloom::MpiSession> session_;
#endif
  std::optional<Ranks> ranks_;
};
