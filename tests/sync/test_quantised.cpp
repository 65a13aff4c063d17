#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>
#include <wordloom/evaluation/word_tests.hpp>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/bf16_ranks.hpp>
#include <wordloom/sync/thread_ranks.hpp>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "demo_text.hpp"
#include "small_models.hpp"
#include "sync/sync_run.hpp"

using namespace wordloom;
using detail::QuantisedRows;
using Format = SyncOptions::Format;

namespace {

std::vector<float> random_values(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(size);
  for (float& x : values)
    for (int i = 0; i < 4; ++i) x += static_cast<float>(random.uniform() - 0.5);
  return values;
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * b[i];
  return sum;
}

/// Quantises values to a row of bytes; returns what was sent.
std::vector<float> encode(const QuantisedRows& rows, std::byte* row, std::vector<float> values,
                          float changed) {
  std::vector<float> sent(values.size());
  rows.encode(row, values.data(), static_cast<float>(dot(values, values)), changed, sent.data());
  return sent;
}

}  // namespace

TEST_CASE("values are quantised to the codes of plain arithmetic", "[sync]") {
  const auto functions = simd::row_change_functions();
  for (const unsigned bits : {1u, 2u, 4u, 8u})
    for (const std::size_t size : {1u, 3u, 16u, 33u, 128u, 301u}) {
      const auto values = random_values(size, bits + size);
      const double step = bits == 8 ? 0.01 : 1.2 / std::pow(2.0, bits);
      const std::size_t bytes = QuantisedRows::bytes_of_codes(size, bits);
      std::vector<std::uint8_t> codes(bytes);
      const float scale =
          functions.quantise(values.data(), static_cast<float>(1 / step), bits, codes.data(), size);
      std::vector<float> back(size);
      functions.dequantise(codes.data(), 0.5f, bits, back.data(), size);
      const double top = std::pow(2.0, bits) - 1;
      double products = 0, squares = 0;
      for (std::size_t i = 0; i < size; ++i) {
        const auto at = i % bytes, shift = i / bytes * bits;
        const int code = (codes[at] >> shift) & ((1 << bits) - 1);
        const double exact = values[i] / step + (top + 1) / 2;
        const double nearest = std::clamp(std::floor(exact), 0.0, top);
        // At the border of two codes either is right.
        if (code != nearest && std::abs(exact - std::round(exact)) > 1e-4)
          FAIL(bits << " bits: " << values[i] << " becomes " << code << ", not " << nearest);
        if (back[i] != (code - top / 2) * 0.5) FAIL(code << " becomes " << back[i]);
        products += values[i] * (code - top / 2);
        squares += std::pow(code - top / 2, 2);
      }
      CHECK(double{scale} == Approx(products / squares).epsilon(1e-4));
      CHECK(codes.size() * 8 >= size * bits);
    }
}

TEST_CASE("rows are rotated as by plain arithmetic, and back", "[sync]") {
  const auto functions = simd::row_change_functions();
  for (const std::size_t size : {1u, 2u, 3u, 4u, 7u, 8u, 16u, 31u, 33u, 100u, 128u, 300u}) {
    const auto signs = QuantisedRows::random_signs(size, size);
    const auto values = random_values(size, size);
    std::size_t part = 1;
    while (2 * part <= size) part *= 2;
    // Row i of a Hadamard matrix has -1 in column k if i and k have an odd number of bits in
    // common.
    std::vector<double> expected(values.begin(), values.end());
    for (const std::size_t first : {std::size_t{0}, size - part}) {
      std::vector<double> sums(part);
      for (std::size_t i = 0; i < part; ++i)
        for (std::size_t k = 0; k < part; ++k)
          sums[i] += expected[first + k] * double{signs[(first == 0 ? 0 : part) + k]} *
                     (std::popcount(i & k) % 2 == 0 ? 1 : -1);
      std::ranges::copy(sums, expected.begin() + static_cast<std::ptrdiff_t>(first));
      if (part == size) break;
    }
    std::vector<float> rotated = values;
    functions.rotate(rotated.data(), signs.data(), size);
    for (std::size_t i = 0; i < size; ++i)
      if (double{rotated[i]} != Approx(expected[i]).margin(1e-5)) FAIL(size << ", value " << i);
    CHECK(dot(rotated, rotated) == Approx(dot(values, values)).epsilon(1e-5));
    functions.rotate_back(rotated.data(), signs.data(), size);
    for (std::size_t i = 0; i < size; ++i)
      if (rotated[i] != Approx(values[i]).margin(1e-5)) FAIL(size << ", value " << i << " of back");
  }
}

