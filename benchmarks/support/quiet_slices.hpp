#pragma once
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <thread>
#include <utility>
#include <vector>
#include <wordloom/wordloom.hpp>

#include "median.hpp"

/// The speed of training while other programs leave the cores alone.
///
/// A shared machine lends a core, or its second hardware thread, to others for parts of a second:
/// one thread then runs at half its speed, and two hardly ever have a quiet second together. So the
/// time of each thread is cut into slices of 1.5 ms, with 25 microseconds of arithmetic between
/// them. A slice counts if this arithmetic is fast before and after it, and also in the slices of
/// the other threads at that time. Beside one thread that trains, a second one does arithmetic all
/// the time: the slices that count then have the same clock and the same neighbours as those of two
/// threads.
///
/// A virtual machine also moves between cores, which share a third-level cache or do not. So
/// threads measure between slices how far apart they are.
class QuietSlices {
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;

  struct Slice {
    Clock::time_point start, end;
    double words;
    double arithmetic;  // operations a second: the slower of before and after
    double distance;    // seconds, see Letter; 0: not known

    double seconds() const { return Seconds(end - start).count(); }
  };

  /// Cache lines that one thread writes and another one reads.
  class Letter {
   public:
    void write() noexcept {
      // Each line names the next one, so that one is read after the other.
      for (std::uint32_t i = 0; i < lines; ++i)
        lines_[i].next.store((i * 5 + 3) % lines, std::memory_order_relaxed);
      written_.fetch_add(1, std::memory_order_release);
    }
    /// Returns the seconds to read a line, or 0 where it was not written again since.
    double read() noexcept {
      const std::uint32_t written = written_.load(std::memory_order_acquire);
      if (std::exchange(read_, written) == written) return 0;
      const auto start = Clock::now();
      std::uint32_t line = 0;
      for (std::uint32_t i = 0; i < lines; ++i)
        line = lines_[line].next.load(std::memory_order_relaxed);
      benchmark::DoNotOptimize(line);
      return Seconds(Clock::now() - start).count() / lines;
    }

   private:
    static constexpr std::uint32_t lines = 16;
    struct alignas(128) Line {  // the prefetcher takes two lines at a time
      std::atomic<std::uint32_t> next;
    };
    std::array<Line, lines> lines_;
    alignas(128) std::atomic<std::uint32_t> written_ = 0;
    alignas(128) std::uint32_t read_ = 0;
  };

  /// The slices of a thread.
  class alignas(128) Thread {
   public:
    void begin() {
      arithmetic_ = measure_arithmetic();
      letter_.write();
      words_ = 0;
      start_ = Clock::now();
    }
    void trained(std::size_t words, Thread& next) {
      words_ += static_cast<double>(words);
      const auto now = Clock::now();
      if (now - start_ < std::chrono::microseconds(1500)) return;
      const double before = std::exchange(arithmetic_, measure_arithmetic());
      slices.push_back({start_, now, words_, std::min(before, arithmetic_), next.letter_.read()});
      letter_.write();
      words_ = 0;
      start_ = Clock::now();
    }
    /// Takes some 25 microseconds. The sums are in memory: arithmetic in registers alone was as fast
    /// while training ran at half its speed.
    static double measure_arithmetic() {
      volatile float sums[12] = {};
      constexpr std::size_t rounds = 5000;
      const auto start = Clock::now();
      for (std::size_t i = 0; i < rounds; ++i)
        for (volatile float& sum : sums) sum = sum * 0.999f + 1e-6f;
      return rounds * std::size(sums) / Seconds(Clock::now() - start).count();
    }

    std::vector<Slice> slices;

   private:
    Letter letter_;
    Clock::time_point start_;
    double words_ = 0, arithmetic_ = 0;
  };

  /// The sentences of a shard, which tell when they are trained.
  template <class Sentences>
  struct Timed {
    Sentences sentences;
    Thread &thread, &next;

    struct iterator {
      using iterator_concept = std::input_iterator_tag;
      using value_type = std::span<const wordloom::WordId>;
      using difference_type = std::ptrdiff_t;

      decltype(std::declval<const Sentences&>().begin()) at;
      Thread *thread = nullptr, *next = nullptr;

