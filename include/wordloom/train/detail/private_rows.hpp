#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include <wordloom/core/detail/processors.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/kernel/row_map.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/expected_updates.hpp>
#include <wordloom/sync/combine.hpp>
#include <wordloom/sync/common_direction.hpp>
#include <wordloom/train/detail/merge_rows.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The private copies of the most frequent rows, which keep threads from waiting for each other's
/// cache lines. Threads form up to 8 sets. Each set trains a copy of its own of the first rows of
/// both matrices, [count x D] each, and merges it: it adds its change of a row to the shared row
/// after the row was scored in `pairs` pairs. The copies are stored after the rows of the model
/// (RowMatrix::reserve), so that kernels find them by an offset (RowMap).
///
/// The sum of the changes of several sets is a good approximation, except along the direction that
/// all rows have in common: the loss is curved most there, all sets push in the same way, and the
/// sum overshoots (8 sets diverge). Along that direction, changes are scaled as in CoherentSum. See
/// benchmarks/results/many-cores.md.
///
/// Thread-safe unless a function says otherwise. The model must outlive it.
class PrivateRows {
 public:
  static constexpr std::size_t max_sets = 8;

  /// Returns the number of pairs of a row in one set between two merges: at most a quarter of the
  /// number that diverges (at a learning rate of 0.025: 1,024 pairs with 4 sets, 512 with 8, 256
  /// with 2 of each of 8 ranks). 0 if merges would be so frequent that shared rows are faster.
  static double usual_pairs(std::size_t threads, std::size_t ranks, double learning_rate) {
    const auto sets = static_cast<double>((std::min)(threads, max_sets) * ranks);
    const double pairs = 4096 / (sets * sets);
    return pairs < 32 ? 0 : pairs * (std::min)(1.0, 0.025 / learning_rate);
  }

  /// Returns the number of rows of each matrix, of `stride` floats, that threads copy: `wanted`, or
  /// the number that fits half of a core's second-level cache together with the values at the last
  /// merge. If they took all of it, two threads were 2 to 4 % slower.
  static std::size_t usual_count(std::size_t wanted, std::size_t stride) {
    const std::size_t cache = second_level_cache_bytes();
    return cache == 0 ? wanted : (std::min)(wanted, cache / 2 / (4 * stride * sizeof(float)));
  }

  /// A range of rows of similar frequency, which are merged together.
  struct Chunk {
    std::size_t matrix, first, last;
    double interval;  // pairs of all rows in one set between two merges
  };

  /// Reserves memory in the model and copies its first `count` rows, or all if there are fewer.
  /// `threads`: 2 or more. Throws std::bad_alloc.
  PrivateRows(Model& model, const ExpectedUpdates& expected, std::size_t count, std::size_t threads,
              double pairs);
  PrivateRows(PrivateRows&&) = delete;
  ~PrivateRows() {
    for (std::size_t m = 0; m < 2; ++m) matrix(m).shrink_to_fit();
  }

  const std::vector<Chunk>& chunks() const noexcept { return chunks_; }

  /// Rows of the input, after those of the model, that one thread alone trains: scratch rows.
  struct Scratch {
    RowId first, count;
  };

  class Thread;
  /// Returns the private rows of thread `index`, 0 to threads - 1. `scratch`: rows in which the
  /// thread trains its inputs, if there are no private rows for them.
  Thread thread(std::size_t index, Scratch scratch = {});

  /// Merges all rows of all sets. No thread may train at the same time.
  void merge_all();

  /// Adds the changes that are not merged yet to copies of the model's matrices. Threads may train
  /// meanwhile: a change that is merged at the same moment may be missing or counted twice.
  void complete(std::vector<NamedMatrix>& copies) const;

 private:
  static constexpr std::size_t rows_at_once = 8;

  /// The copies that a set of threads shares. One thread at a time merges them.
  struct alignas(64) Set {
    std::array<RowMatrix, 2> base;  // [count x D]: the copies after the last merge
    RowMatrix directions;           // [2 x D] the common direction of each matrix's rows
    float square[2] = {0, 0};       // mean squares of the rows' components along them
    float rate = 0;
    double next_directions = 0;     // pairs
    std::vector<double> merged_at;  // [chunks] pairs
    std::atomic<double> pairs{0}, next{0};
    std::atomic_flag is_merging;
  };

