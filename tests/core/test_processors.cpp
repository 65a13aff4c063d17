#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>
#include <wordloom/core/detail/processors.hpp>
#include <wordloom/core/parallel.hpp>

#include "catch.hpp"
#include "support.hpp"

using namespace wordloom;
using detail::PinnedThread;
using Processors = std::vector<std::size_t>;

#ifdef __linux__

TEST_CASE("a pinned thread runs on one processor, and on all of its own again afterwards",
          "[processors]") {
  const Processors before = detail::allowed_processors();
  REQUIRE_FALSE(before.empty());
  {
    const PinnedThread none({}, 3);
    CHECK(detail::allowed_processors() == before);
    const PinnedThread pinned(before, before.size() + before.size() - 1);
    CHECK(detail::allowed_processors() == Processors{before.back()});
  }
  CHECK(detail::allowed_processors() == before);
  CHECK_THROWS_AS(PinnedThread({1000}, 0), InvalidArgument);
  CHECK(detail::allowed_processors() == before);
}

TEST_CASE("threads that run together are pinned to different processors", "[processors]") {
  const Processors all = detail::allowed_processors();
  std::vector<Processors> seen(all.size() + 1);
  detail::run_threads(seen.size(), [&](std::size_t i) {
    const PinnedThread pinned(all, i);
    seen[i] = detail::allowed_processors();
  });
  for (std::size_t i = 0; i < seen.size(); ++i) CHECK(seen[i] == Processors{all[i % all.size()]});
  CHECK(detail::allowed_processors() == all);
}

#endif

TEST_CASE("the first processor of each core comes before second ones", "[processors]") {
  const TemporaryFolder folder;
  const auto describe = [&](std::size_t processor, const std::string& siblings) {
    const auto topology = folder / ("cpu" + std::to_string(processor)) / "topology";
    std::filesystem::create_directories(topology);
    std::ofstream(topology / "thread_siblings_list") << siblings << '\n';
  };
  // As servers number them, then as desktops do, and some that nothing is known of.
  for (const std::size_t i : {0u, 1u}) {
    describe(i, std::to_string(i) + "," + std::to_string(i + 2));
    describe(i + 2, std::to_string(i) + "," + std::to_string(i + 2));
  }
  for (const std::size_t i : {4u, 6u}) {
    describe(i, std::to_string(i) + "-" + std::to_string(i + 1));
    describe(i + 1, std::to_string(i) + "-" + std::to_string(i + 1));
  }
  const std::string path = folder.path().string();
  CHECK(detail::cores_first({0, 1, 2, 3}, path) == Processors{0, 1, 2, 3});
  CHECK(detail::cores_first({0, 2}, path) == Processors{0, 2});
  CHECK(detail::cores_first({4, 5, 6, 7}, path) == Processors{4, 6, 5, 7});
  CHECK(detail::cores_first({0, 1, 2, 3, 4, 5, 6, 7}, path) == Processors{0, 1, 4, 6, 2, 3, 5, 7});
  CHECK(detail::cores_first({3, 5}, path) == Processors{3, 5});  // their first ones are not allowed
  CHECK(detail::cores_first({4, 5, 8, 9}, path) == Processors{4, 8, 9, 5});
  CHECK(detail::cores_first({}, path).empty());
}
