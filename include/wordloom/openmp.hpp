#pragma once
#include <cstddef>

#include <omp.h>

#include <wordloom/core/parallel.hpp>

/// The host application's team of OpenMP for the threads of the library, so that a program that
/// uses OpenMP itself has one set of threads. Needs -fopenmp (CMake: wordloom::openmp).
namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// Runs `call(work, i)` for each i in [0, threads) in a parallel region, unless OpenMP gives it
/// fewer threads: within another region, or because of OMP_THREAD_LIMIT or OMP_DYNAMIC.
inline bool run_in_openmp_team(std::size_t threads, void* work, void (*call)(void*, std::size_t)) {
  bool is_whole = false;
#pragma omp parallel num_threads(static_cast <int>(threads)) default(shared)
  {
    const bool all_run = static_cast<std::size_t>(omp_get_num_threads()) == threads;
    const auto i = static_cast<std::size_t>(omp_get_thread_num());
    if (i == 0) is_whole = all_run;
    if (all_run) call(work, i);
  }
  return is_whole;
}

inline constexpr HostThreads openmp_team = {
    [] { return static_cast<std::size_t>(omp_get_max_threads()); }, run_in_openmp_team};

}  // namespace detail

/// Runs what the library does in several threads (training, counting, encoding, queries,
/// evaluation) in the team of OpenMP of the calling program, in this program from now on. OpenMP
/// then decides where threads run (OMP_PROC_BIND, OMP_PLACES) and how many there are for
/// `threads` = 0 (OMP_NUM_THREADS, omp_set_num_threads). If a team gets fewer threads than are
/// needed, as within a parallel region, the library starts threads of its own for this call.
/// Vectors are those of as many threads without OpenMP. Not thread-safe: call it before the first
/// training.
inline void use_openmp_team() noexcept { detail::host_threads() = &detail::openmp_team; }

}}  // namespace wordloom::WORDLOOM_ABI
