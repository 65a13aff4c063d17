#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <wordloom/core/detail/abi.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Resizes an empty vector that will be read in random order. Asks the system for huge pages,
/// because with small ones nearly every read misses the TLB. Throws std::bad_alloc.
template <class Number>
void resize_for_random_reads(std::vector<Number>& numbers, std::size_t count) {
  numbers.reserve(count);
  constexpr std::size_t page = std::size_t{1} << 21;
  const auto address = reinterpret_cast<std::uintptr_t>(numbers.data());
  const std::size_t before = (page - address % page) % page;
#ifdef MADV_HUGEPAGE
  if (before + page <= count * sizeof(Number))
    ::madvise(reinterpret_cast<char*>(numbers.data()) + before,
              (count * sizeof(Number) - before) / page * page, MADV_HUGEPAGE);
#endif
  numbers.resize(count);
}

}}}  // namespace wordloom::WORDLOOM_ABI::detail
