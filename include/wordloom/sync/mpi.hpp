#pragma once
#include <mpi.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/sync/collective.hpp>
#include <wordloom/sync/row_changes.hpp>

namespace wordloom {

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
/// meet with what is sent here. Copies are the same rank. MPI must be running.
class MpiRanks {
 public:
  /// Throws SyncError when a call of MPI fails.
  explicit MpiRanks(MPI_Comm communicator = MPI_COMM_WORLD) {
    MPI_Comm own = MPI_COMM_NULL;
    check(MPI_Comm_dup(communicator, &own), "copy a communicator");
    communicator_ = std::shared_ptr<MPI_Comm>(new MPI_Comm(own), [](MPI_Comm* old) {
      if (!is_finalised()) MPI_Comm_free(old);
      delete old;
    });
    check(MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN), "prepare a communicator");
    int rank = 0, size = 0;
    check(MPI_Comm_rank(own, &rank), "number the ranks");
    check(MPI_Comm_size(own, &size), "count the ranks");
    rank_ = static_cast<std::size_t>(rank);
    size_ = static_cast<std::size_t>(size);
  }

  std::size_t rank() const noexcept { return rank_; }
  std::size_t size() const noexcept { return size_; }

  /// Which of the ranks on this machine it is, counted from 0. All ranks call it.
  std::size_t rank_on_machine() const {
    MPI_Comm machine = MPI_COMM_NULL;
    check(MPI_Comm_split_type(*communicator_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine),
          "find the ranks of a machine");
    int rank = 0;
    MPI_Comm_rank(machine, &rank);
    MPI_Comm_free(&machine);
    return static_cast<std::size_t>(rank);
  }

  void begin_sum(std::span<float> values) {
    begin_sum(values.data(), values.size(), MPI_FLOAT, MPI_SUM);
  }
  void begin_sum(std::span<Bf16> values) {
    if (!add_bf16_) {
      MPI_Op own = MPI_OP_NULL;
      check(MPI_Op_create(&add_bf16, 1, &own), "prepare a sum");
      add_bf16_ = std::shared_ptr<MPI_Op>(new MPI_Op(own), [](MPI_Op* old) {
        if (!is_finalised()) MPI_Op_free(old);
        delete old;
      });
    }
    begin_sum(values.data(), values.size(), MPI_UINT16_T, *add_bf16_);
  }
  bool done() {
    int is_over = 0;
    check(MPI_Test(&request_, &is_over, MPI_STATUS_IGNORE), "sum");
    return is_over != 0;
  }
  void wait() { check(MPI_Wait(&request_, MPI_STATUS_IGNORE), "sum"); }

  void broadcast(std::span<float> values) {
    while (!values.empty()) {
      const auto part = values.first(std::min(values.size(), most));
      check(MPI_Bcast(part.data(), static_cast<int>(part.size()), MPI_FLOAT, 0, *communicator_),
            "broadcast");
      values = values.subspan(part.size());
    }
  }
  std::vector<std::uint64_t> gather(std::uint64_t value) {
    std::vector<std::uint64_t> all(size_);
    check(MPI_Allgather(&value, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, *communicator_),
          "gather");
    return all;
  }

  /// Throws InvalidArgument, on the rank alone, for 2 GiB and more.
  std::vector<std::string> exchange(const std::vector<std::string>& to) {
    std::string sent;
    Parts sending(size_), receiving(size_);
    for (std::size_t r = 0; r < size_; ++r) {
      sending.add(to[r].size());
      sent += to[r];
    }
    check(MPI_Alltoall(sending.sizes.data(), 1, MPI_INT, receiving.sizes.data(), 1, MPI_INT,
                       *communicator_),
          "exchange");
    for (std::size_t r = 0; r < size_; ++r)
      receiving.add(static_cast<std::size_t>(receiving.sizes[r]));
    std::string received(receiving.end, '\0');
    check(MPI_Alltoallv(sent.data(), sending.sizes.data(), sending.begins.data(), MPI_CHAR,
                        received.data(), receiving.sizes.data(), receiving.begins.data(), MPI_CHAR,
                        *communicator_),
          "exchange");
    std::vector<std::string> from;
    for (std::size_t r = 0; r < size_; ++r)
      from.push_back(received.substr(static_cast<std::size_t>(receiving.begins[r]),
                                     static_cast<std::size_t>(receiving.sizes[r])));
    return from;
  }

  /// Ends the whole job, at once, with a line on stderr that names rank and host: the others wait
  /// for this one and cannot be told otherwise.
  [[noreturn]] void fail(const std::string& cause) noexcept {
    char host[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0;
    MPI_Get_processor_name(host, &length);
    std::fprintf(stderr, "rank %zu on %s has failed: %s\n", rank_, host, cause.c_str());
    std::fflush(stderr);
    MPI_Abort(*communicator_, 1);
    std::abort();
  }

 private:
  static constexpr std::size_t most = std::size_t{1} << 28;  // floats, 1 GiB

  static bool is_finalised() noexcept {
    int is_over = 0;
    MPI_Finalized(&is_over);
    return is_over != 0;
  }
  static void add_bf16(void* from, void* to, int* size, MPI_Datatype*) {
    static const simd::RowChangeFunctions functions;
    functions.add_bf16(static_cast<const std::uint16_t*>(from), static_cast<std::uint16_t*>(to),
                       static_cast<std::size_t>(*size));
  }
  void begin_sum(void* values, std::size_t size, MPI_Datatype type, MPI_Op add) {
    if (size > most) throw InvalidArgument("more values than MPI sums at a time");
    check(MPI_Iallreduce(MPI_IN_PLACE, values, static_cast<int>(size), type, add, *communicator_,
                         &request_),
          "sum");
  }

  /// Of a text, one for each rank, as MPI wants them.
  struct Parts {
    std::vector<int> sizes, begins;
    std::size_t end = 0;

    explicit Parts(std::size_t count) : sizes(count) { begins.reserve(count); }
    void add(std::size_t size) {
      const std::size_t i = begins.size();
      begins.push_back(static_cast<int>(end));
      end += size;
      if (end > std::size_t{INT_MAX}) throw InvalidArgument("more text than MPI carries at a time");
      sizes[i] = static_cast<int>(size);
    }
  };

  static void check(int status, const char* what) {
    if (status == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(status, text, &length);
    throw SyncError(std::string("MPI cannot ") + what + ": " + text);
  }

  std::shared_ptr<MPI_Comm> communicator_;
  std::shared_ptr<MPI_Op> add_bf16_;  // made when it is needed
  std::size_t rank_ = 0, size_ = 1;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

static_assert(TextCollective<MpiRanks> && Bf16Collective<MpiRanks>);

}  // namespace wordloom
