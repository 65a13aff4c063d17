#pragma once
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/sync/detail/mpi_machines.hpp>
#include <wordloom/sync/detail/mpi_texts.hpp>
#include <wordloom/sync/detail/quantised_rows.hpp>
#include <wordloom/sync/detail/row_changes.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The state that all copies of an MpiRanks share. All ranks begin the same operations in the same
/// order, and no operation completes on any rank before all ranks have begun it. So a rank that
/// ends early lacks at most the last operation of the others, and `end` can complete it for them.
///
/// A sum has two steps: each rank r receives part r of all ranks' values and adds them in the order
/// of ranks, then all gather the sums. So each rank sends 2 (size - 1) / size times the bytes of
/// the values, which is the least (Rabenseifner 2004), in two messages to each other rank, and the
/// bits do not depend on the MPI. MPI_Iallreduce of Open MPI sends up to log2(size) times the bytes
/// from one rank, and needs a call of MPI for each of its many steps, which come between words that
/// are trained. A broadcast likewise deals the parts, then gathers them.
class MpiOperations {
 public:
  enum class Kind : std::uint64_t { none, sum, sum_bf16, sum_quantised, broadcast, gather, pass };
  static constexpr int end_tag = MpiTexts::tag + 1;

  /// `timeout`: see MpiRanks, in seconds.
  MpiOperations(MPI_Comm original, double timeout)
      : timeout_(timeout), end_timeout_(timeout > 0 ? (std::min)(timeout, 60.0) : 0) {
    if (!(timeout >= 0)) throw InvalidArgument{"the timeout is ", timeout, ", must be 0 or above"};
    check_mpi(MPI_Comm_dup(original, &communicator), "copy a communicator");
    check_mpi(MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN), "prepare a communicator");
    check_mpi(MPI_Comm_rank(communicator, &rank), "number the ranks");
    check_mpi(MPI_Comm_size(communicator, &size), "count the ranks");
    for (auto* array : {&counts_, &places_, &own_counts_, &own_places_})
      array->resize(static_cast<std::size_t>(size));
    ends_.resize(static_cast<std::size_t>(size));
    machines.find(communicator, rank, size);
  }
  MpiOperations(const MpiOperations&) = delete;
  MpiOperations& operator=(const MpiOperations&) = delete;
  ~MpiOperations() {
    int is_over = 0;
    MPI_Finalized(&is_over);
    if (is_over != 0) return;
    end("");
    MPI_Comm_free(&communicator);
  }

  /// Starts to sum quantised rows; otherwise like `submit`.
  void submit(const QuantisedRows& rows) {
    if (rows.size_bytes() > INT_MAX - ends_.size())
      throw InvalidArgument("more values than MPI sums at a time");
    throw_if_failed(own_.begun + 1);
    rows_ = rows;
    start(Kind::sum_quantised, rows.data, rows.count, rows.bytes_of_row());
  }
  /// Starts an operation on `count` values. MPI uses `values` until is_complete() returns true.
  /// Throws SyncError, and InvalidArgument for some 2^31 values.
  void submit(Kind kind, void* values, std::size_t count) {
    if (count > INT_MAX - ends_.size())
      throw InvalidArgument("more values than MPI sums at a time");
    throw_if_failed(own_.begun + 1);
    start(kind, values, count, size_of(kind));
  }
  /// Returns whether the last operation is complete. Throws SyncError if MPI fails, or if another
  /// rank has failed or ended without beginning that operation.
  bool is_complete() {
    const bool all = advance();
    if (!all) throw_if_failed(own_.begun);
    return all;
  }

  /// Waits until `is_complete()` returns true. Throws SyncError if that takes longer than the
  /// timeout and all ranks answer after it; if one does not, ends the job.
  template <class Condition>
  void wait_until(Condition is_complete) {
    const auto begin = Clock::now();
    while (!is_complete()) {
      std::this_thread::yield();
      if (!exceeds(begin, timeout_)) continue;
      end(joined(
          {machines.rank_text(rank), " has waited ", whole(timeout_), " s for the other ranks"}));
      while (!is_complete()) std::this_thread::yield();  // all ranks have answered
      throw SyncError(failure_);
    }
  }
  /// Waits for requests that all ranks have begun or will begin. Throws like wait_until.
  void complete(std::span<MPI_Request> requests, const char* what) {
    wait_until([&] {
      int all = 0;
      check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &all,
                            MPI_STATUSES_IGNORE),
                what);
      return all != 0;
    });
  }

  /// Throws SyncError if a rank failed or ended before it began all operations of this one.
  void throw_if_failed() { throw_if_failed(own_.begun); }
  /// Throws SyncError if a rank failed or ended before it began `needed` operations.
  void throw_if_failed(std::uint64_t needed) {
    while (receive()) continue;
    for (std::size_t r = 0; r < ends_.size() && failure_.empty(); ++r) {
      if (!ends_[r]) continue;
      failure_ = ends_[r]->failure;
      if (failure_.empty() && ends_[r]->begun < needed)
        failure_ = joined({"rank ", r, " has ended before the others"});
    }
    if (failure_.empty()) return;
    end(failure_);
    throw SyncError(failure_);
  }

  /// Tells all other ranks that this one ends, waits until all of them end too, then takes part in
  /// the last operation if another rank has begun it, because MPI cannot cancel it. Once a rank has
  /// failed, a rank that does not answer within a minute makes this one end the job. `why`: the
  /// failure; empty if there was none.
  void end(const std::string& why) noexcept {
    if (std::exchange(has_ended_, true)) return;
    try {
      failure_ = why;
      own_.texts = texts.begun;
      why.copy(own_.failure, sizeof own_.failure - 1);
      std::vector<MPI_Request> sends(ends_.size(), MPI_REQUEST_NULL);
      for (int other = 0; other < size; ++other)
        if (other != rank)
          check_mpi(MPI_Isend(&own_, sizeof own_, MPI_BYTE, other, end_tag, communicator,
                              &sends[static_cast<std::size_t>(other)]),
                    "end");
      ends_[static_cast<std::size_t>(rank)] = own_;
      // Without a failure there is no limit: rank 0 may be writing its files.
      std::optional<Clock::time_point> failed;
      while (std::count(ends_.begin(), ends_.end(), std::nullopt) != 0) {
        if (receive()) continue;
        if (!failed && !first_failure().empty()) failed = Clock::now();
        if (failed && exceeds(*failed, end_timeout_)) abort_job();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      complete_or_abort([&] {
        int all = 0;
        check_mpi(MPI_Testall(size, sends.data(), &all, MPI_STATUSES_IGNORE), "end");
        return all != 0;
      });
      // A rank may have learned of a failure before it began to exchange texts, as others had.
      for (const auto& other : ends_)
        if (other->texts > texts.begun) texts.begin(communicator);
      complete_or_abort([&] { return texts.has_ended(); });
      complete_or_abort([&] { return advance(); });
      const End last = **std::max_element(ends_.begin(), ends_.end(),
                                          [](auto& a, auto& b) { return a->begun < b->begun; });
      if (own_.begun == last.begun) return;
      const std::size_t parts = last.kind == Kind::gather ? ends_.size()
                                : last.kind == Kind::pass ? 2
                                                          : 1;
      std::vector<std::uint64_t> unused((last.count * last.unit * parts + 7) / 8);
      start(last.kind, unused.data(), last.count, last.unit);
      complete_or_abort([&] { return advance(); });
    } catch (const std::exception&) {  // an error of MPI, or no memory: nothing more can be done
    }
  }

  MPI_Comm communicator = MPI_COMM_NULL;  // a copy for these operations only
  int rank = 0, size = 1;
  MpiMachines machines;
  MpiTexts texts;  // that travel beside the operations

 private:
  using Clock = std::chrono::steady_clock;
  /// The message that a rank sends to all others when it ends.
  struct End {
    std::uint64_t begun = 0;  // number of operations
    Kind kind = Kind::none;   // of the last operation
    std::uint64_t count = 0;  // number of its values, or of quantised rows
    std::uint64_t unit = 0;   // bytes of one
    std::uint64_t texts = 0;  // number of exchanges of texts
    char failure[1000] = "";  // the message of a failure of any rank; empty: none
  };

  static std::size_t size_of(Kind kind) {
    return kind == Kind::gather     ? sizeof(std::uint64_t)
           : kind == Kind::pass     ? 1
           : kind == Kind::sum_bf16 ? sizeof(std::uint16_t)
                                    : sizeof(float);
  }
  /// Starts an operation on `count` values of `unit` bytes; for `gather`, `count` from each rank.
  void start(Kind kind, void* values, std::size_t count, std::size_t unit) {
    const bool has_rows = kind == Kind::sum_quantised;
    const auto part_of = [&](int r) {
      return static_cast<int>(
          detail::part_of(count, static_cast<std::size_t>(r), ends_.size()).first *
          (has_rows ? unit : 1));
    };
    const int own = part_of(rank + 1) - part_of(rank);
    for (int r = 0; r < size; ++r) {
      const auto i = static_cast<std::size_t>(r);
      places_[i] = part_of(r);
      counts_[i] = part_of(r + 1) - places_[i];
      own_places_[i] = r * own;
      own_counts_[i] = own;
    }
    values_ = static_cast<std::byte*>(values);
    type_ = has_rows ? MPI_BYTE : kind == Kind::sum_bf16 ? MPI_UINT16_T : MPI_FLOAT;
    value_size_ = has_rows ? 1 : unit;
    const bool is_sum = has_rows || kind == Kind::sum || kind == Kind::sum_bf16;
    if (is_sum) parts_.resize(ends_.size() * static_cast<std::size_t>(own) * value_size_);
    gathers_parts_ = kind != Kind::gather && kind != Kind::pass;
    own_.kind = kind;
    own_.count = count;
    own_.unit = unit;
    ++own_.begun;
    if (kind == Kind::pass) return start_pass(count);
    // Without a part of its own, a rank could complete before others begin, or they before it does.
    if (gathers_parts_ && count < ends_.size())
      check_mpi(MPI_Ibarrier(communicator, &requests_[1]), "exchange values");
    void* const own_part = values_ + part(rank);
    check_mpi(is_sum ? MPI_Ialltoallv(values, counts_.data(), places_.data(), type_, parts_.data(),
                                      own_counts_.data(), own_places_.data(), type_, communicator,
                                      &requests_[0])
              : kind == Kind::gather ? MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values,
                                                      static_cast<int>(count), MPI_UINT64_T,
                                                      communicator, &requests_[0])
                                     : MPI_Iscatterv(values, counts_.data(), places_.data(), type_,
                                                     rank == 0 ? MPI_IN_PLACE : own_part, own,
                                                     type_, 0, communicator, &requests_[0]),
              "exchange values");
  }
  /// Sends the first `count` bytes of the values to the rank before, and receives the bytes behind
  /// them from the rank behind. The barrier keeps the pass from completing before all have begun
  /// it.
  void start_pass(std::size_t count) {
    for (auto* array : {&counts_, &places_, &own_counts_, &own_places_})
      std::ranges::fill(*array, 0);
    const auto before = static_cast<std::size_t>((rank + size - 1) % size),
               behind = static_cast<std::size_t>((rank + 1) % size);
    counts_[before] = own_counts_[behind] = static_cast<int>(count);
    check_mpi(MPI_Ibarrier(communicator, &requests_[1]), "pass values on");
    check_mpi(MPI_Ialltoallv(values_, counts_.data(), places_.data(), MPI_BYTE, values_ + count,
                             own_counts_.data(), own_places_.data(), MPI_BYTE, communicator,
                             &requests_[0]),
              "pass values on");
  }
  /// Goes on with the operation in progress. Returns whether there is none, or it is complete.
  bool advance() {
    int all = 0;
    check_mpi(MPI_Testall(2, requests_, &all, MPI_STATUSES_IGNORE), "exchange values");
    if (all == 0 || !std::exchange(gathers_parts_, false)) return all != 0;
    if (own_.kind != Kind::broadcast) add_parts();
    check_mpi(MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values_, counts_.data(),
                              places_.data(), type_, communicator, &requests_[0]),
              "exchange values");
    return false;
  }
  /// Returns the place of the part of a rank, in bytes.
  std::size_t part(int of) const {
    return static_cast<std::size_t>(places_[static_cast<std::size_t>(of)]) * value_size_;
  }
  /// Writes the sum of the parts of all ranks to the values. Sums of bf16 are rounded once.
  void add_parts() {
    static const simd::RowChangeFunctions functions = simd::row_change_functions();
    const auto n = static_cast<std::size_t>(own_counts_[0]);
    std::byte* const to = values_ + part(rank);
    if (own_.kind == Kind::sum_quantised) {
      if (has_ended_) return;  // the sums are of no use, and their errors may have no place
      const auto r = static_cast<std::size_t>(rank);
      const auto part_rows = rows_.part_of(r, ends_.size());
      rows_.add(part_rows.first, part_rows.second, ends_.size(),
                [&, first = part_rows.first](std::size_t of, std::size_t i) {
                  return parts_.data() + of * n + (i - first) * rows_.bytes_of_row();
                });
      return;
    }
    if (own_.kind == Kind::sum) {
      auto* const sums = reinterpret_cast<float*>(to);
      const auto* from = reinterpret_cast<const float*>(parts_.data());
      std::copy_n(from, n, sums);
      for (std::size_t r = 1; r < ends_.size(); ++r) functions.mix(sums, 1, from += n, 1, n);
      return;
    }
    constexpr std::size_t most = 1024;
    float sums[most], terms[most];
    auto* const rounded = reinterpret_cast<std::uint16_t*>(to);
    const auto* const from = reinterpret_cast<const std::uint16_t*>(parts_.data());
    for (std::size_t at = 0; at < n; at += most) {
      const std::size_t size_of_step = (std::min)(most, n - at);
      functions.unpack_bf16(from + at, sums, size_of_step);
      for (std::size_t r = 1; r < ends_.size(); ++r) {
        functions.unpack_bf16(from + r * n + at, terms, size_of_step);
        functions.mix(sums, 1, terms, 1, size_of_step);
      }
      functions.pack_bf16(sums, rounded + at, size_of_step);
    }
  }
  /// Receives the message of a rank that has ended; returns false if there is none.
  bool receive() {
    int is_there = 0;
    MPI_Status status;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, end_tag, communicator, &is_there, &status), "receive");
    if (is_there == 0) return false;
    auto& place = ends_[static_cast<std::size_t>(status.MPI_SOURCE)].emplace();
    check_mpi(MPI_Recv(&place, sizeof place, MPI_BYTE, status.MPI_SOURCE, end_tag, communicator,
                       MPI_STATUS_IGNORE),
              "receive");
    return true;
  }

  /// Returns whether more seconds have passed; 0: no limit.
  static bool exceeds(Clock::time_point begin, double seconds) {
    return seconds > 0 && std::chrono::duration<double>(Clock::now() - begin).count() > seconds;
  }
  /// Returns seconds for messages, rounded up.
  static std::uint64_t whole(double seconds) {
    return static_cast<std::uint64_t>(std::ceil((std::min)(seconds, 1e15)));
  }
  /// Returns the failure of a rank that has ended; empty if there was none.
  std::string first_failure() const {
    if (!failure_.empty()) return failure_;
    for (const auto& end : ends_)
      if (end && end->failure[0] != '\0') return end->failure;
    return "";
  }
  /// Waits until `is_complete()` returns true, or ends the job.
  template <class Condition>
  void complete_or_abort(Condition is_complete) {
    const auto begin = Clock::now();
    while (!is_complete()) {
      if (exceeds(begin, end_timeout_)) abort_job();
      std::this_thread::yield();
    }
  }
  /// Ends the processes of all ranks, because one of them does not answer. No exception could: it
  /// would destroy memory that MPI still uses.
  void abort_job() const {
    std::string silent;
    for (int r = 0; r < size; ++r)
      if (!ends_[static_cast<std::size_t>(r)])
        silent.append(silent.empty() ? "" : ", ").append(machines.rank_text(r));
    if (silent.empty()) silent = "a rank that has ended";
    const std::string why = first_failure();
    const std::string line =
        joined({machines.rank_text(rank), " ends the job: no answer for ", whole(end_timeout_),
                " s from ", silent, why.empty() ? "" : ", after this failure: ", why, "\n"});
    std::fputs(line.c_str(), stderr);
    MPI_Abort(communicator, 1);
  }

  double timeout_, end_timeout_;  // seconds, 0: none
  End own_;
  MPI_Request requests_[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  // State of the operation in progress:
  std::byte* values_ = nullptr;
  MPI_Datatype type_ = MPI_FLOAT;
  std::size_t value_size_ = sizeof(float);
  bool gathers_parts_ = false;                // whether its second step is still to begin
  std::vector<int> counts_, places_;          // [ranks] the parts of the values
  std::vector<int> own_counts_, own_places_;  // [ranks] in parts_
  std::vector<std::byte> parts_;              // [ranks] this rank's part of the values of each rank
  QuantisedRows rows_;                        // whose sum is in progress
  std::vector<std::optional<End>> ends_;      // [ranks] messages received; empty: has not ended
  std::string failure_;                       // the reason why this rank has ended
  bool has_ended_ = false;
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
