#pragma once
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace wordloom {

/// Number of threads meant by `requested`: itself, or all that the machine offers for 0
/// (OMP_NUM_THREADS is heeded when OpenMP is enabled).
inline std::size_t resolve_threads(std::size_t requested) {
  if (requested != 0) return requested;
#ifdef _OPENMP
  return static_cast<std::size_t>(omp_get_max_threads());
#else
  return std::thread::hardware_concurrency() > 0 ? std::thread::hardware_concurrency() : 1;
#endif
}

/// Calls `work(i)` once for each i in [0, threads), each on a thread of its own when the system
/// gives that many (OpenMP, else std::thread; one thread: the caller's own).
/// The first exception of any `work` is rethrown here once all have returned.
template <class Work>
void run_threads(std::size_t threads, Work&& work) {
  if (threads <= 1) {
    if (threads == 1) work(std::size_t{0});
    return;
  }
  std::exception_ptr first;
  std::mutex guard;
  const auto checked = [&](std::size_t i) noexcept {
    try {
      work(i);
    } catch (...) {
      const std::lock_guard lock(guard);
      if (!first) first = std::current_exception();
    }
  };
#ifdef _OPENMP
#pragma omp parallel num_threads(static_cast <int>(threads))
  {
    // A nested region or OMP_THREAD_LIMIT may give fewer threads: every index still runs.
    const auto given = static_cast<std::size_t>(omp_get_num_threads());
    for (auto i = static_cast<std::size_t>(omp_get_thread_num()); i < threads; i += given)
      checked(i);
  }
#else
  {
    std::vector<std::jthread> others;
    others.reserve(threads - 1);
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(checked, i);
    checked(0);
  }
#endif
  if (first) std::rethrow_exception(first);
}

/// The i-th of n nearly equal consecutive parts of [0, count), as [first, last).
inline std::pair<std::size_t, std::size_t> part_of(std::size_t count, std::size_t i,
                                                   std::size_t n) {
  const std::size_t base = count / n;
  const std::size_t longer = count % n;
  const std::size_t first = i * base + (i < longer ? i : longer);
  return {first, first + base + (i < longer ? 1 : 0)};
}

}  // namespace wordloom
