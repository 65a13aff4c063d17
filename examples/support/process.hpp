#pragma once
#include <cstddef>
#include <cstdint>
#include <thread>

#ifdef _WIN32
#ifndef NOMINMAX
#define NOMINMAX
#endif
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <psapi.h>
#else
#include <sys/resource.h>
#endif
#ifdef __linux__
#include <sched.h>
#endif

/// Returns the number of processors that this process may run on.
inline std::size_t allowed_processors() {
#ifdef __linux__
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0)
    return static_cast<std::size_t>(CPU_COUNT(&set));
#endif
  return std::thread::hardware_concurrency();
}

/// Returns the peak resident memory of this process in bytes.
inline std::uint64_t peak_rss_bytes() {
#ifdef _WIN32
  PROCESS_MEMORY_COUNTERS memory{};
  ::K32GetProcessMemoryInfo(::GetCurrentProcess(), &memory, sizeof memory);
  return memory.PeakWorkingSetSize;
#else
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
#ifdef __APPLE__
  return static_cast<std::uint64_t>(usage.ru_maxrss);
#else
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
#endif
#endif
}