TEST_CASE("a value that is far out each time arrives in time", "[sync]") {
  constexpr std::size_t size = 100;
  for (const unsigned bits : {1u, 2u, 4u, 8u}) {
    std::vector<std::byte> row(QuantisedRows::bytes_of_row(size, bits));
    std::vector<float> left(size);
    double arrived = 0;
    for (std::uint64_t exchange = 1; exchange <= 50; ++exchange) {
      const auto signs = QuantisedRows::random_signs(size, exchange);
      const QuantisedRows rows{row.data(), 2, size, bits, signs.data()};
      std::vector<float> values = random_values(size, exchange);
      values[7] = 30;
      for (std::size_t i = 0; i < size; ++i) left[i] += values[i];
      const auto sent = encode(rows, row.data(), left, 1);
      for (std::size_t i = 0; i < size; ++i) left[i] -= sent[i];
      arrived += double{sent[7]};
    }
    INFO("bits " << bits);
    // Without a rotation 4 bits leave 30 for later and 1 bit 943, with one for all exchanges 1
    // bit 41.
    CHECK(50 * 30 - arrived < 10);
  }
}

namespace {

/// Ranks that record the rotation of each exchange.
struct RecordingRanks : ThreadRanks {
  std::vector<std::vector<float>>* rotations;

  using ThreadRanks::begin_sum;
  void begin_sum(const QuantisedRows& rows) {
    rotations->emplace_back(rows.signs, rows.signs + 2 * rows.columns);
    ThreadRanks::begin_sum(rows);
  }
};

}  // namespace

TEST_CASE("each exchange has another rotation, on all ranks alike", "[sync]") {
  std::vector<std::vector<float>> rotations[2];
  ThreadRanks::run(2, [&](ThreadRanks self) {
    Model model(zipf_vocabulary(40, 1000), 32);
    Allreduce<RecordingRanks> sync({self, &rotations[self.rank()]},
                                   {.first_rows = 8, .interval = 100, .format = Format::bits4});
    RankInfo run = sync_run(model, 1000, {.epochs = 1}, [](double) { return 0.1; });
    sync.start(model, run);
    for (int step = 1; step <= 10; ++step) sync.tick(model, step / 10.0, RankInfo::Signal::go_on);
    sync.finish(model);
  });
  CHECK(rotations[0] == rotations[1]);
  CHECK(rotations[0].size() >= 10);
  std::ranges::sort(rotations[0]);
  CHECK(std::ranges::adjacent_find(rotations[0]) == rotations[0].end());
}