      value_type operator*() const { return *at; }
      iterator& operator++() {
        thread->trained((*at).size(), *next);
        ++at;
        return *this;
      }
      void operator++(int) { ++*this; }
      bool operator==(std::default_sentinel_t end) const { return at == end; }
    };
    iterator begin() const {
      thread.begin();
      return {sentences.begin(), &thread, &next};
    }
    std::default_sentinel_t end() const { return {}; }
  };

  struct TimedCorpus {
    const wordloom::EncodedCorpus& corpus;
    std::vector<Thread>& threads;

    static constexpr bool repeats = true;
    std::uint64_t token_count() const { return corpus.token_count(); }
    auto sentences(const wordloom::Shard& shard) const {
      return Timed<decltype(corpus.sentences(shard))>{corpus.sentences(shard), threads[shard.index],
                                                      threads[(shard.index + 1) % threads.size()]};
    }
  };

 public:
  /// Which slices count.
  struct Condition {
    double arithmetic = 0;  // operations a second, at least
    // Seconds to read a line that another thread wrote, on average of what was measured during the
    // slice. Several lines are on their way at a time, so that this is less than the latency.
    double nearest = 0, farthest = std::numeric_limits<double>::infinity();
  };
  struct Speed {
    double words = 0;  // a second, of all threads: the sum of the medians of their slices
    std::size_t counted = 0, slices = 0;
  };

  /// `threads`: that train.
  explicit QuietSlices(std::size_t threads)
      : trained_(threads), threads_(std::max<std::size_t>(threads, 2)) {}

  /// Calls `train(corpus to train on)` and adds the slices.
  template <class Train>
  void run(const wordloom::EncodedCorpus& corpus, Train&& train) {
    std::jthread other;  // ends with this function
    if (trained_ == 1)
      other = std::jthread([&](const std::stop_token& stop) {
        for (threads_[1].begin(); !stop.stop_requested(); threads_[1].trained(0, threads_[0]))
          Thread::measure_arithmetic();
      });
    train(TimedCorpus{corpus, threads_});
  }

  /// Returns the operations a second of the fastest arithmetic.
  double fastest_arithmetic() const {
    double fastest = 0;
    for (const Thread& thread : threads_)
      for (const Slice& slice : thread.slices) fastest = std::max(fastest, slice.arithmetic);
    return fastest;
  }

  /// Adds the distance, see Condition, of each slice in which it was measured.
  void add_distances(std::vector<double>& seconds) const {
    for (const Thread& thread : threads_)
      for (const Slice& slice : thread.slices)
        if (slice.distance > 0) seconds.push_back(slice.distance);
  }

  /// Returns the speed in the slices that count; it is 0 if a thread has none.
  Speed speed(const Condition& condition) const {
    Speed result;
    bool is_known = true;
    for (std::size_t t = 0; t < trained_; ++t) {
      std::vector<double> speeds;
      std::vector<std::size_t> first(threads_.size(), 0);
      for (const Slice& slice : threads_[t].slices)
        if (counts(slice, first, condition)) speeds.push_back(slice.words / slice.seconds());
      result.slices += threads_[t].slices.size();
      result.counted += speeds.size();
      is_known &= !speeds.empty();
      if (is_known) result.words += median(std::move(speeds));
    }
    if (!is_known) result.words = 0;
    return result;
  }

 private:
  /// Tells whether all threads ran during most of a slice, undisturbed and as far apart as wanted.
  /// `first`: of each thread, its first slice that may end later than this one starts.
  bool counts(const Slice& of, std::vector<std::size_t>& first, const Condition& wanted) const {
    double distance = 0;
    std::size_t measured = 0;
    for (std::size_t t = 0; t < threads_.size(); ++t) {
      const auto& slices = threads_[t].slices;
      while (first[t] < slices.size() && slices[first[t]].end <= of.start) ++first[t];
      Seconds together(0);
      for (std::size_t i = first[t]; i < slices.size() && slices[i].start < of.end; ++i) {
        if (slices[i].arithmetic < wanted.arithmetic) return false;
        together += std::min(slices[i].end, of.end) - std::max(slices[i].start, of.start);
        distance += slices[i].distance;
        measured += slices[i].distance > 0;
      }
      if (together.count() < 0.9 * of.seconds()) return false;
    }
    if (measured == 0) return wanted.nearest == 0 && wanted.farthest == Condition().farthest;
    distance /= static_cast<double>(measured);
    return distance >= wanted.nearest && distance < wanted.farthest;
  }

  std::size_t trained_;
  std::vector<Thread> threads_;
};
