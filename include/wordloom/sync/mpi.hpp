#pragma once
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/sync/collective.hpp>
#include <wordloom/sync/detail/mpi_operations.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Initializes MPI and finalizes it in the destructor. Does nothing if the application has
/// initialized MPI. Make one in a process, in the main thread.
class MpiSession {
 public:
  /// Throws SyncError if MPI does not start or does not support threads.
  MpiSession() {
    int is_initialised = 0;
    MPI_Initialized(&is_initialised);
    if (is_initialised != 0) return;
    int given = 0;
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &given) != MPI_SUCCESS)
      throw SyncError("MPI does not start");
    is_own_ = true;
    if (given < MPI_THREAD_FUNNELED) throw SyncError("this MPI does not support threads");
  }
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
  ~MpiSession() {
    if (is_own_) MPI_Finalize();
  }

 private:
  bool is_own_ = false;
};

/// A rank of an MPI communicator. Uses a copy of it, so that its messages cannot be confused with
/// the application's. Copies are the same rank. MPI must be running. For one thread at a time; for
/// the main one alone if MPI was started with less than MPI_THREAD_SERIALIZED.
///
/// A rank ends by `fail`, or when its last copy is destroyed; either waits, asleep, until all other
/// ranks end as well or have learned of the failure by their next call, which throws SyncError. No
/// sum is in flight afterwards. All ranks must destroy several MpiRanks in the same order.
///
/// A rank that waits for others longer than the timeout fails by a SyncError. If another rank does
/// not answer a failure within a minute, or the timeout if that is shorter, for example because its
/// process is stopped or its file system hangs, a line on stderr names that rank and its machine,
/// and MPI_Abort ends the job.
class MpiRanks {
 public:
  /// Collective: all ranks of the communicator must call it. `timeout` limits each wait; it must
  /// exceed the time in which one rank alone reads its data or writes a checkpoint. 0: no limit.
  /// Throws SyncError if a call of MPI fails, and InvalidArgument for a negative timeout.
  explicit MpiRanks(MPI_Comm communicator = MPI_COMM_WORLD,
                    std::chrono::duration<double> timeout = std::chrono::minutes(30))
      : shared_(std::make_shared<detail::MpiOperations>(communicator, timeout.count())) {}

  std::size_t rank() const noexcept { return static_cast<std::size_t>(shared_->rank); }
  std::size_t size() const noexcept { return static_cast<std::size_t>(shared_->size); }
  bool any_thread() const noexcept {
    int level = MPI_THREAD_SINGLE;
    return MPI_Query_thread(&level) == MPI_SUCCESS && level >= MPI_THREAD_SERIALIZED;
  }

  /// Returns whether the ranks are on several machines: some share no memory
  /// (MPI_COMM_TYPE_SHARED).
  bool over_network() const noexcept { return shared_->machines.ranks_here < shared_->size; }

  /// Returns the number of this rank among the ranks on this machine, from 0.
  std::size_t rank_on_machine() const noexcept {
    return static_cast<std::size_t>(shared_->machines.rank_here);
  }

  // All members below throw SyncError if another rank has failed or a call of MPI fails.
  void begin_sum(std::span<float> values) {
    shared_->submit(Kind::sum, values.data(), values.size());
  }
  void begin_sum(std::span<detail::Bf16> values) {
    shared_->submit(Kind::sum_bf16, values.data(), values.size());
  }
  void begin_sum(const detail::QuantisedRows& rows) { shared_->submit(rows); }
  void begin_pass(std::span<std::byte> values) {
    shared_->submit(Kind::pass, values.data(), values.size() / 2);
  }
  bool done() { return shared_->is_complete(); }
  void wait() {
    shared_->wait_until([this] { return done(); });
  }
  void throw_if_failed() { shared_->throw_if_failed(); }

