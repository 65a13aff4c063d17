#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string_view>

#include <wordloom/core/detail/abi.hpp>

#if defined(_WIN32)
#include <malloc.h>

#include <cstring>

#include <wordloom/core/detail/windows.hpp>
#elif WORDLOOM_DEFINES_FUNCTIONS
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#endif

/// Memory by pages, as the operating system gives it.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

inline constexpr std::size_t huge_page = std::size_t{1} << 21;

/// Returns `bytes` of zeros, a multiple of huge_page, at an address that is such a multiple; on
/// Windows, where ordinary users get no huge pages, at a multiple of 64 KiB. Pages are allocated on
/// first touch, on the NUMA node of the touching thread. `moved`: null, or pages of an earlier
/// call, which become the first ones and must not be used any more. Throws std::bad_alloc and
/// leaves them unchanged.
void* map_pages(std::size_t bytes, void* moved, std::size_t moved_bytes);
void unmap_pages(void* pages, std::size_t bytes) noexcept;
/// Releases all but the first `kept` bytes; unmap_pages then takes that number.
void shrink_pages(void* pages, std::size_t bytes, std::size_t kept) noexcept;

/// Asks the system for huge pages where all of one is in this memory.
void request_huge_pages(void* memory, std::size_t bytes) noexcept;

/// Releases the pages of a mapped file, which are read again when used, except those at the ends.
void release_file_pages(std::string_view text) noexcept;

/// Returns `bytes`, a multiple of 64, of the heap that begin at a multiple of 64. Throws
/// std::bad_alloc.
inline void* allocate_aligned(std::size_t bytes) {
#ifdef _WIN32
  void* const memory = ::_aligned_malloc(bytes, 64);
#else
  void* const memory = std::aligned_alloc(64, bytes);
#endif
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
inline void free_aligned(void* memory) noexcept {
#ifdef _WIN32
  ::_aligned_free(memory);
#else
  std::free(memory);
#endif
}

#if WORDLOOM_DEFINES_FUNCTIONS

#ifdef _WIN32

WORDLOOM_FUNCTION void* map_pages(std::size_t bytes, void* moved, std::size_t moved_bytes) {
  constexpr unsigned long commit_and_reserve = 0x3000, read_and_write = 4;
  void* const pages =
      windows::wordloom_virtual_alloc(nullptr, bytes, commit_and_reserve, read_and_write);
  if (pages == nullptr) throw std::bad_alloc();
  if (moved != nullptr) {
    std::memcpy(pages, moved, (std::min)(bytes, moved_bytes));
    unmap_pages(moved, moved_bytes);
  }
  return pages;
}

WORDLOOM_FUNCTION void unmap_pages(void* pages, std::size_t) noexcept {
  constexpr unsigned long release = 0x8000;
  windows::wordloom_virtual_free(pages, 0, release);
}

WORDLOOM_FUNCTION void shrink_pages(void* pages, std::size_t bytes, std::size_t kept) noexcept {
  constexpr unsigned long decommit = 0x4000;
  windows::wordloom_virtual_free(static_cast<char*>(pages) + kept, bytes - kept, decommit);
}

WORDLOOM_FUNCTION void request_huge_pages(void*, std::size_t) noexcept {}

WORDLOOM_FUNCTION void release_file_pages(std::string_view) noexcept {}

#else

WORDLOOM_FUNCTION void* map_pages(std::size_t bytes, void* moved,
                                  [[maybe_unused]] std::size_t moved_bytes) {
  void* const mapped = ::mmap(nullptr, bytes + huge_page, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  char* const start = static_cast<char*>(mapped);
  const std::size_t before = (0 - reinterpret_cast<std::uintptr_t>(mapped)) % huge_page;
  if (before != 0) ::munmap(start, before);
  if (before != huge_page) ::munmap(start + before + bytes, huge_page - before);
  char* const pages = start + before;
  if (moved != nullptr) {
#ifdef __linux__
    if (::mremap(moved, moved_bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, pages) == MAP_FAILED) {
      ::munmap(pages, bytes);
      throw std::bad_alloc();
    }
#else
    std::memcpy(pages, moved, (std::min)(bytes, moved_bytes));
    ::munmap(moved, moved_bytes);
#endif
  }
  request_huge_pages(pages, bytes);
  return pages;
}

WORDLOOM_FUNCTION void unmap_pages(void* pages, std::size_t bytes) noexcept {
  ::munmap(pages, bytes);
}

WORDLOOM_FUNCTION void shrink_pages(void* pages, std::size_t bytes, std::size_t kept) noexcept {
  ::munmap(static_cast<char*>(pages) + kept, bytes - kept);
}

WORDLOOM_FUNCTION void request_huge_pages([[maybe_unused]] void* memory,
                                          [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef MADV_HUGEPAGE
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::size_t before = (huge_page - address % huge_page) % huge_page;
  if (before + huge_page <= bytes)
    ::madvise(static_cast<char*>(memory) + before, (bytes - before) / huge_page * huge_page,
              MADV_HUGEPAGE);
#endif
}

WORDLOOM_FUNCTION void release_file_pages(std::string_view text) noexcept {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(text.data());
  const std::size_t before = (page - first % page) % page;
  const std::size_t after = (first + text.size()) % page;
  if (before + after < text.size())
    ::madvise(const_cast<char*>(text.data()) + before, text.size() - before - after, MADV_DONTNEED);
}

#endif

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
