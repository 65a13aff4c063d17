#pragma once
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/sync/collective.hpp>
#include <wordloom/sync/row_changes.hpp>

namespace wordloom::inline WORDLOOM_ABI {

/// MPI from here to the end of its life; where the host application has initialised it, nothing.
/// One in a process, to be made in the main thread, which is also the one that trains.
class MpiSession {
 public:
  /// Throws SyncError when MPI does not start or knows nothing of threads.
  MpiSession() {
    int is_initialised = 0;
    MPI_Initialized(&is_initialised);
    if (is_initialised != 0) return;
    int given = 0;
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given) != MPI_SUCCESS)
      throw SyncError("MPI does not start");
    is_own_ = true;
    if (given < MPI_THREAD_FUNNELED) throw SyncError("this MPI takes no programs with threads");
  }
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
  ~MpiSession() {
    if (is_own_) MPI_Finalize();
  }

 private:
  bool is_own_ = false;
};

/// A rank of an MPI communicator, of which it uses a copy: what the host application sends does not
/// meet with what is sent here. Copies are the same rank. MPI must be running. For one thread at a
/// time, by default the main one (MPI_THREAD_FUNNELED).
///
/// A rank ends by `fail`, or when its last copy is destroyed; either waits, asleep, until all other
/// ranks end as well or have learned of the failure by their next call, which throws SyncError.
/// No sum is in flight afterwards. All ranks destroy several MpiRanks in the same order.
class MpiRanks {
 public:
  /// All ranks of the communicator call it. Throws SyncError when a call of MPI fails.
  explicit MpiRanks(MPI_Comm communicator = MPI_COMM_WORLD)
      : shared_(std::make_shared<Shared>(communicator)) {}

  std::size_t rank() const noexcept { return static_cast<std::size_t>(shared_->rank); }
  std::size_t size() const noexcept { return static_cast<std::size_t>(shared_->size); }

  /// Which of the ranks on this machine it is, counted from 0. All ranks call it.
  std::size_t rank_on_machine() const {
    MpiRanks(*this).gather(0);  // throws where the next call would wait in vain
    MPI_Comm machine = MPI_COMM_NULL;
    check(MPI_Comm_split_type(shared_->communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                              &machine),
          "find the ranks of a machine");
    int rank = 0;
    MPI_Comm_rank(machine, &rank);
    MPI_Comm_free(&machine);
    return static_cast<std::size_t>(rank);
  }

  // All members below throw SyncError when another rank has failed, and when a call of MPI fails.
  void begin_sum(std::span<float> values) {
    shared_->begin(Kind::sum, values.data(), values.size());
  }
  void begin_sum(std::span<Bf16> values) {
    shared_->begin(Kind::sum_bf16, values.data(), values.size());
  }
  bool done() { return shared_->is_complete(); }
  void wait() {
    while (!done()) std::this_thread::yield();
  }
  void throw_if_failed() { shared_->throw_if_failed(shared_->own.begun); }

  void broadcast(std::span<float> values) {
    constexpr std::size_t most = std::size_t{1} << 24;  // 64 MiB
    while (!values.empty()) {
      const auto part = values.first(std::min(values.size(), most));
      shared_->begin(Kind::broadcast, part.data(), part.size());
      wait();
      values = values.subspan(part.size());
    }
  }
  std::vector<std::uint64_t> gather(std::uint64_t value) { return gather_all({value}); }