  void broadcast(std::span<float> values) {
    constexpr std::size_t most = std::size_t{1} << 24;  // 64 MiB
    while (!values.empty()) {
      const auto part = values.first((std::min)(values.size(), most));
      shared_->submit(Kind::broadcast, part.data(), part.size());
      wait();
      values = values.subspan(part.size());
    }
  }
  std::vector<std::uint64_t> gather(std::uint64_t value) { return gather(std::span(&value, 1)); }
  std::vector<std::uint64_t> gather(std::span<const std::uint64_t> values) {
    std::vector<std::uint64_t> all(values.size() * size());
    std::copy_n(values.data(), values.size(), all.data() + rank() * values.size());
    shared_->submit(Kind::gather, all.data(), values.size());
    wait();
    return all;
  }

  /// Throws InvalidArgument for 2^31 rows and more.
  void gather_rows(std::span<float> rows, std::size_t row_size,
                   std::span<const std::uint64_t> first) {
    if (first.back() > INT_MAX) throw InvalidArgument("more rows than MPI gathers at a time");
    if (rows.empty()) return;
    // Each rank sends up to 64 MiB at a time. Counted in rows, positions stay below 2^31.
    const std::uint64_t most = (std::max<std::uint64_t>)(1, (std::uint64_t{1} << 24) / row_size);
    std::uint64_t longest = 0;
    for (std::size_t r = 0; r < size(); ++r) longest = (std::max)(longest, first[r + 1] - first[r]);
    std::vector<int> counts(size()), places(size());
    MPI_Datatype row = MPI_DATATYPE_NULL;
    detail::check_mpi(MPI_Type_contiguous(static_cast<int>(row_size), MPI_FLOAT, &row),
                      "describe a row");
    detail::check_mpi(MPI_Type_commit(&row), "describe a row");
    gather(0);  // from here on no rank fails alone
    for (std::uint64_t done = 0; done < longest; done += most) {
      for (std::size_t r = 0; r < size(); ++r) {
        const std::uint64_t begin = (std::min)(first[r] + done, first[r + 1]);
        places[r] = static_cast<int>(begin);
        counts[r] = static_cast<int>((std::min)(begin + most, first[r + 1]) - begin);
      }
      MPI_Request request = MPI_REQUEST_NULL;
      detail::check_mpi(
          MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, rows.data(), counts.data(),
                          places.data(), row, shared_->communicator, &request),
          "gather rows");
      shared_->complete({&request, 1}, "gather rows");
    }
    MPI_Type_free(&row);
  }

  /// Other functions may be called between begin_exchange() and end_exchange(), but these. Throw
  /// InvalidArgument, on all ranks, for 2 GiB and more between two ranks.
  std::vector<std::string> exchange(std::vector<std::string> to) {
    begin_exchange(std::move(to));
    return end_exchange();
  }
  void begin_exchange(std::vector<std::string> to) {
    std::vector<std::uint64_t> sizes;
    for (const std::string& text : to) sizes.push_back(text.size());
    const std::vector<std::uint64_t> all = gather(sizes);  // [from][to]
    if (*std::max_element(all.begin(), all.end()) > INT_MAX)
      throw InvalidArgument("more text than MPI carries at a time");
    for (std::size_t r = 0; r < size(); ++r) sizes[r] = all[r * size() + rank()];
    shared_->texts.prepare(std::move(to), {sizes.begin(), sizes.end()});
    gather(0);  // from here on no rank allocates memory, so that none fails alone
    shared_->texts.begin(shared_->communicator);
  }
  std::vector<std::string> end_exchange() {
    shared_->wait_until([this] {
      if (shared_->texts.has_ended()) return true;
      throw_if_failed();  // a rank that ends before it begins waits for all others to end
      return false;
    });
    shared_->texts.to.clear();
    return std::move(shared_->texts.from);
  }

  /// Ends this rank, which has failed. Must be called before `values` in flight are destroyed; does
  /// nothing when called again.
  void fail(const std::string& cause) noexcept {
    shared_->end(
        detail::joined({shared_->machines.rank_text(shared_->rank), " has failed: ", cause}));
  }

 private:
  using Kind = detail::MpiOperations::Kind;

  std::shared_ptr<detail::MpiOperations> shared_;
};

static_assert(TextCollective<MpiRanks> && Bf16Collective<MpiRanks> && RowCollective<MpiRanks>);

}}  // namespace wordloom::WORDLOOM_ABI
