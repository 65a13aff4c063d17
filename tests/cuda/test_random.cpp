// The random streams, draws and reductions of kernels on a device, on the host.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>
#include <wordloom/corpus/subsampling.hpp>
#include <wordloom/cuda/detail/sampling.hpp>
#include <wordloom/cuda/detail/team.hpp>
#include <wordloom/cuda/detail/warp_scheme.hpp>
#include <wordloom/sampler/negative_sampling.hpp>

#include "catch.hpp"
#include "small_models.hpp"
#include "statistics.hpp"

using namespace wordloom;
using namespace wordloom::cuda;

TEST_CASE("Philox gives the published answers", "[cuda]") {
  const auto check = [](const Philox& got, std::vector<std::uint32_t> expected) {
    CHECK(std::vector<std::uint32_t>(got.x, got.x + 4) == expected);
  };
  // kat_vectors of Random123, the authors' own library.
  check(Philox(0, 0, 0, 0, 0, 0), {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const std::uint32_t f = 0xffffffff;
  check(Philox(f, f, f, f, f, f), {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  check(Philox(0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0),
        {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("streams differ by sentence, epoch, purpose and seed", "[cuda]") {
  const SentenceRandom random{1, 2, 3};
  const auto first = [](const SentenceRandom& r, Purpose purpose, std::uint32_t i) {
    return r(purpose, i).x[0];
  };
  const std::uint32_t own = first(random, Purpose::window, 5);
  CHECK(own == first({1, 2, 3}, Purpose::window, 5));
  CHECK(own != first({2, 2, 3}, Purpose::window, 5));
  CHECK(own != first({1, 3, 3}, Purpose::window, 5));
  CHECK(own != first({1, 2, 4}, Purpose::window, 5));
  CHECK(own != first(random, Purpose::negative, 5));
  CHECK(own != first(random, Purpose::window, 6));
}

TEST_CASE("negatives and reaches are distributed as the samplers' on the host", "[cuda]") {
  const Vocabulary vocabulary = zipf_vocabulary(20);
  const detail::NegativeDistribution negatives(vocabulary, 0.75);
  const Sampling sampling{{negatives.table().entries().data(), 20}, 5, 5, false};
  const WordId positive = 2;
  std::vector<double> shares;
  double total = 0;
  for (std::size_t i = 0; i < 20; ++i) {
    shares.push_back(i == positive ? 0.0
                                   : std::pow(static_cast<double>(vocabulary.counts()[i]), 0.75));
    total += shares.back();
  }
  for (double& share : shares) share /= total;
  std::vector<std::uint64_t> drawn(20), reaches(5);
  int left_out = 0;
  for (std::uint64_t sentence = 0; sentence < 1000; ++sentence)
    for (std::uint32_t i = 0; i < 100; ++i) {
      const SentenceRandom random{9, sentence, 0};
      const WordId word = sampling.negative(random, i, positive);
      if (word == no_word)
        ++left_out;
      else
        ++drawn.at(word);
      ++reaches.at(sampling.reach(random, i) - 1);
    }
  CHECK(chi_squared_deviation(drawn, shares) < 5);
  CHECK(chi_squared_deviation(reaches, std::vector<double>(5, 0.2)) < 5);
  CHECK(left_out < 5000);
  const Sampling fixed{sampling.negatives, 3, 5, true};
  CHECK(fixed.reach({1, 1, 1}, 0) == 3);
}

TEST_CASE("subsampling by warps keeps words as often as on the host, in order", "[cuda]") {
  const Vocabulary vocabulary = zipf_vocabulary(50);
  const detail::Subsampling subsampling(vocabulary, 1e-2);
  const SubsamplingView table{subsampling.table().data(),
                              static_cast<std::uint32_t>(subsampling.table().size() - 1)};
  std::vector<WordId> sentence;
  for (std::uint32_t i = 0; i < 1000; ++i) sentence.push_back(i % 50);
  std::vector<double> kept_of(50);
  const double sentences = 500;
  for (std::uint64_t number = 0; number < 500; ++number) {
    std::vector<WordId> kept(sentence.size(), no_word);
    const std::uint32_t size = subsample(HostTeam<32>(), table, sentence.data(), 1000,
                                         SentenceRandom{1, number, 0}, kept.data());
    std::size_t at = 0;
    for (std::uint32_t i = 0; i < size; ++i) {
      while (at < sentence.size() && sentence[at] != kept[i]) ++at;
      REQUIRE(at < sentence.size());
      ++at;
      kept_of[kept[i]] += 1;
    }
    REQUIRE((size == 1000 || kept[size] == no_word));
  }
  for (WordId word = 0; word < 50; ++word) {
    const double keep = subsampling.keep_probability(word), words = 20 * sentences;
    CHECK(std::abs(kept_of[word] - keep * words) <= 5 * std::sqrt(words * keep * (1 - keep)));
  }
  // A table that keeps everything, and odd lengths.
  const std::uint32_t all = UINT32_MAX;
  for (const std::uint32_t size : {0u, 1u, 31u, 32u, 33u, 100u}) {
    std::vector<WordId> kept(size + 1);
    CHECK(subsample(HostTeam<32>(), {&all, 0}, sentence.data(), size, {1, 1, 1}, kept.data()) ==
          size);
    CHECK(std::equal(kept.begin(), kept.end() - 1, sentence.begin()));
  }
}

TEST_CASE("transposed sums equal the sums over all threads", "[cuda]") {
  const HostTeam<32> team;
  const auto check = [&]<std::size_t count, bool swapped>() {
    Pack<float, 32> values[count];
    std::vector<float> expected;
    std::vector<int> first(count);
    // Of value i, of which the thread has another where the halves have changed places.
    const auto value = [&](std::size_t i, int l) {
      const std::size_t own = swapped && l >= 16 ? (i + count / 2) % count : i;
      return static_cast<float>((static_cast<int>(own) + 1) * (l - 7));
    };
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = team.each([&](int l) { return value(i, l); });
      expected.push_back(static_cast<float>(i + 1) * (31 * 16 - 7 * 32));
    }
    transposed_sums<swapped, 16, count>(team, values);
    for (int l = 0; l < 32; ++l)
      for (std::uint32_t i = 0; i < (count + 31) / 32; ++i) {
        const SumOf sum = sum_of<count>(l, i);
        CHECK(team.own(values[i], l) == expected.at(sum.value));
        first[sum.value] += sum.is_first ? 1 : 0;
      }
    CHECK(first == std::vector<int>(count, 1));
  };
  check.operator()<1, false>();
  check.operator()<2, true>();
  check.operator()<7, false>();
  check.operator()<8, false>();
  check.operator()<12, true>();
  check.operator()<32, true>();
  check.operator()<36, true>();
  check.operator()<60, true>();
  check.operator()<63, false>();
}
