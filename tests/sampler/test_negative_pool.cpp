#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "small_models.hpp"
#include "statistics.hpp"
#include "support.hpp"

using namespace wordloom;

TEST_CASE("each pick from a pool has the distribution of a draw", "[sampler]") {
  const auto vocabulary = zipf_vocabulary(40, 1000);
  const detail::NegativeDistribution negatives(vocabulary, 0.75);
  std::vector<double> shares;
  double sum = 0;
  for (const std::uint64_t count : vocabulary.counts())
    sum += shares.emplace_back(std::pow(static_cast<double>(count), 0.75));
  for (double& share : shares) share /= sum;
  // Many short runs: the picks of one run are not independent, one pick of each run is.
  std::vector<std::uint64_t> early(40), late(40);
  for (std::uint64_t run = 0; run < 20'000; ++run) {
    detail::NegativePool pool(negatives, 8);
    pool.begin_epoch(Random(1, run), 0);
    Random random(2, run);
    ++early[pool.pick(random)];
    for (int i = 0; i < 150; ++i) pool.pick(random);
    ++late[pool.pick(random)];
  }
  CHECK(std::abs(chi_squared_deviation(early, shares)) < 5);
  CHECK(std::abs(chi_squared_deviation(late, shares)) < 5);
}

TEST_CASE("a draw of a pool is picked eight times on average", "[sampler]") {
  const auto vocabulary =
      zipf_vocabulary(100'000, 1);  // all as frequent: hardly a word comes twice
  detail::NegativePool pool(detail::NegativeDistribution(vocabulary, 0.75), 64);
  pool.begin_epoch(Random(5), 0);
  Random random(3);
  std::set<WordId> words;
  for (int i = 0; i < 80'000; ++i) words.insert(pool.pick(random));
  // 10,000 draws replaced the first 64; a draw is never picked with probability exp(-8).
  CHECK(words.size() > 9'400);
  CHECK(words.size() < 10'064);
  // As many picks again meet as many new words: old ones have gone.
  for (int i = 0; i < 80'000; ++i) words.insert(pool.pick(random));
  CHECK(words.size() > 18'000);
}

TEST_CASE("a pool is restored from its number of picks", "[sampler]") {
  const auto vocabulary = zipf_vocabulary(1000, 1000);
  const detail::NegativeDistribution negatives(vocabulary, 0.75);
  for (const std::size_t size : {1u, 5u, 64u}) {
    detail::NegativePool whole(negatives, size);
    whole.begin_epoch(Random(4), 0);
    Random random(3);
    for (int i = 0; i < 1000; ++i) {
      detail::NegativePool copy = whole, again(negatives, size);
      again.begin_epoch(Random(4), whole.picks());
      Random first = random, second = random;
      for (int k = 0; k < 20; ++k) REQUIRE(copy.pick(first) == again.pick(second));
      whole.pick(random);
    }
  }
}

TEST_CASE("large vocabularies have a pool, small ones draw without one", "[sampler]") {
  const auto start = [](std::size_t words, std::size_t pool) {
    return NegativeSampling{.pool = pool}.start(zipf_vocabulary(words)).pool();
  };
  CHECK(start(128 * 16, 16) == 16);
  CHECK(start(128 * 16 - 1, 16) == 0);
  CHECK(start(10'000, 0) == 0);
  CHECK(NegativeSampling::from({.negative_pool = 77}).pool == 77);
  CHECK_THROWS_AS(DefaultTrainer({.negative_pool = (1 << 20) + 1}), InvalidArgument);

  const auto vocabulary = zipf_vocabulary(150);
  const auto corpus = EncodedCorpus::from_sentences(random_sentences(50, 9, 150), vocabulary);
  const auto sum = [&](std::size_t pool) {
    DefaultTrainer trainer({.dimension = 8, .epochs = 1, .threads = 1, .negative_pool = pool});
    const auto vectors = trainer.fit(corpus, vocabulary);
    float all = 0;
    for (std::size_t i = 0; i < vectors.size(); ++i)
      for (const float x : vectors.vector(i)) all += x * static_cast<float>(i + 1);
    return all;
  };
  CHECK(sum(2048) == sum(0));
  CHECK(sum(1) != sum(0));
}
