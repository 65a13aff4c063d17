#pragma once
#include <algorithm>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Returns the number of threads for `requested`: itself, or all processors of the machine for 0
/// (with OpenMP enabled, OMP_NUM_THREADS). Throws InvalidArgument for more than 65536.
std::size_t resolve_threads(std::size_t requested);

namespace detail {

/// Does what run_threads() does, with `call(work, i)`: one copy of the code for all kinds of work.
void run_calls(std::size_t threads, void* work, void (*call)(void*, std::size_t));

/// Calls `work(i)` once for each i in [0, threads), all at the same time: work(0) in the caller's
/// thread, the others in threads of their own, even inside a parallel region of OpenMP. The first
/// exception of any `work` is rethrown here once all have returned. Throws InvalidArgument, before
/// any work, if the system cannot start that many threads.
template <class Work>
void run_threads(std::size_t threads, Work&& work) {
  using Plain = std::remove_reference_t<Work>;
  run_calls(threads, const_cast<void*>(static_cast<const void*>(&work)),
            [](void* w, std::size_t i) { (*static_cast<Plain*>(w))(i); });
}

}  // namespace detail

/// Returns the i-th of n nearly equal consecutive parts of [0, count), as [first, last).
inline std::pair<std::size_t, std::size_t> part_of(std::size_t count, std::size_t i,
                                                   std::size_t n) {
  const std::size_t base = count / n;
  const std::size_t longer = count % n;
  const std::size_t first = i * base + (i < longer ? i : longer);
  return {first, first + base + (i < longer ? 1 : 0)};
}

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION std::size_t resolve_threads(std::size_t requested) {
  std::size_t threads = requested;
#ifdef _OPENMP
  if (threads == 0) threads = static_cast<std::size_t>(omp_get_max_threads());
#endif
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  constexpr std::size_t most = 65536;
  if (threads > most)
    throw InvalidArgument{requested != 0 ? "threads is " : "OMP_NUM_THREADS is ", threads,
                          ", must be at most ", most};
  return threads;
}

namespace detail {

WORDLOOM_FUNCTION void run_calls(std::size_t threads, void* work,
                                 void (*call)(void*, std::size_t)) {
  if (threads == 0) return;
  std::exception_ptr first;
  std::mutex guard;
  const auto checked = [&](std::size_t i) noexcept {
    try {
      call(work, i);
    } catch (...) {
      const std::lock_guard lock(guard);
      if (!first) first = std::current_exception();
    }
  };
  std::mutex start;  // locked until all threads have started or one could not
  bool starts = false;
  {
    std::vector<std::jthread> others;
    others.reserve(threads - 1);
    std::unique_lock hold(start);  // ends before the threads are joined
    try {
      for (std::size_t i = 1; i < threads; ++i)
        others.emplace_back([&, i] {
          start.lock();
          start.unlock();
          if (starts) checked(i);
        });
    } catch (const std::system_error& error) {
      throw InvalidArgument{"cannot start ", threads, " threads: ", error.what(), "; use fewer"};
    }
    starts = true;
    hold.unlock();
    checked(0);
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace detail

#endif

}}  // namespace wordloom::WORDLOOM_ABI
