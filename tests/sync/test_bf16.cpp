#include <wordloom/sync/bf16_ranks.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>
#include <wordloom/evaluation/word_tests.hpp>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/thread_ranks.hpp>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "demo_corpus.hpp"
#include "small_models.hpp"
#include "support.hpp"
#include "sync/sync_run.hpp"

using namespace wordloom;

namespace {

/// The nearest bf16 by trying both neighbours; of two as near the even one.
std::uint16_t nearest(float x) {
  const auto below = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16);
  const auto value = [](std::uint32_t bits) {
    return static_cast<double>(std::bit_cast<float>(bits << 16));
  };
  const double down = std::abs(x - value(below)), up = std::abs(value(below + 1u) - x);
  if (down == up) return static_cast<std::uint16_t>(below + (below & 1));
  return static_cast<std::uint16_t>(down < up ? below : below + 1);
}

}  // namespace

TEST_CASE("floats are rounded to the nearest bf16", "[sync]") {
  const simd::RowChangeFunctions functions = simd::row_change_functions();
  std::vector<float> values{0, -0.0f, 1, 1.00390625f, 1.01171875f, 1e-30f, -3e20f};
  Random random(3);
  for (std::size_t i = 0; i < 10'000; ++i) {
    // Not near infinity, where `nearest` would round to it.
    const auto bits = static_cast<std::uint32_t>(random()) & 0xbfffffff;
    values.push_back(std::bit_cast<float>(bits));
  }
  std::vector<std::uint16_t> packed(values.size());
  functions.pack_bf16(values.data(), packed.data(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    if (packed[i] != nearest(values[i])) FAIL(values[i] << " becomes " << packed[i]);
  std::vector<float> back(values.size());
  functions.unpack_bf16(packed.data(), back.data(), back.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    if (std::bit_cast<std::uint32_t>(back[i]) != std::uint32_t{packed[i]} << 16)
      FAIL(packed[i] << " becomes " << back[i]);
  // In vectors, and alone behind them.
  for (const float special : {std::numeric_limits<float>::infinity(),
                              std::bit_cast<float>(0x7fffffffu), std::bit_cast<float>(0x7f800001u)})
    for (const std::size_t size : {1u, 64u}) {
      const std::vector<float> all(size, special);
      packed.resize(size);
      functions.pack_bf16(all.data(), packed.data(), size);
      back.resize(size);
      functions.unpack_bf16(packed.data(), back.data(), size);
      CHECK(std::isnan(back[size - 1]) == std::isnan(special));
      CHECK(std::isinf(back[size - 1]) == std::isinf(special));
    }
}

TEST_CASE("sums of bf16 are rounded", "[sync]") {
  const simd::RowChangeFunctions functions = simd::row_change_functions();
  std::vector<float> a(100), b(100);
  Random random(5);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(random.uniform() - 0.5);
    b[i] = static_cast<float>(random.uniform() - 0.5);
  }
  std::vector<std::uint16_t> packed_a(100), packed_b(100);
  functions.pack_bf16(a.data(), packed_a.data(), 100);
  functions.pack_bf16(b.data(), packed_b.data(), 100);
  functions.unpack_bf16(packed_a.data(), a.data(), 100);
  functions.unpack_bf16(packed_b.data(), b.data(), 100);
  functions.add_bf16(packed_a.data(), packed_b.data(), 100);
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(packed_b[i] == nearest(a[i] + b[i]));
}

TEST_CASE("ranks that exchange bf16 agree, and send half of the bytes", "[sync]") {
  std::vector<std::vector<float>> sums(3, std::vector<float>{1, 0.5f, 1.0f / 3});
  ThreadRanks::run(3, [&](ThreadRanks self) {
    Bf16Ranks<ThreadRanks> ranks(self);
    ranks.begin_sum(sums[self.rank()]);
    ranks.wait();
    ranks.wait();  // as `done` and `wait` both may
  });
  CHECK(sums[0] == sums[1]);
  CHECK(sums[0] == sums[2]);
  CHECK(sums[0][0] == 3);
  CHECK(sums[0][1] == 1.5f);
  CHECK(sums[0][2] == Approx(1).epsilon(0.01));

  const TemporaryFolder folder;
  demo::write_corpus(folder / "text", {.tokens = 300'000});
  const auto vocabulary = Vocabulary::from_text(folder / "text");
  const auto corpus = EncodedCorpus::from_text(folder / "text", vocabulary);
  std::vector<std::optional<Embeddings>> of_ranks(3);
  std::vector<std::uint64_t> bytes(2);
  for (const bool on : {false, true})
    ThreadRanks::run(3, [&](ThreadRanks self) {
      using Sync = Allreduce<Bf16Ranks<ThreadRanks>>;
      Trainer<SharedNegative, FusedKernel, Sync, RankScaledDecay> trainer(
          {.dimension = 32, .threads = 1}, Sync(Bf16Ranks<ThreadRanks>(self, on)));
      of_ranks[self.rank()] = trainer.fit(corpus, vocabulary);
      if (self.rank() == 0) bytes[on ? 1 : 0] = trainer.sync().bytes_sent();
    });
  CHECK(bytes[1] * 2 == bytes[0]);
  for (const std::size_t rank : {1u, 2u})
    for (std::size_t i = 0; i < vocabulary.size(); ++i)
      for (std::size_t d = 0; d < 32; ++d)
        if (of_ranks[rank]->vector(i)[d] != of_ranks[0]->vector(i)[d]) FAIL("row " << i);
  CHECK(evaluate_analogies(*of_ranks[0], demo::analogies()).total.accuracy() >= 0.9);
}

TEST_CASE("ranks are refused if only one of them exchanges bf16", "[sync]") {
  CHECK_THROWS_WITH(ThreadRanks::run(2,
                                     [](ThreadRanks self) {
                                       Model model(zipf_vocabulary(40), 4);
                                       Allreduce<Bf16Ranks<ThreadRanks>> sync(
                                           Bf16Ranks<ThreadRanks>(self, self.rank() == 1));
                                       RankInfo run =
                                           sync_run(model, 1000, {}, [](double) { return 0.1; });
                                       sync.start(model, run);
                                     }),
                    "rank 1 has another size of a number (bytes) than rank 0 (2, not 4)");
}
