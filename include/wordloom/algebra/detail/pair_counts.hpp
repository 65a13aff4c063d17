#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/algebra/detail/blocks.hpp>
#include <wordloom/core/detail/random_reads.hpp>
#include <wordloom/corpus/detail/kept_words.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Counts how often a word has another one in its window, as whole numbers: sums of weights that
/// any order of adding leaves as they are. Symmetric: each pair is counted from both of its words.
/// Pairs are collected in buffers of a fixed size, which are sorted by rows and added up; memory,
/// besides these, is 8 to 24 bytes for each different pair of a thread. Immutable; thread-safe.
class PairCounts {
 public:
  /// Counts the pairs of words at most `window` apart. A pair at distance d has the weight window +
  /// 1 - d, window times its probability of being in a random window, or 1 in fixed windows.
  /// `buffer`: pairs that all threads collect together. `step(share)`: called by this thread; its
  /// exception ends the work. Each part of the words is freed when it has been counted.
  PairCounts(KeptWords words, std::size_t word_count, std::size_t window, bool fixed_window,
             std::size_t threads, const std::function<void(double)>& step,
             std::size_t buffer = std::size_t{1} << 24);

  /// Sums of a row by column. Each thread uses its own.
  class Row {
   public:
    explicit Row(std::size_t words) { resize_for_random_reads(sums_, words); }
    void add(std::uint32_t column, std::uint32_t weight) {
      if (sums_[column] == 0) columns_.push_back(column);
      sums_[column] += weight;
    }
    /// Calls use(column, sum) for each column of the row, in the order in which they were added or
    /// ascending, and empties the row.
    template <class Use>
    void take(bool ascending, Use&& use) {
      if (ascending) std::sort(columns_.begin(), columns_.end());
      for (const std::uint32_t column : columns_) use(column, std::exchange(sums_[column], 0));
      columns_.clear();
    }

   private:
    std::vector<std::uint64_t> sums_;  // [words]
    std::vector<std::uint32_t> columns_;
  };

  std::size_t words() const noexcept { return words_; }
  /// Adds row i to an empty one.
  void add_row(std::size_t i, Row& row) const {
    for (const Run& run : runs_) run.add_row(i, row);
  }
  /// Returns the sum of each row [words()].
  std::vector<std::uint64_t> row_sums(std::size_t threads) const;

 private:
  struct Pair {
    std::uint32_t row, column, weight;
  };
  struct Entry {
    std::uint32_t column, weight;
  };
  /// Counts sorted by rows; a row may have several entries of a column, which count together.
  struct Run {
    std::vector<std::uint64_t> ends;  // [words]
    std::vector<Entry> entries;

    std::span<const Entry> row(std::size_t i) const noexcept {
      const std::uint64_t begin = i == 0 ? 0 : ends[i - 1];
      return {entries.data() + begin, static_cast<std::size_t>(ends[i] - begin)};
    }
    void add_row(std::size_t i, Row& to) const {
      for (const Entry& entry : row(i)) to.add(entry.column, entry.weight);
    }
  };
  /// The pairs of one thread.
  class Collector {
   public:
    Collector(std::size_t words, std::size_t capacity) : row_(words), words_(words) {
      pairs_.reserve(capacity);
      sorted_.ends.resize(words);
      resize_for_random_reads(sorted_.entries, capacity);
    }
    void add(WordId a, WordId b, std::uint32_t weight) {
      if (pairs_.size() + 2 > pairs_.capacity()) flush();
      pairs_.push_back({a, b, weight});
      pairs_.push_back({b, a, weight});
    }
    /// Returns the counts.
    std::vector<Run> finish() {
      flush();
      return std::move(runs_);
    }

   private:
    void flush();
    Run added_up(std::span<const Run> runs);

    std::vector<Pair> pairs_;
    Run sorted_;  // of pairs_, reused
    std::vector<Run> runs_;
    Row row_;
    std::size_t words_;
  };

