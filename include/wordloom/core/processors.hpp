#pragma once
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#ifdef __linux__
#include <sched.h>
#endif

#include <wordloom/core/error.hpp>

/// The logical processors of this machine, and threads that stay on one of them.
namespace wordloom::inline WORDLOOM_ABI::detail {

#ifdef __linux__
using ProcessorSet = cpu_set_t;
#else
struct ProcessorSet {};
#endif

/// Returns the processors that the calling thread may run on. Throws InvalidArgument where the
/// system does not tell.
inline std::vector<std::size_t> allowed_processors() {
#ifdef __linux__
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0)
    throw InvalidArgument("cannot ask for the processors of this thread: " +
                          std::generic_category().message(errno));
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) result.push_back(i);
  return result;
#else
  throw InvalidArgument("threads can be pinned on Linux only");
#endif
}

/// Puts one processor of each core first, then the second of each core, and so on; else by number,
/// so that neighbours in the order are neighbours in the machine. `folder`: of processors as Linux
/// describes them; one that it does not describe is a core.
inline std::vector<std::size_t> cores_first(const std::vector<std::size_t>& processors,
                                            const std::string& folder = "/sys/devices/system/cpu") {
  struct Place {
    std::size_t turn, processor;
    bool operator<(const Place& other) const {
      return turn != other.turn ? turn < other.turn : processor < other.processor;
    }
  };
  std::vector<Place> places;
  std::vector<std::size_t> cores;  // of the processors so far: the first of those that share it
  for (const std::size_t processor : processors) {
    std::size_t core = processor;
    std::ifstream(folder + "/cpu" + std::to_string(processor) + "/topology/thread_siblings_list") >>
        core;
    places.push_back(
        {static_cast<std::size_t>(std::count(cores.begin(), cores.end(), core)), processor});
    cores.push_back(core);
  }
  std::sort(places.begin(), places.end());
  std::vector<std::size_t> result;
  for (const Place& place : places) result.push_back(place.processor);
  return result;
}

/// Keeps the calling thread on one processor as long as it lives; with no processors, does nothing.
class PinnedThread {
 public:
  /// `index`: of the thread; where there are fewer processors, they are shared.
  PinnedThread(const std::vector<std::size_t>& processors, std::size_t index)
      : is_pinned_(!processors.empty()) {
    if (!is_pinned_) return;
#ifdef __linux__
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processors[index % processors.size()], &one);
    if (sched_getaffinity(0, sizeof before_, &before_) != 0 ||
        sched_setaffinity(0, sizeof one, &one) != 0)
      throw InvalidArgument("cannot pin thread " + std::to_string(index) + ": " +
                            std::generic_category().message(errno));
#endif
  }
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

}  // namespace wordloom::inline WORDLOOM_ABI::detail
