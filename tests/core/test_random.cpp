#include <set>
#include <vector>
#include <wordloom/core/random.hpp>

#include "catch.hpp"
#include "statistics.hpp"

using namespace wordloom;

TEST_CASE("a random stream depends only on seed, thread and epoch", "[random]") {
  Random a(1, 2, 3), again(1, 2, 3);
  for (int i = 0; i < 100; ++i) CHECK(a() == again());
  std::set<std::uint64_t> first;
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    for (std::uint64_t thread = 0; thread < 10; ++thread)
      for (std::uint64_t epoch = 0; epoch < 10; ++epoch)
        first.insert(Random(seed, thread, epoch)());
  CHECK(first.size() == 1000);
}

TEST_CASE("random streams are the same in every version", "[random]") {
  Random random(1);
  const std::uint64_t first = random(), second = random();
  CHECK(first == 12068534303331889783u);
  CHECK(second == 13172624129368307053u);
}

TEST_CASE("below() is uniform", "[random]") {
  Random random(3);
  std::vector<std::uint64_t> counts(10);
  for (int i = 0; i < 100'000; ++i) ++counts.at(random.below(10));
  CHECK(chi_squared_deviation(counts, std::vector<double>(10, 0.1)) < 5);
}

TEST_CASE("uniform() fills the range from 0 to 1 evenly", "[random]") {
  Random random(4);
  std::vector<std::uint64_t> counts(16);
  for (int i = 0; i < 100'000; ++i) {
    const double x = random.uniform();
    REQUIRE(x >= 0.0);
    REQUIRE(x < 1.0);
    ++counts[static_cast<std::size_t>(x * 16)];
  }
  CHECK(chi_squared_deviation(counts, std::vector<double>(16, 1.0 / 16)) < 5);
}

TEST_CASE("neighbouring streams share bits only by chance", "[random]") {
  Random a(5, 0), b(5, 1);
  std::uint64_t equal = 0;
  for (int i = 0; i < 10'000; ++i)
    equal += static_cast<std::uint64_t>(64 - std::popcount(a() ^ b()));
  // 640,000 fair bits: mean 320,000, standard deviation 400.
  CHECK(equal > 318'000);
  CHECK(equal < 322'000);
}