TEST_CASE("a quantised row keeps its count, and its scale has the least squared error", "[sync]") {
  for (const unsigned bits : {1u, 2u, 4u, 8u})
    for (const std::size_t size : {1u, 7u, 100u, 128u}) {
      std::vector<float> values = random_values(size, 5 * bits + size), got(size);
      values[size / 2] *= 20;  // far out
      std::vector<std::byte> row(QuantisedRows::bytes_of_row(size, bits));
      const auto signs = QuantisedRows::random_signs(size, bits);
      const QuantisedRows rows{row.data(), 2, size, bits, bits == 2 ? nullptr : signs.data()};
      auto sent = encode(rows, row.data(), values, 40'001);
      rows.decode(row.data(), got.data());
      CHECK(got == sent);
      CHECK(QuantisedRows::changed(row.data()) == 40'001);
      CHECK(dot(values, sent) == Approx(dot(sent, sent)).epsilon(1e-4));
      CHECK(dot(sent, sent) > 0);
      std::ranges::fill(values, 0.0f);
      sent = encode(rows, row.data(), values, 0);
      rows.decode(row.data(), got.data());
      CHECK(got == values);
      CHECK(sent == values);
      values[0] = std::numeric_limits<float>::quiet_NaN();
      encode(rows, row.data(), values, 1);
      rows.decode(row.data(), got.data());
      CHECK(std::ranges::all_of(got, [](float x) { return std::isnan(x); }));
    }
}

TEST_CASE("sums of quantised rows and their errors make up what ranks sent", "[sync]") {
  constexpr std::size_t columns = 21, count = 12;
  for (const std::size_t ranks : {1u, 2u, 5u, 16u}) {
    std::vector<std::vector<std::byte>> bytes(ranks);
    std::vector<std::vector<float>> errors(ranks, std::vector<float>(count * columns));
    std::vector<std::vector<float>> sent(ranks);
    ThreadRanks::run(ranks, [&](ThreadRanks self) {
      const std::size_t r = self.rank();
      const auto signs = QuantisedRows::random_signs(columns, 3);
      QuantisedRows rows{nullptr, count, columns, 2, signs.data(), errors[r].data()};
      bytes[r].resize(rows.size_bytes());
      rows.data = bytes[r].data();
      for (std::size_t i = 0; i + 1 < count; ++i) {
        const auto of_row =
            encode(rows, rows.data + i * rows.bytes_of_row(), random_values(columns, 99 * r + i),
                   i % 2 == 0 || r == 0 ? 1 : 0);
        sent[r].insert(sent[r].end(), of_row.begin(), of_row.end());
      }
      QuantisedRows::write_flag(rows.data + (count - 1) * rows.bytes_of_row(),
                                static_cast<float>(r + 1));
      self.begin_sum(rows);
      self.wait();
    });
    const auto signs = QuantisedRows::random_signs(columns, 3);
    const QuantisedRows rows{bytes[0].data(), count, columns, 2, signs.data()};
    for (const auto& of_rank : bytes) CHECK(of_rank == bytes[0]);
    CHECK(QuantisedRows::read_flag(rows.data + (count - 1) * rows.bytes_of_row()) ==
          static_cast<float>(ranks * (ranks + 1) / 2));
    std::vector<float> sum(columns);
    for (std::size_t owner = 0; owner < ranks; ++owner) {
      const std::size_t first = rows.part_of(owner, ranks).first;
      for (std::size_t i = first; i < std::min(rows.part_of(owner, ranks).second, count - 1); ++i) {
        const std::byte* const row = rows.data + i * rows.bytes_of_row();
        CHECK(QuantisedRows::changed(row) == static_cast<float>(i % 2 == 0 ? ranks : 1));
        rows.decode(row, sum.data());
        for (std::size_t c = 0; c < columns; ++c) {
          double all = 0;
          for (const auto& of_rank : sent) all += double{of_rank[i * columns + c]};
          const double error = double{errors[owner][(i - first) * columns + c]};
          if (double{sum[c]} + error != Approx(all).margin(1e-5)) FAIL("row " << i);
        }
      }
    }
  }
}

TEST_CASE("changes that quantising leaves out arrive later, equally on all ranks", "[sync]") {
  constexpr std::size_t dimension = 33, words = 40;
  for (const Format format : {Format::bits8, Format::bits4, Format::bits2, Format::bits1})
    for (const bool overlap : {false, true}) {
      const Model start(zipf_vocabulary(words, 1000), dimension);
      std::vector<double> expected(words * dimension);  // of the input
      std::vector<std::optional<Model>> models(3);
      constexpr int steps = 40;
      const auto change = [](std::size_t rank, int step, std::size_t i) {
        // Every third row changes on rank 1 alone, and the last rows at every eighth step.
        if (i / dimension % 3 == 1 && rank != 1) return 0.0f;
        if (i / dimension > 30 && step % 8 != 0) return 0.0f;
        return random_values(1, 1000 * rank + 31 * static_cast<std::uint64_t>(step) + i)[0];
      };
      for (std::size_t i = 0; i < expected.size(); ++i) {
        expected[i] = double{start.input.row(i / dimension)[i % dimension]};
        for (std::size_t r = 0; r < 3; ++r)
          for (int s = 0; s < steps; ++s) expected[i] += double{change(r, s, i)};
      }
      ThreadRanks::run(3, [&](ThreadRanks self) {
        Model& model = models[self.rank()].emplace(start.vocabulary, dimension);
        Allreduce<ThreadRanks, DeltaSum> sync(
            self, {.first_rows = 8, .interval = 25, .overlap = overlap, .format = format});
        RankInfo run = sync_run(model, 1000, {.epochs = 1}, [](double) { return 0.1; });
        sync.start(model, run);
        for (int s = 0; s < steps; ++s) {
          for (std::size_t i = 0; i < expected.size(); ++i)
            model.input.row(i / dimension)[i % dimension] += change(self.rank(), s, i);
          sync.tick(model, (s + 1.0) / steps, RankInfo::Signal::go_on);
        }
        sync.finish(model);
      });
      double error = 0, all = 0;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const std::size_t row = i / dimension, d = i % dimension;
        const float got = models[0]->input.row(row)[d];
        error += std::pow(got - expected[i], 2);
        all += std::pow(double{start.input.row(row)[d]} - expected[i], 2);
        for (const auto& model : models)
          if (model->input.row(row)[d] != got) FAIL("ranks differ in row " << row);
      }
      INFO("bits " << static_cast<int>(format));
      CHECK(std::sqrt(error / all) < 0.02);
    }
}

TEMPLATE_TEST_CASE("quantised changes are combined as others are", "[sync]", CoherentSum, Average,
                   TouchedAverage) {
  constexpr std::size_t dimension = 32, words = 40, ranks = 8;
  const auto train = [&](Format format) {
    std::vector<float> result;
    ThreadRanks::run(ranks, [&](ThreadRanks self) {
      Model model(zipf_vocabulary(words, 1000), dimension);
      for (std::size_t i = 0; i < words; ++i)
        std::ranges::copy(random_values(dimension, i), model.output.row(i).begin());
      Allreduce<ThreadRanks, TestType> sync(self,
                                            {.first_rows = 8, .interval = 100, .format = format});
      RankInfo run = sync_run(model, 1000, {.epochs = 1}, [](double) { return 0.05; });
      sync.start(model, run);
      for (std::uint64_t step = 1; step <= 10; ++step) {
        for (std::size_t i = 0; i < words; ++i) {
          if (i % 3 == 1 && self.rank() != 1) continue;
          for (RowMatrix* matrix : {&model.input, &model.output}) {
            const auto common = random_values(dimension, 77 * step + i),
                       own = random_values(dimension, 1000 * step + 50 * self.rank() + i);
            for (std::size_t d = 0; d < dimension; ++d)
              matrix->row(i)[d] += 0.1f * (i % 2 == 0 ? common[d] : own[d]);
          }
        }
        sync.tick(model, static_cast<double>(step) / 10, RankInfo::Signal::go_on);
      }
      sync.finish(model);
      if (self.rank() == 0)
        for (std::size_t i = 0; i < words; ++i)
          for (const RowMatrix* matrix : {&model.input, &model.output})
            result.insert(result.end(), matrix->row(i).begin(), matrix->row(i).end());
    });
    return result;
  };
  const auto expected = train(Format::fp32), got = train(Format::bits8);
  double error = 0, all = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    error += std::pow(double{expected[i]} - got[i], 2);
    all += std::pow(double{expected[i]}, 2);
  }
  CHECK(std::sqrt(error / all) < 0.01);
}

