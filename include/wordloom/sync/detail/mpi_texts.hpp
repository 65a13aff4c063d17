#pragma once
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Throws SyncError ("MPI cannot `what`: ...") if `status`, which an MPI function returned, is an
/// error.
inline void check_mpi(int status, const char* what) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw SyncError{"MPI cannot ", what, ": ", text};
}

/// Texts on their way between all ranks. Once all ranks have begun, the texts arrive whatever else
/// the ranks do, as long as they call MPI; MPI uses the memory until has_ended() returns true.
struct MpiTexts {
  static constexpr int tag = 0;

  /// Allocates all memory that begin() needs. `sizes`: [ranks] of the texts that will arrive.
  void prepare(std::vector<std::string> to_ranks, const std::vector<std::size_t>& sizes) {
    to = std::move(to_ranks);
    from.assign(to.size(), {});
    for (std::size_t r = 0; r < to.size(); ++r) from[r].resize(sizes[r]);
    requests_.assign(2 * to.size(), MPI_REQUEST_NULL);
  }
  /// All ranks must have begun an operation since they called prepare().
  void begin(MPI_Comm communicator) {
    ++begun;
    const std::size_t size = to.size();
    for (std::size_t r = 0; r < size; ++r) {
      const int other = static_cast<int>(r);
      check_mpi(MPI_Irecv(from[r].data(), static_cast<int>(from[r].size()), MPI_CHAR, other, tag,
                          communicator, &requests_[r]),
                "exchange");
      check_mpi(MPI_Isend(to[r].data(), static_cast<int>(to[r].size()), MPI_CHAR, other, tag,
                          communicator, &requests_[size + r]),
                "exchange");
    }
  }
  /// Returns whether all texts have arrived, here and from here, or there are none.
  bool has_ended() {
    int all = 0;
    check_mpi(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all,
                          MPI_STATUSES_IGNORE),
              "exchange");
    return all != 0;
  }

  std::vector<std::string> to, from;  // [ranks]
  std::uint64_t begun = 0;            // number of exchanges

 private:
  std::vector<MPI_Request> requests_;  // [2 * ranks]
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
