#pragma once
#include <cstddef>
#include <vector>

#include <wordloom/core/detail/pages.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Resizes an empty vector that will be read in random order. Asks the system for huge pages,
/// because with small ones nearly every read misses the TLB. Throws std::bad_alloc.
template <class Number>
void resize_for_random_reads(std::vector<Number>& numbers, std::size_t count) {
  numbers.reserve(count);
  request_huge_pages(numbers.data(), count * sizeof(Number));
  numbers.resize(count);
}

}}}  // namespace wordloom::WORDLOOM_ABI::detail