  std::size_t words_;
  std::vector<Run> runs_;
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION PairCounts::Run PairCounts::Collector::added_up(std::span<const Run> runs) {
  Run sum;
  sum.ends.resize(words_);
  for (std::size_t i = 0; i < words_; ++i) {
    for (const Run& run : runs) run.add_row(i, row_);
    row_.take(false, [&](std::uint32_t column, std::uint64_t weight) {
      for (; weight > UINT32_MAX; weight -= UINT32_MAX) sum.entries.push_back({column, UINT32_MAX});
      sum.entries.push_back({column, static_cast<std::uint32_t>(weight)});
    });
    sum.ends[i] = sum.entries.size();
  }
  return sum;
}

WORDLOOM_FUNCTION void PairCounts::Collector::flush() {
  // A counting sort: the ends of the rows are first their beginnings.
  std::vector<std::uint64_t>& ends = sorted_.ends;
  std::fill(ends.begin(), ends.end(), 0);
  for (const Pair& pair : pairs_)
    if (pair.row + std::size_t{1} < words_) ++ends[pair.row + 1];
  for (std::size_t i = 1; i < words_; ++i) ends[i] += ends[i - 1];
  for (const Pair& pair : pairs_) sorted_.entries[ends[pair.row]++] = {pair.column, pair.weight};
  pairs_.clear();
  runs_.push_back(added_up({&sorted_, 1}));
  // Later runs are added to the first when they are as large together: few runs, little memory.
  std::size_t later = 0;
  for (std::size_t i = 1; i < runs_.size(); ++i) later += runs_[i].entries.size();
  if (later <= runs_[0].entries.size()) return;
  Run all = added_up(runs_);
  runs_.clear();
  runs_.push_back(std::move(all));
}

WORDLOOM_FUNCTION PairCounts::PairCounts(KeptWords words, std::size_t word_count,
                                         std::size_t window, bool fixed_window, std::size_t threads,
                                         const std::function<void(double)>& step,
                                         std::size_t buffer)
    : words_(word_count) {
  threads = std::clamp<std::size_t>(threads_for(words.size() * window * 64, threads), 1,
                                    KeptWords::part_count);
  const std::size_t capacity =
      (std::max)({buffer / threads, word_count, std::size_t{2} * (window + 1)});
  std::vector<std::vector<Run>> runs(threads);
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stops{false};
  run_threads(threads, [&](std::size_t thread) {
    Collector collector(word_count, capacity);
    for (std::size_t p = next++; p < KeptWords::part_count && !stops; p = next++) {
      std::vector<WordId>& part = words.parts[p];
      for (std::size_t i = 0, end = 0; i < part.size(); ++i) {
        if (i == end) {
          while ((part[end] & KeptWords::end_mark) == 0) ++end;
          part[end++] &= ~KeptWords::end_mark;
        }
        const std::size_t last = (std::min)(end, i + window + 1);
        for (std::size_t j = i + 1; j < last; ++j)
          collector.add(part[i], part[j],
                        fixed_window ? 1 : static_cast<std::uint32_t>(window + 1 - (j - i)));
      }
      part = {};
      if (thread != 0 || !step) continue;
      try {
        step(static_cast<double>(p + 1) / KeptWords::part_count);
      } catch (...) {
        stops = true;
        throw;
      }
    }
    runs[thread] = collector.finish();
  });
  for (std::vector<Run>& of_thread : runs)
    runs_.insert(runs_.end(), std::make_move_iterator(of_thread.begin()),
                 std::make_move_iterator(of_thread.end()));
}

WORDLOOM_FUNCTION std::vector<std::uint64_t> PairCounts::row_sums(std::size_t threads) const {
  std::vector<std::uint64_t> sums(words_);
  for_blocks(words_, row_block, resolve_threads(threads),
             [&](std::size_t, std::size_t first, std::size_t last) {
               for (std::size_t i = first; i < last; ++i)
                 for (const Run& run : runs_)
                   for (const Entry& entry : run.row(i)) sums[i] += entry.weight;
             });
  return sums;
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