TEST_CASE("ranks that exchange few bits learn as well, and one rank alone the same bits",
          "[sync]") {
  static const DemoText text(300'000);
  std::uint64_t bytes = 0;  // that rank 0 has sent in the last run
  const auto train = [&](std::size_t ranks, Format format, std::size_t epochs) {
    std::vector<std::optional<Embeddings>> all(ranks);
    ThreadRanks::run(ranks, [&](ThreadRanks self) {
      using Sync = Allreduce<ThreadRanks>;
      Trainer<SharedNegative, FusedKernel, Sync, RankScaledDecay> trainer(
          {.dimension = 32, .epochs = epochs, .threads = 1}, Sync(self, {.format = format}));
      all[self.rank()] = trainer.fit(text.corpus, text.vocabulary);
      if (self.rank() == 0) bytes = trainer.sync().bytes_sent();
    });
    for (const auto& of_rank : all)
      for (std::size_t i = 0; i < text.vocabulary.size(); ++i)
        if (!std::ranges::equal(of_rank->vector(i), all[0]->vector(i))) FAIL("row " << i);
    return *all[0];
  };
  const Embeddings words = train(3, Format::bits4, 5);
  CHECK(evaluate_analogies(words, demo::analogies()).total.accuracy() >= 0.9);
  const Embeddings alone = train(1, Format::fp32, 1), alone_in_four = train(1, Format::bits4, 1);
  for (std::size_t i = 0; i < text.vocabulary.size(); ++i)
    if (!std::ranges::equal(alone.vector(i), alone_in_four.vector(i))) FAIL("row " << i);
  train(3, Format::fp32, 1);
  const std::uint64_t fp32 = bytes;
  train(3, Format::bf16, 1);
  CHECK(bytes * 2 == fp32);
  train(3, Format::bits4, 1);
  CHECK(bytes * 4 < fp32);  // rows of 22 bytes, not 136, and the last of 38
}

TEST_CASE("ranks of two formats, or of none that fits, are refused", "[sync]") {
  CHECK_THROWS_WITH(
      ThreadRanks::run(2,
                       [](ThreadRanks self) {
                         Model model(zipf_vocabulary(40), 4);
                         Allreduce<ThreadRanks> sync(
                             self, {.interval = 100,
                                    .format = self.rank() == 1 ? Format::bits4 : Format::bits2});
                         RankInfo run = sync_run(model, 1000, {}, [](double) { return 0.1; });
                         sync.start(model, run);
                       }),
      "rank 1 has another format of changes (bits) than rank 0 (4, not 2)");
  ThreadRanks::run(1, [](ThreadRanks self) {
    using Other = Allreduce<Bf16Ranks<ThreadRanks>>;
    CHECK_THROWS_AS(Other(Bf16Ranks<ThreadRanks>(self), {.format = Format::bits4}),
                    InvalidArgument);
    CHECK_THROWS_AS(Other(Bf16Ranks<ThreadRanks>(self), {.format = Format::bf16}), InvalidArgument);
  });
}