  /// Throws InvalidArgument for 2^31 rows and more.
  void gather_rows(std::span<float> rows, std::size_t row_size,
                   std::span<const std::uint64_t> first) {
    if (first.back() > INT_MAX) throw InvalidArgument("more rows than MPI gathers at a time");
    if (rows.empty()) return;
    // Each rank sends up to 64 MiB at a time. Counted in rows, places stay below 2^31.
    const std::uint64_t most = std::max<std::uint64_t>(1, (std::uint64_t{1} << 24) / row_size);
    std::uint64_t longest = 0;
    for (std::size_t r = 0; r < size(); ++r) longest = std::max(longest, first[r + 1] - first[r]);
    std::vector<int> counts(size()), places(size());
    MPI_Datatype row = MPI_DATATYPE_NULL;
    check(MPI_Type_contiguous(static_cast<int>(row_size), MPI_FLOAT, &row), "describe a row");
    check(MPI_Type_commit(&row), "describe a row");
    gather(0);  // From here on no rank fails alone.
    for (std::uint64_t done = 0; done < longest; done += most) {
      for (std::size_t r = 0; r < size(); ++r) {
        const std::uint64_t begin = std::min(first[r] + done, first[r + 1]);
        places[r] = static_cast<int>(begin);
        counts[r] = static_cast<int>(std::min(begin + most, first[r + 1]) - begin);
      }
      MPI_Request request = MPI_REQUEST_NULL;
      check(MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, rows.data(), counts.data(),
                            places.data(), row, shared_->communicator, &request),
            "gather rows");
      int is_complete = 0;
      while (check(MPI_Test(&request, &is_complete, MPI_STATUS_IGNORE), "gather rows"),
             is_complete == 0)
        std::this_thread::yield();
    }
    MPI_Type_free(&row);
  }

  /// Throws InvalidArgument, on all ranks, for 2 GiB and more between two ranks.
  std::vector<std::string> exchange(const std::vector<std::string>& to) {
    std::vector<std::uint64_t> sizes;
    for (const std::string& text : to) sizes.push_back(text.size());
    const std::vector<std::uint64_t> all = gather_all(sizes);  // [from][to]
    if (*std::max_element(all.begin(), all.end()) > INT_MAX)
      throw InvalidArgument("more text than MPI carries at a time");
    std::vector<std::string> from(size());
    for (std::size_t r = 0; r < size(); ++r) from[r].resize(all[r * size() + rank()]);
    gather(0);  // From here on no rank allocates memory, so that none fails alone.
    std::vector<MPI_Request> requests(2 * size(), MPI_REQUEST_NULL);
    for (std::size_t r = 0; r < size(); ++r) {
      const int other = static_cast<int>(r);
      check(MPI_Irecv(from[r].data(), static_cast<int>(from[r].size()), MPI_CHAR, other, text_tag,
                      shared_->communicator, &requests[r]),
            "exchange");
      check(MPI_Isend(to[r].data(), static_cast<int>(to[r].size()), MPI_CHAR, other, text_tag,
                      shared_->communicator, &requests[size() + r]),
            "exchange");
    }
    check(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE),
          "exchange");
    return from;
  }

  /// Ends this rank, which has failed. To be called before `values` in flight go away; further
  /// calls of it do nothing.
  void fail(const std::string& cause) noexcept {
    char host[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0;
    MPI_Get_processor_name(host, &length);
    shared_->end("rank " + std::to_string(rank()) + " on " + host + " has failed: " + cause);
  }

 private:
  enum class Kind : std::uint64_t { none, sum, sum_bf16, broadcast, gather };
  static constexpr int text_tag = 0, end_tag = 1;

  static void check(int status, const char* what) {
    if (status == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(status, text, &length);
    throw SyncError(std::string("MPI cannot ") + what + ": " + text);
  }

  /// The message that a rank sends to all others when it ends.
  struct End {
    std::uint64_t begun = 0;  // operations
    Kind kind = Kind::none;   // of the last of them
    std::uint64_t count = 0;  // its values
    char failure[1000] = "";  // of any rank; empty: none
  };

  /// State that all copies of a rank share. Ranks begin the same operations in the same order, and
  /// none is complete on any rank before all have begun it: where ranks end, each has begun all of
  /// them or all but the last.
  struct Shared {
    explicit Shared(MPI_Comm original) {
      check(MPI_Comm_dup(original, &communicator), "copy a communicator");
      check(MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN), "prepare a communicator");
      check(MPI_Comm_rank(communicator, &rank), "number the ranks");
      check(MPI_Comm_size(communicator, &size), "count the ranks");
      ends.resize(static_cast<std::size_t>(size));
    }
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;
    ~Shared() {
      int is_over = 0;
      MPI_Finalized(&is_over);
      if (is_over != 0) return;
      end("");
      if (add_bf16 != MPI_OP_NULL) MPI_Op_free(&add_bf16);
      MPI_Comm_free(&communicator);
    }

    void begin(Kind kind, void* values, std::size_t count) {
      if (count > INT_MAX) throw InvalidArgument("more values than MPI sums at a time");
      throw_if_failed(own.begun + 1);
      start(kind, values, count);
    }
    bool is_complete() {
      int all = 0;
      check(MPI_Testall(2, requests, &all, MPI_STATUSES_IGNORE), "exchange values");
      if (all == 0) throw_if_failed(own.begun);
      return all != 0;
    }

    /// Throws SyncError when a rank has failed, or has ended and not begun `needed` operations.
    void throw_if_failed(std::uint64_t needed) {
      while (receive()) continue;
      for (std::size_t r = 0; r < ends.size() && failure.empty(); ++r) {
        if (!ends[r]) continue;
        failure = ends[r]->failure;
        if (failure.empty() && ends[r]->begun < needed)
          failure = "rank " + std::to_string(r) + " has ended before the others";
      }
      if (failure.empty()) return;
      end(failure);
      throw SyncError(failure);
    }

    /// Tells all ranks that this one ends, waits until they say the same, and completes what is in
    /// flight on any of them.
    void end(const std::string& why) noexcept {
      if (std::exchange(has_ended, true)) return;
      try {
        failure = why;
        why.copy(own.failure, sizeof own.failure - 1);
        std::vector<MPI_Request> sends(ends.size(), MPI_REQUEST_NULL);
        for (int other = 0; other < size; ++other)
          if (other != rank)
            check(MPI_Isend(&own, sizeof own, MPI_BYTE, other, end_tag, communicator,
                            &sends[static_cast<std::size_t>(other)]),
                  "end");
        ends[static_cast<std::size_t>(rank)] = own;
        while (std::count(ends.begin(), ends.end(), std::nullopt) != 0)
          if (!receive()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        check(MPI_Waitall(size, sends.data(), MPI_STATUSES_IGNORE), "end");
        check(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), "end");
        const End last = **std::max_element(ends.begin(), ends.end(),
                                            [](auto& a, auto& b) { return a->begun < b->begun; });
        if (own.begun == last.begun) return;
        std::vector<std::uint64_t> unused(last.count *
                                          (last.kind == Kind::gather ? ends.size() : 1));
        start(last.kind, unused.data(), last.count);
        check(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), "end");
      } catch (const std::exception&) {  // of MPI itself, or no memory: nothing more can be done
      }
    }

    MPI_Comm communicator = MPI_COMM_NULL;
    int rank = 0, size = 1;
    End own;

   private:
    /// Starts an operation: count values, of `gather` for each rank.
    void start(Kind kind, void* values, std::size_t count) {
      const int n = static_cast<int>(count);
      int status = MPI_SUCCESS;
      ++own.begun;
      own.kind = kind;
      own.count = count;
      if (kind == Kind::sum) {
        status =
            MPI_Iallreduce(MPI_IN_PLACE, values, n, MPI_FLOAT, MPI_SUM, communicator, &requests[0]);
      } else if (kind == Kind::sum_bf16) {
        if (add_bf16 == MPI_OP_NULL) check(MPI_Op_create(&add, 1, &add_bf16), "prepare a sum");
        status = MPI_Iallreduce(MPI_IN_PLACE, values, n, MPI_UINT16_T, add_bf16, communicator,
                                &requests[0]);
      } else if (kind == Kind::gather) {
        status = MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, n, MPI_UINT64_T,
                                communicator, &requests[0]);
      } else {
        status = MPI_Ibcast(values, n, MPI_FLOAT, 0, communicator, &requests[0]);
        check(MPI_Ibarrier(communicator, &requests[1]), "broadcast");  // rank 0 waits as well
      }
      check(status, "exchange values");
    }
    static void add(void* from, void* to, int* count, MPI_Datatype*) {
      static const simd::RowChangeFunctions functions = simd::row_change_functions();
      functions.add_bf16(static_cast<const std::uint16_t*>(from), static_cast<std::uint16_t*>(to),
                         static_cast<std::size_t>(*count));
    }
    /// Takes the message of a rank that has ended; returns false when there is none.
    bool receive() {
      int is_there = 0;
      MPI_Status status;
      check(MPI_Iprobe(MPI_ANY_SOURCE, end_tag, communicator, &is_there, &status), "receive");
      if (is_there == 0) return false;
      auto& place = ends[static_cast<std::size_t>(status.MPI_SOURCE)].emplace();
      check(MPI_Recv(&place, sizeof place, MPI_BYTE, status.MPI_SOURCE, end_tag, communicator,
                     MPI_STATUS_IGNORE),
            "receive");
      return true;
    }

    MPI_Op add_bf16 = MPI_OP_NULL;  // made when it is needed
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    std::vector<std::optional<End>> ends;  // of the ranks that have ended
    std::string failure;                   // why this rank has ended
    bool has_ended = false;
  };

  /// `values`: of this rank, as many on all. Returns those of all ranks, one after the other.
  std::vector<std::uint64_t> gather_all(const std::vector<std::uint64_t>& values) {
    std::vector<std::uint64_t> all(values.size() * size());
    std::copy_n(values.data(), values.size(), all.data() + rank() * values.size());
    shared_->begin(Kind::gather, all.data(), values.size());
    wait();
    return all;
  }

  std::shared_ptr<Shared> shared_;
};

static_assert(TextCollective<MpiRanks> && Bf16Collective<MpiRanks> && RowCollective<MpiRanks>);

}  // namespace wordloom::inline WORDLOOM_ABI
