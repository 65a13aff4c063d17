#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>

#include <wordloom/core/parallel.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Rows that a thread takes at a time. Sums over rows are made block by block, so that any number
/// of threads gives the same bits.
constexpr std::size_t row_block = 256;

/// Calls `work(thread, first, last)` for each block of [0, count). Threads take the next one when
/// they are ready.
template <class Work>
void for_blocks(std::size_t count, std::size_t block, std::size_t threads, Work&& work) {
  if (count == 0) return;
  const std::size_t blocks = (count - 1) / block + 1;
  threads = std::clamp<std::size_t>(threads, 1, blocks);
  std::atomic<std::size_t> next{0};
  run_threads(threads, [&](std::size_t thread) {
    for (std::size_t b = next++; b < blocks; b = next++)
      work(thread, b * block, (std::min)(count, (b + 1) * block));
  });
}

}}}  // namespace wordloom::WORDLOOM_ABI::detail
