#include <atomic>
#include <cstddef>
#include <vector>
#include <wordloom/core/detail/spinning_barrier.hpp>
#include <wordloom/core/parallel.hpp>

#include "catch.hpp"

using namespace wordloom;

TEST_CASE("after a barrier, threads see the work of all before it and of the first thread at it",
          "[core]") {
  for (const std::size_t threads : {1u, 2u, 3u, 20u}) {
    constexpr std::size_t rounds = 300;
    detail::SpinningBarrier barrier(threads);
    std::vector<std::size_t> own(threads);  // rounds of each thread; not atomic
    std::size_t sum = 0;
    std::atomic<std::size_t> wrong{0};
    detail::run_threads(threads, [&](std::size_t thread) {
      for (std::size_t round = 1; round <= rounds; ++round) {
        own[thread] = round;
        if (thread == 0) {
          barrier.wait_for_others();
          sum = 0;
          for (const std::size_t of_thread : own) sum += of_thread;
          barrier.release();
        } else {
          barrier.arrive_and_wait();
        }
        wrong += sum != round * threads;
        if (thread == 0) {
          barrier.wait_for_others();
          barrier.release();
        } else {
          barrier.arrive_and_wait();
        }
      }
    });
    CHECK(wrong == 0);
    CHECK(sum == rounds * threads);
  }
}