  RowMatrix& matrix(std::size_t m) const { return m == 0 ? model_.input : model_.output; }
  RowId offset(const Set& set, std::size_t m) const {
    return static_cast<RowId>(matrix(m).rows() +
                              static_cast<std::size_t>(&set - sets_.data()) * counts_[m]);
  }
  float* own_row(const Set& set, std::size_t m, std::size_t i) const {
    return matrix(m).row_data(offset(set, m) + i);
  }

  /// Counts the pairs of a thread of the set, and merges the rows that are due.
  void count(Set& set, double pairs, float rate, Scratch scratch);

  /// Finds the common directions. `scratch`: rows of the calling thread, which give the direction
  /// of inputs that have no private rows; without it, that direction does not change.
  void find_directions(Set& set, Scratch scratch = {}) const;

  void merge(Set& set, std::size_t index, double now) const;

  Model& model_;
  std::size_t threads_;
  std::size_t counts_[2];
  std::vector<float> shares_[2];  // [counts_] of all pairs
  std::vector<Chunk> chunks_;
  std::vector<Set> sets_;
  simd::MergeFunction merge_row_ = simd::merge_function();
};

/// The private rows of one thread. A default-constructed object has none and maps each row to
/// itself. For one thread at a time.
class PrivateRows::Thread {
 public:
  Thread() = default;
  Thread(PrivateRows& rows, Set& set, Scratch scratch)
      : rows_(&rows), set_(&set), scratch_(scratch) {
    maps_.input = {static_cast<RowId>(rows.counts_[0]), rows.offset(set, 0)};
    maps_.output = {static_cast<RowId>(rows.counts_[1]), rows.offset(set, 1)};
  }

  explicit operator bool() const noexcept { return rows_ != nullptr; }

  /// Returns the places of the thread's rows.
  const RowMaps& maps() const noexcept { return maps_; }

  /// Counts the pairs of the next update and merges the rows that are due. Call it between updates.
  [[gnu::always_inline]] void count(std::size_t pairs, float rate) {
    pairs_ += pairs;
    if (pairs_ < pairs_at_once) return;
    rows_->count(*set_, static_cast<double>(pairs_), rate, scratch_);
    pairs_ = 0;
  }

 private:
  static constexpr std::size_t pairs_at_once = 500;  // some 25 words

