#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <functional>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/words.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Returns the number of threads for `requested`: itself, or for 0 the number in the environment
/// variable OMP_NUM_THREADS, or without it the number of processors that this process may use.
/// Throws InvalidArgument for more than 65536.
std::size_t resolve_threads(std::size_t requested);

namespace detail {

/// Threads of a host's own: see openmp.hpp.
struct HostThreads {
  std::size_t (*size)();  // the number of threads for 0 requested ones
  /// Makes the calls of run_threads(), which throw nothing, and returns true. Returns false,
  /// without a call, if it cannot make that many at the same time.
  bool (*run)(std::size_t threads, void* work, void (*call)(void*, std::size_t));
};

/// The team on which run_threads() tries to run first; null: none.
const HostThreads*& host_threads() noexcept;

/// Does what run_threads() does, with `call(work, i)`: one copy of the code for all kinds of work.
void run_calls(std::size_t threads, void* work, void (*call)(void*, std::size_t));

/// Calls `work(i)` once for each i in [0, threads), all at the same time: work(0) in the caller's
/// thread, the others in threads of their own, even inside a parallel region of OpenMP, or in the
/// team of use_openmp_team(). The first exception of any `work` is rethrown here once all have
/// returned. Throws InvalidArgument, before any work, if the system cannot start that many threads.
template <class Work>
void run_threads(std::size_t threads, Work&& work) {
  using Plain = std::remove_reference_t<Work>;
  run_calls(threads, const_cast<void*>(static_cast<const void*>(&work)),
            [](void* w, std::size_t i) { (*static_cast<Plain*>(w))(i); });
}

/// Returns the number of threads for `work` multiplications: `requested`; for 0, as many as are
/// worth starting, at most all processors.
inline std::size_t threads_for(std::size_t work, std::size_t requested) {
  constexpr std::size_t work_of_thread = std::size_t{1} << 22;  // about 1 ms
  if (requested != 0) return requested;
  return std::clamp<std::size_t>(work / work_of_thread, 1, resolve_threads(0));
}

/// Returns the i-th of n nearly equal consecutive parts of [0, count), as [first, last).
inline std::pair<std::size_t, std::size_t> part_of(std::size_t count, std::size_t i,
                                                   std::size_t n) {
  const std::size_t base = count / n;
  const std::size_t longer = count % n;
  const std::size_t first = i * base + (i < longer ? i : longer);
  return {first, first + base + (i < longer ? 1 : 0)};
}

}  // namespace detail

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION std::size_t resolve_threads(std::size_t requested) {
  std::size_t threads = requested;
  if (threads == 0 && detail::host_threads() != nullptr) threads = detail::host_threads()->size();
  if (threads == 0) {
    // A list has a number for each level of nested regions.
    const char* listed = std::getenv("OMP_NUM_THREADS");
    std::string_view first = listed != nullptr ? listed : "";
    first = first.substr(0, first.find(','));
    first.remove_prefix((std::min)(first.find_first_not_of(detail::white_space), first.size()));
    first = first.substr(0, first.find_last_not_of(detail::white_space) + 1);
    threads = detail::number_in<std::size_t>(first).value_or(0);
  }
  if (threads == 0) threads = (std::max)(1u, std::thread::hardware_concurrency());
  constexpr std::size_t most = 65536;
  if (threads > most)
    throw InvalidArgument{requested != 0 ? "threads is " : "OMP_NUM_THREADS is ", threads,
                          ", must be at most ", most};
  return threads;
}

namespace detail {

WORDLOOM_FUNCTION const HostThreads*& host_threads() noexcept {
  static const HostThreads* threads = nullptr;
  return threads;
}

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
  using Checked = decltype(checked);
  const HostThreads* const host = threads > 1 ? host_threads() : nullptr;
  if (host != nullptr &&
      host->run(threads, const_cast<void*>(static_cast<const void*>(&checked)),
                [](void* c, std::size_t i) { (*static_cast<Checked*>(c))(i); })) {
    if (first) std::rethrow_exception(first);
    return;
  }
  std::mutex start;  // locked until all threads have started or one could not
  bool starts = false;
  {
    std::vector<std::jthread> others;
    others.reserve(threads - 1);
    std::unique_lock hold(start);  // ends before the threads are joined
    try {
      for (std::size_t i = 1; i < threads; ++i)
        // A thread of the lambda itself has a type with our name, which hosts would export.
        others.emplace_back(std::function<void()>([&, i] {
          start.lock();
          start.unlock();
          if (starts) checked(i);
        }));
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
