#pragma once
#include <mpi.h>

#include <cstddef>
#include <string>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/sync/detail/mpi_texts.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The machines of the ranks of a communicator.
struct MpiMachines {
  int rank_here = 0, ranks_here = 1;  // among the ranks that share memory with this one

  /// All ranks call it. Throws SyncError if a call of MPI fails.
  void find(MPI_Comm communicator, int rank, int size) {
    names_.resize(static_cast<std::size_t>(size));
    int length = 0;
    MPI_Get_processor_name(names_[static_cast<std::size_t>(rank)].text, &length);
    check_mpi(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, names_.data(), sizeof(Name),
                            MPI_CHAR, communicator),
              "name the machines of the ranks");
    // Two machines may have one name, as clones of a container do.
    MPI_Comm here = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here),
              "find the ranks of a machine");
    MPI_Comm_rank(here, &rank_here);
    MPI_Comm_size(here, &ranks_here);
    MPI_Comm_free(&here);
  }

  /// Returns a rank for messages: "rank 3 on node17".
  std::string rank_text(int rank) const {
    return joined({"rank ", rank, " on ", names_[static_cast<std::size_t>(rank)].text});
  }

 private:
  struct Name {
    char text[MPI_MAX_PROCESSOR_NAME] = "";
  };
  std::vector<Name> names_;  // [ranks]
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
