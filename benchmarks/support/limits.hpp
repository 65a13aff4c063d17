#pragma once
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/wordloom.hpp>

#include "machine.hpp"
#include "replay.hpp"
#include "training.hpp"

/// The costs of training beside the limits of this machine: the FMA peak, and the speed at which
/// one core moves rows from and to memory.
namespace limits {

using namespace wordloom;

/// Returns the seconds in which one core reads, changes and writes a row of a model, at random
/// places of `rows` rows, prefetched as the kernels do it. The fastest of five runs.
inline double random_row_seconds(std::size_t rows, std::size_t dimension) {
  constexpr std::size_t count = 200'000, ahead = 8;
  RowMatrix matrix(rows, dimension);
  for (std::size_t i = 0; i < rows; ++i)  // also gives each row memory of its own
    std::ranges::fill(matrix.row(i), 1.0f);
  Random random(1);
  std::vector<std::size_t> ids(count + ahead);
  double fastest = 1;
  for (int run = 0; run < 5; ++run) {
    for (std::size_t& id : ids) id = random.below(rows);
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < count; ++i) {
      matrix.prefetch(ids[i + ahead]);
      for (float& x : matrix.row(ids[i])) x *= 1.0001f;
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    fastest = std::min(fastest, seconds.count() / count);
  }
  return fastest;
}

/// The speed of training by user time, which other programs on the machine disturb less than wall
/// time, and which memory that is new to the process hardly does. A callback of a trainer.
class UserSpeed {
 public:
  bool operator()(const Progress& progress) {
    last_ = {progress.tokens, user_seconds()};
    if (first_.tokens == 0) first_ = last_;
    return true;
  }
  /// Returns the words a second where nothing else disturbs the threads, which share the user time,
  /// from the first call to the last; 0 after a single call.
  double words_per_second(double threads) const {
    if (last_.tokens == first_.tokens) return 0;
    return threads * static_cast<double>(last_.tokens - first_.tokens) /
           (last_.seconds - first_.seconds);
  }

 private:
  struct Reached {
    std::uint64_t tokens = 0;
    double seconds = 0;
  };
  static double user_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return static_cast<double>(used.ru_utime.tv_sec) +
           static_cast<double>(used.ru_utime.tv_usec) * 1e-6;
  }
  Reached first_, last_;
};

/// The work of a sampler's blocks.
struct Work {
  double kept;    // the share of the corpus's words that subsampling keeps
  double pairs;   // inputs scored against outputs, for each kept word
  double rows;    // visits of rows of either matrix, for each kept word
  double missed;  // those of rows that are not in the cache
};

/// Counts the work of one thread on the words after the first 100,000, which fill the cache: as
/// many rows as were visited last (see support/replay.hpp).
template <class Sampler>
Work work_of(const TrainingInput& input, Hyperparameters parameters, double cached_rows) {
  parameters.dimension = 1;  // of a model that is not trained
  parameters.threads = 1;
  parameters.private_rows = 0;
  const auto total =
      replay::Replay<Sampler>(input, parameters, {cached_rows, 0, 0, 1}, {}).run(200'000);
  return {total.kept, total.pairs / total.kept, total.rows / total.kept, total.loads / total.kept};
}

/// Makes a text of a few equally frequent words, whose rows are in the cache of a core, in
/// sentences as long as the mean of `text` after subsampling.
inline TrainingInput text_in_cache(const TrainingInput& text, double subsample,
                                   std::size_t dimension) {
  const std::size_t cache = detail::second_level_cache_bytes();
  const std::size_t row = 4 * RowMatrix(1, dimension).stride();
  const std::size_t words =
      std::clamp<std::size_t>((cache == 0 ? 1 << 20 : cache) / row / 4, 100, 1000);
  const detail::Subsampling subsampling(text.vocabulary, subsample);
  double sentences = 0, kept = 0;
  for (const auto sentence : text.corpus.sentences(Shard{})) {
    ++sentences;
    for (const WordId word : sentence) kept += subsampling.keep_probability(word);
  }
  const auto length = std::max<std::size_t>(static_cast<std::size_t>(kept / sentences + 0.5), 2);
  std::vector<std::pair<std::string, std::uint64_t>> counts;
  for (std::size_t i = 0; i < words; ++i)
    counts.emplace_back(std::string("w").append(std::to_string(i)), 1000);
  Random random(1);
  std::vector<std::vector<WordId>> made(1'000'000 / length + 1, std::vector<WordId>(length));
  for (auto& sentence : made)
    for (WordId& word : sentence) word = static_cast<WordId>(random.below(words));
  const auto vocabulary = Vocabulary::from_counts(counts);
  return {vocabulary, EncodedCorpus::from_sentences(made, vocabulary), {}};
}

/// The limits of this machine for rows of one dimension, and columns that compare with them.
struct Limits {
  double peak;         // fp32 operations a second, of all threads
  double row_seconds;  // for each random row, of all threads
  std::size_t dimension;

  void add_columns(benchmark::State& state, const Work& work, double words_per_second) const {
    const double seconds = 1 / (words_per_second * work.kept);
    const double row_bytes = 4.0 * static_cast<double>(dimension);
    state.counters["kept"] = work.kept;
    state.counters["ns_kept"] = seconds * 1e9;
    state.counters["pairs_kept"] = work.pairs;
    state.counters["rows_kept"] = work.rows;
    state.counters["missed_kept"] = work.missed;
    // Read and written, each.
    state.counters["bytes_kept"] = work.rows * row_bytes;
    state.counters["memory_bytes_kept"] = work.missed * row_bytes;
    state.counters["of_peak"] = 6 * work.pairs * static_cast<double>(dimension) / (seconds * peak);
    state.counters["of_row_rate"] = work.missed * row_seconds / seconds;
  }
};

}  // namespace limits
