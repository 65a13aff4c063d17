#pragma once
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#ifdef __linux__
#include <sched.h>
#include <unistd.h>
#endif

#include <wordloom/core/error.hpp>

/// The logical processors of this machine, and threads that are pinned to one of them.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

#ifdef __linux__
using ProcessorSet = cpu_set_t;
#else
struct ProcessorSet {};
#endif

/// Returns the numbers of the processors that the calling thread may run on, ascending. Throws
/// InvalidArgument if the system call fails.
std::vector<std::size_t> allowed_processors();

/// Returns the bytes of a core's second-level cache, or 0 if they are unknown.
inline std::size_t second_level_cache_bytes() noexcept {
#ifdef _SC_LEVEL2_CACHE_SIZE
  return static_cast<std::size_t>((std::max)(sysconf(_SC_LEVEL2_CACHE_SIZE), 0l));
#else
  return 0;
#endif
}

/// Returns the processors in another order: the first of each core, then the second of each core,
/// and so on; each group in ascending order, so that neighbours in the order are close in the
/// machine. `folder`: where Linux describes processors. A processor without a description counts as
/// a core.
std::vector<std::size_t> cores_first(const std::vector<std::size_t>& processors,
                                     const std::string& folder = "/sys/devices/system/cpu");

/// Pins the calling thread, and the threads that it starts, to processors. The destructor restores
/// those that it had before.
class PinnedThread {
 public:
  /// Pins to all of `processors`; does nothing if it is empty. Throws InvalidArgument if a system
  /// call fails.
  explicit PinnedThread(std::span<const std::size_t> processors);
  /// Pins thread `index` to one of `processors`, which threads share if there are more threads than
  /// processors. Throws like the other constructor.
  PinnedThread(const std::vector<std::size_t>& processors, std::size_t index)
      : PinnedThread(processors.empty() ? std::span<const std::size_t>()
                                        : std::span(&processors[index % processors.size()], 1)) {}
  PinnedThread(const PinnedThread&) = delete;
  PinnedThread& operator=(const PinnedThread&) = delete;
  ~PinnedThread() {
#ifdef __linux__
    if (is_pinned_) sched_setaffinity(0, sizeof before_, &before_);
#endif
  }

 private:
  bool is_pinned_;
  ProcessorSet before_;
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION std::vector<std::size_t> allowed_processors() {
#ifdef __linux__
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0)
    throw InvalidArgument{"cannot pin threads: sched_getaffinity: ",
                          std::generic_category().message(errno), "; train without pin_threads"};
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) result.push_back(i);
  return result;
#else
  throw InvalidArgument("threads can be pinned on Linux only; train without pin_threads");
#endif
}

WORDLOOM_FUNCTION std::vector<std::size_t> cores_first(const std::vector<std::size_t>& processors,
                                                       const std::string& folder) {
  std::vector<std::pair<std::size_t, std::size_t>> places;  // within its core, and processor
  std::vector<std::size_t> cores;  // of the processors so far, each by its first processor
  for (const std::size_t processor : processors) {
    std::size_t core = processor;
    std::ifstream(joined({folder, "/cpu", processor, "/topology/thread_siblings_list"})) >> core;
    places.emplace_back(std::count(cores.begin(), cores.end(), core), processor);
    cores.push_back(core);
  }
  std::sort(places.begin(), places.end());
  std::vector<std::size_t> result;
  for (const auto& [place, processor] : places) result.push_back(processor);
  return result;
}

WORDLOOM_FUNCTION PinnedThread::PinnedThread(std::span<const std::size_t> processors)
    : is_pinned_(!processors.empty()) {
  if (!is_pinned_) return;
#ifdef __linux__
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const std::size_t processor : processors) CPU_SET(processor, &set);
  if (sched_getaffinity(0, sizeof before_, &before_) != 0 ||
      sched_setaffinity(0, sizeof set, &set) != 0)
    throw InvalidArgument{"cannot pin a thread to processor ", processors[0], ": ",
                          std::generic_category().message(errno),
                          "; train without pin_threads and run_on_nodes"};
#endif
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