  PrivateRows* rows_ = nullptr;
  Set* set_ = nullptr;
  Scratch scratch_ = {};
  std::size_t pairs_ = pairs_at_once;  // starts at once
  RowMaps maps_;
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION PrivateRows::Thread PrivateRows::thread(std::size_t index, Scratch scratch) {
  std::size_t set = 0;
  while (index >= detail::part_of(threads_, set, sets_.size()).second) ++set;
  return {*this, sets_[set], scratch};
}

WORDLOOM_FUNCTION PrivateRows::PrivateRows(Model& model, const ExpectedUpdates& expected,
                                           std::size_t count, std::size_t threads, double pairs)
    : model_(model), threads_(threads), sets_((std::min)(threads, max_sets)) {
  for (std::size_t m = 0; m < 2; ++m) {
    const std::vector<float>& updates = m == 0 ? expected.input : expected.output;
    const double sum = std::accumulate(updates.begin(), updates.end(), 0.0);
    counts_[m] = (std::min)({count, updates.size(), matrix(m).rows()});
    for (std::size_t i = 0; i < counts_[m]; ++i)
      shares_[m].push_back(sum > 0 ? static_cast<float>(updates[i] / sum) : 0.0f);
    for (std::size_t i = 0; i < counts_[m]; i += rows_at_once)
      chunks_.push_back({m, i, (std::min)(i + rows_at_once, counts_[m]),
                         pairs / (std::max)(static_cast<double>(shares_[m][i]), 1e-9)});
  }
  for (std::size_t m = 0; m < 2; ++m) {
    matrix(m).reserve(matrix(m).rows() + sets_.size() * counts_[m]);
    for (std::size_t s = 0; s < sets_.size(); ++s) {
      sets_[s].base[m] = matrix(m).copy(counts_[m]);
      std::copy_n(matrix(m).data(), counts_[m] * matrix(m).stride(),
                  matrix(m).row_data(matrix(m).rows() + s * counts_[m]));
    }
  }
  for (Set& set : sets_) {
    set.directions = RowMatrix(2, model.dimension());
    set.merged_at.resize(chunks_.size(), -1e18);  // merges, and so starts, at once
  }
}

WORDLOOM_FUNCTION void PrivateRows::merge_all() {
  for (Set& set : sets_) {
    find_directions(set);
    for (std::size_t i = 0; i < chunks_.size(); ++i) merge(set, i, set.pairs);
  }
}

WORDLOOM_FUNCTION void PrivateRows::complete(std::vector<NamedMatrix>& copies) const {
  for (const Set& set : sets_)
    for (std::size_t m = 0; m < 2; ++m)
      for (std::size_t i = 0; i < counts_[m]; ++i) {
        const float *const own = own_row(set, m, i), *const base = set.base[m].row_data(i);
        const std::span<float> row = copies[m].matrix.row(i);
        for (std::size_t c = 0; c < row.size(); ++c)
          row[c] += read_racing(own + c) - read_racing(base + c);
      }
}

WORDLOOM_FUNCTION void PrivateRows::count(Set& set, double pairs, float rate, Scratch scratch) {
  const double now = set.pairs.fetch_add(pairs, std::memory_order_relaxed) + pairs;
  if (now < set.next.load(std::memory_order_relaxed) ||
      set.is_merging.test_and_set(std::memory_order_acquire))
    return;
  set.rate = rate;
  if (now >= set.next_directions) {
    find_directions(set, scratch);
    set.next_directions = now + std::clamp(now / 4, 1e3, 16e6);
  }
  // Early in training, vectors grow fast: an interval is at most a sixteenth of all pairs so far,
  // but at least 1,000 pairs.
  const double max_interval = (std::max)(now / 16, 1e3);
  double min_interval = max_interval;
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    const double interval = (std::min)(chunks_[i].interval, max_interval);
    min_interval = (std::min)(min_interval, interval);
    if (now - set.merged_at[i] >= interval) merge(set, i, now);
  }
  set.next.store(now + min_interval / 4, std::memory_order_relaxed);
  set.is_merging.clear(std::memory_order_release);
}

WORDLOOM_FUNCTION void PrivateRows::find_directions(Set& set, Scratch scratch) const {
  for (std::size_t m = 0; m < 2; ++m) {
    const bool is_scratch = m == 0 && counts_[0] == 0;
    const std::size_t count = is_scratch ? scratch.count : counts_[m];
    if (count == 0) continue;
    RowMatrix rows(count, matrix(m).columns());  // other threads of the set may write them
    for (std::size_t i = 0; i < count; ++i) {
      const float* const row =
          is_scratch ? matrix(0).row_data(scratch.first + i) : own_row(set, m, i);
      for (std::size_t c = 0; c < rows.columns(); ++c) rows.row_data(i)[c] = read_racing(row + c);
    }
    const std::vector<float> equal(is_scratch ? count : 0, 1.0f);
    set.square[m] =
        common_direction(PlainFunctions(), rows.data(), rows.stride(), rows.rows(), rows.columns(),
                         (is_scratch ? equal : shares_[m]).data(), set.directions.row_data(m));
  }
}

WORDLOOM_FUNCTION void PrivateRows::merge(Set& set, std::size_t index, double now) const {
  const auto [m, first, last, interval] = chunks_[index];
  const std::size_t partners = 1 - m, stride = matrix(m).stride();
  const double pairs = now - set.merged_at[index];
  set.merged_at[index] = now;
  for (std::size_t i = first; i < last; ++i) {
    matrix(m).prefetch(i);
    set.base[m].prefetch(i);
  }
  for (std::size_t i = first; i < last; ++i) {
    const float updates = set.rate * static_cast<float>(pairs) * shares_[m][i];
    merge_row_(
        {matrix(m).row_data(i), own_row(set, m, i), set.base[m].row_data(i)},
        set.directions.row_data(partners),
        CoherentSum::gain_along(static_cast<float>(sets_.size()), updates * set.square[partners]),
        stride);
  }
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
