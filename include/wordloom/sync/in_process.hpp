#pragma once
#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/sync/collective.hpp>
#include <wordloom/sync/row_changes.hpp>

namespace wordloom {

/// A rank among threads of one process: to test and to measure what a cluster would train. Sums are
/// taken in the order of ranks, so that they are the same in each run. Copies are the same rank.
class InProcess {
 public:
  /// Calls work(rank) for each of `size` ranks, each in a thread of its own. When one throws, the
  /// others end with SyncError as soon as they need it, and its exception is thrown on.
  template <class Work>
  static void run(std::size_t size, Work work) {
    const auto shared = std::make_shared<Shared>(size);
    std::exception_ptr first;
    {
      std::vector<std::jthread> threads;
      threads.reserve(size);
      for (std::size_t rank = 0; rank < size; ++rank)
        threads.emplace_back([&, rank] {
          InProcess self(shared, rank);
          try {
            work(self);
          } catch (...) {
            const std::lock_guard lock(shared->guard);
            if (!first) first = std::current_exception();
            shared->fail(rank, "an exception");
          }
        });
    }
    if (first) std::rethrow_exception(first);
  }

  std::size_t rank() const noexcept { return rank_; }
  std::size_t size() const noexcept { return shared_->floats.size(); }

  void begin_sum(std::span<float> values) {
    const std::lock_guard lock(shared_->guard);
    shared_->floats[rank_] = values;
    begun_ = arrive([](Shared& all) { all.sum(); });
  }
  void begin_sum(std::span<Bf16> values) {
    const std::lock_guard lock(shared_->guard);
    shared_->halves[rank_] = values;
    begun_ = arrive([](Shared& all) { all.sum_halves(); });
  }
  /// Throws SyncError when a rank has failed.
  bool done() {
    const std::lock_guard lock(shared_->guard);
    return is_over();
  }
  void wait() {
    std::unique_lock lock(shared_->guard);
    shared_->changed.wait(lock, [&] { return is_over(); });
  }
  void broadcast(std::span<float> values) {
    std::unique_lock lock(shared_->guard);
    shared_->floats[rank_] = values;
    begun_ = arrive([](Shared& all) {
      for (const std::span<float> to : all.floats)
        if (to.data() != all.floats[0].data())
          std::copy(all.floats[0].begin(), all.floats[0].end(), to.begin());
    });
    shared_->changed.wait(lock, [&] { return is_over(); });
  }
  std::vector<std::uint64_t> gather(std::uint64_t value) {
    std::unique_lock lock(shared_->guard);
    shared_->numbers[rank_] = value;
    begun_ = arrive([](Shared& all) { all.gathered = all.numbers; });
    shared_->changed.wait(lock, [&] { return is_over(); });
    return shared_->gathered;
  }
  std::vector<std::string> exchange(std::vector<std::string> to) {
    std::unique_lock lock(shared_->guard);
    shared_->texts[rank_] = std::move(to);
    begun_ = arrive([](Shared& all) {
      // Transposed in place.
      for (std::size_t i = 0; i < all.texts.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) std::swap(all.texts[i][j], all.texts[j][i]);
    });
    shared_->changed.wait(lock, [&] { return is_over(); });
    return std::move(shared_->texts[rank_]);
  }
  void fail(const std::string& cause) noexcept {
    const std::lock_guard lock(shared_->guard);
    shared_->fail(rank_, cause);
  }
  /// SyncError, for who waits for other ranks by other means.
  void throw_if_failed() const {
    const std::lock_guard lock(shared_->guard);
    if (!shared_->failure.empty()) throw SyncError(shared_->failure);
  }

 private:
  struct Shared {
    explicit Shared(std::size_t size) : floats(size), halves(size), numbers(size), texts(size) {}

    void sum() {
      std::span<float> total = floats[0];
      for (std::size_t r = 1; r < floats.size(); ++r)
        for (std::size_t i = 0; i < total.size(); ++i) total[i] += floats[r][i];
      for (std::size_t r = 1; r < floats.size(); ++r)
        std::copy(total.begin(), total.end(), floats[r].begin());
    }
    void sum_halves() {
      const simd::RowChangeFunctions functions;
      const auto bits = [&](std::size_t rank) { return &halves[rank].data()->bits; };
      for (std::size_t r = 1; r < halves.size(); ++r)
        functions.add_bf16(bits(r), bits(0), halves[0].size());
      for (std::size_t r = 1; r < halves.size(); ++r)
        std::copy(halves[0].begin(), halves[0].end(), halves[r].begin());
    }
    void fail(std::size_t rank, const std::string& cause) {
      if (failure.empty()) failure = "rank " + std::to_string(rank) + " has failed: " + cause;
      changed.notify_all();
    }

    std::mutex guard;
    std::condition_variable changed;
    std::size_t arrived = 0;
    std::uint64_t over = 0;  // rounds that all ranks have taken part in
    std::string failure;
    std::vector<std::span<float>> floats;
    std::vector<std::span<Bf16>> halves;
    std::vector<std::uint64_t> numbers, gathered;
    std::vector<std::vector<std::string>> texts;
  };

  InProcess(std::shared_ptr<Shared> shared, std::size_t rank)
      : shared_(std::move(shared)), rank_(rank) {}

  /// Takes part in a round; who comes last does its work. Returns the round's number.
  template <class Last>
  std::uint64_t arrive(Last last) {
    // What the failed rank had given may be gone.
    if (!shared_->failure.empty()) throw SyncError(shared_->failure);
    const std::uint64_t round = shared_->over + 1;
    if (++shared_->arrived == size()) {
      last(*shared_);
      shared_->arrived = 0;
      ++shared_->over;
      shared_->changed.notify_all();
    }
    return round;
  }
  bool is_over() const {
    if (shared_->over >= begun_) return true;
    if (!shared_->failure.empty()) throw SyncError(shared_->failure);
    return false;
  }

  std::shared_ptr<Shared> shared_;
  std::size_t rank_;
  std::uint64_t begun_ = 0;  // round that this rank has taken part in last
};

static_assert(TextCollective<InProcess> && Bf16Collective<InProcess>);

}  // namespace wordloom
