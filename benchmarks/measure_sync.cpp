// Measures what synchronising costs on these processes: how long sums of several sizes take, and
// how long a rank works for each row besides. Prints one line of JSON, for predict_scaling.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/mpi.hpp>
#include <wordloom/wordloom.hpp>

#include "support/arguments.hpp"
#include "support/median.hpp"

using namespace wordloom;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Two ranks, of which the other has changed nothing and answers at once: only our own work is
/// left.
struct Instantly {
  std::size_t rank() const { return 0; }
  std::size_t size() const { return 2; }
  void begin_sum(std::span<float>) {}
  void begin_sum(const detail::QuantisedRows& rows) {
    const auto [first, last] = rows.part_of(0, 2);
    rows.add(first, last, 2,
             [&](std::size_t, std::size_t i) { return rows.data + i * rows.bytes_of_row(); });
  }
  bool done() { return true; }
  void wait() {}
  void broadcast(std::span<float>) {}
  std::vector<std::uint64_t> gather(std::uint64_t value) { return {value, value}; }
  void fail(const std::string&) {}
};

/// Returns the seconds that a rank takes to pack, combine and apply a row in a format.
double seconds_per_row(std::size_t rows, std::size_t dimension, SyncOptions::Format format) {
  std::vector<std::pair<std::string, std::uint64_t>> counts;
  for (std::size_t i = 0; i < rows; ++i)
    counts.emplace_back("w" + std::to_string(i), 1 + 1'000'000 / (i + 1));
  const auto vocabulary = Vocabulary::from_counts(counts, {.min_count = 1});
  Model model(vocabulary, dimension);
  constexpr std::uint64_t words = 1'000'000, synchronisations = 512;
  Allreduce<Instantly> sync(Instantly{}, {.interval = words / synchronisations, .format = format});
  const SharedNegative sampler;
  RankInfo run{.input_rows = rows,
               .output_rows = rows,
               .dimension = dimension,
               .words_per_epoch = words,
               .rate = [](double) { return 0.025; },
               .expected = sampler.start(vocabulary).expected_updates(WordRates(vocabulary, 1e-4))};
  sync.start(model, run);
  double seconds = 0;
  for (std::uint64_t i = 1; i <= synchronisations; ++i) {
    // Training between two synchronisations changes all rows now and then, frequent ones always.
    for (std::size_t row = 0; row < (i % 16 == 0 ? rows : std::min<std::size_t>(rows, 2048)); ++row)
      for (RowMatrix* matrix : {&model.input, &model.output}) matrix->row(row)[0] += 0.1f;
    const auto start = Clock::now();
    sync.tick(model, static_cast<double>(i) / synchronisations, RankInfo::Signal::go_on);
    seconds += seconds_since(start);
  }
  const auto bits = static_cast<unsigned>(format);
  const std::size_t row_bytes = format == SyncOptions::Format::fp32
                                    ? (dimension + 2) * sizeof(float)
                                    : detail::QuantisedRows::bytes_of_row(dimension, bits);
  return seconds * static_cast<double>(row_bytes) / static_cast<double>(sync.bytes_sent());
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("Times of sums over the processes of an MPI job");
  std::size_t rows = 70'000, dimension = 128, most = 64;
  app.add_option("--rows", rows, "Words of the vocabulary");
  app.add_option("--dimension", dimension, "Dimension");
  app.add_option("--most", most, "Largest sum, MiB");
  CLI11_PARSE(app, argc, argv);
  const MpiSession session;
  MpiRanks ranks;
  nlohmann::json sums = nlohmann::json::array();
  for (std::size_t bytes = 256; bytes <= most << 20; bytes *= 4) {
    std::vector<float> values(bytes / sizeof(float), 1.0f);
    std::vector<double> seconds;
    for (int i = 0; i < 15; ++i) {
      ranks.gather(0);  // all begin at the same time
      const auto start = Clock::now();
      ranks.begin_sum(values);
      ranks.wait();
      seconds.push_back(seconds_since(start));
      std::fill(values.begin(), values.end(), 1.0f);
    }
    sums.push_back({{"bytes", bytes}, {"seconds", median(seconds)}});
  }
  if (ranks.rank() != 0) return 0;
  nlohmann::json work;
  for (const auto& [name, format] : SyncOptions::formats)
    if (format == SyncOptions::Format::fp32 || format == SyncOptions::Format::bits4 ||
        format == SyncOptions::Format::bits2)
      work[name] = seconds_per_row(rows, dimension, format);
  std::cout << nlohmann::json{{"ranks", ranks.size()},
                              {"work_seconds_per_row", work},
                              {"sums", sums}}
            << std::endl;
  return 0;
} catch (const std::exception& error) {
  std::cerr << "measure_sync: error: " << error.what() << '\n';
  return 1;
}
