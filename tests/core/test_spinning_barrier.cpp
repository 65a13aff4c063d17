#include <atomic>
#include <cstddef>
#include <vector>
#include <wordloom/core/meeting.hpp>
#include <wordloom/core/parallel.hpp>

#include "catch.hpp"

using namespace wordloom;

TEST_CASE("threads that meet have what all did before, and what the first did", "[core]") {
  for (const std::size_t threads : {1u, 2u, 3u, 20u}) {
    constexpr std::size_t rounds = 300;
    detail::Meeting meeting(threads);
    std::vector<std::size_t> own(threads);  // rounds of each thread: plain numbers
    std::size_t sum = 0;
    std::atomic<std::size_t> wrong{0};
    detail::run_threads(threads, [&](std::size_t thread) {
      for (std::size_t round = 1; round <= rounds; ++round) {
        own[thread] = round;
        meeting.meet(thread, [&] {
          sum = 0;
          for (const std::size_t of_thread : own) sum += of_thread;
        });
        wrong += sum != round * threads;
        meeting.meet(thread, [] {});
      }
    });
    CHECK(wrong == 0);
    CHECK(sum == rounds * threads);
  }
}
