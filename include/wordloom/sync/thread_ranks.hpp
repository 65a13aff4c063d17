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
#include <wordloom/sync/detail/quantised_rows.hpp>
#include <wordloom/sync/detail/row_changes.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// A rank among threads of one process, to test and measure training on a cluster. Sums are
/// computed in the order of ranks, so that every run gives the same ones. Copies are the same rank.
class ThreadRanks {
 public:
  /// Calls work(rank) for each of `size` ranks, each in a thread of its own. If one throws, the
  /// others end with SyncError as soon as they need it, and its exception is rethrown.
  template <class Work>
  static void run(std::size_t size, Work work) {
    const auto shared = std::make_shared<Shared>(size);
    std::vector<std::exception_ptr> thrown(size);
    {
      std::vector<std::jthread> threads;
      threads.reserve(size);
      for (std::size_t rank = 0; rank < size; ++rank)
        threads.emplace_back([&, rank] {
          ThreadRanks self(shared, rank);
          try {
            work(self);
          } catch (...) {
            const std::lock_guard lock(shared->guard);
            thrown[rank] = std::current_exception();
            shared->fail(rank, "an exception");
          }
        });
    }
    if (const std::size_t rank = shared->failed; rank < size && thrown[rank])
      std::rethrow_exception(thrown[rank]);
    // That rank has caught its own exception.
    for (const std::exception_ptr& other : thrown)
      if (other) std::rethrow_exception(other);
  }

  std::size_t rank() const noexcept { return rank_; }
  std::size_t size() const noexcept { return shared_->floats.size(); }
  static constexpr bool any_thread() noexcept { return true; }

  void begin_sum(std::span<float> values) {
    take_part(&Shared::floats, values, [](auto& all) {
      sum(all, [](std::span<const float> from, std::span<float> to) {
        for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
      });
    });
  }
  void begin_sum(std::span<detail::Bf16> values) {
    take_part(&Shared::halves, values, [](auto& all) {
      sum(all, [](std::span<const detail::Bf16> from, std::span<detail::Bf16> to) {
        simd::row_change_functions().add_bf16(&from.data()->bits, &to.data()->bits, to.size());
      });
    });
  }
  void begin_sum(const detail::QuantisedRows& rows) {
    take_part(&Shared::quantised, rows, [](auto& all) {
      const detail::QuantisedRows& first = all[0];
      for (std::size_t r = 0; r < all.size(); ++r) {
        const auto part = first.part_of(r, all.size());
        const std::size_t row = first.bytes_of_row(), at = part.first * row;
        all[r].add(part.first, part.second, all.size(),
                   [&](std::size_t of, std::size_t i) { return all[of].data + i * row; });
        for (const auto& to : all)
          if (to.data != all[r].data)
            std::copy_n(all[r].data + at, (part.second - part.first) * row, to.data + at);
      }
    });
  }
  void begin_pass(std::span<std::byte> values) {
    take_part(&Shared::passed, values, [](auto& all) {
      for (std::size_t r = 0; r < all.size(); ++r) {
        const auto from = all[(r + 1) % all.size()];
        std::ranges::copy(from.first(from.size() / 2), all[r].subspan(all[r].size() / 2).begin());
      }
    });
  }
  /// Returns whether the sum is complete. Throws SyncError if a rank has failed.
  bool done() {
    const std::lock_guard lock(shared_->guard);
    return is_over();
  }
  void wait() {
    std::unique_lock lock(shared_->guard);
    shared_->changed.wait(lock, [&] { return is_over(); });
  }
  void broadcast(std::span<float> values) {
    take_part(&Shared::floats, values, [](auto& all) { copy_first(all); });
    wait();
  }
  void gather_rows(std::span<float> rows, std::size_t row_size,
                   std::span<const std::uint64_t> first) {
    take_part(&Shared::floats, rows, [&](auto& all) {
      for (std::size_t rank = 0; rank < all.size(); ++rank) {
        const std::size_t at = first[rank] * row_size;
        const auto own = all[rank].subspan(at, first[rank + 1] * row_size - at);
        for (std::size_t other = 0; other < all.size(); ++other)
          if (other != rank) std::ranges::copy(own, all[other].subspan(at).begin());
      }
    });
    wait();
  }
  std::vector<std::uint64_t> gather(std::uint64_t value) {
    take_part(&Shared::numbers, std::vector{value}, [](auto& all) {
      std::vector<std::uint64_t> values;
      for (const auto& of_rank : all) values.push_back(of_rank[0]);
      std::fill(all.begin(), all.end(), values);
    });
    wait();
    return std::move(shared_->numbers[rank_]);
  }
  std::vector<std::string> exchange(std::vector<std::string> to) {
    take_part(&Shared::texts, std::move(to), [](auto& all) {
      // Transposed in place.
      for (std::size_t i = 0; i < all.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) std::swap(all[i][j], all[j][i]);
    });
    wait();
    return std::move(shared_->texts[rank_]);
  }
  void fail(const std::string& cause) noexcept {
    const std::lock_guard lock(shared_->guard);
    shared_->fail(rank_, cause);
  }
  /// Throws SyncError if a rank has failed. For code that waits without a collective.
  void throw_if_failed() const {
    const std::lock_guard lock(shared_->guard);
    shared_->throw_if_failed();
  }

 private:
  struct Shared {
    explicit Shared(std::size_t size)
        : floats(size), halves(size), quantised(size), numbers(size), texts(size), passed(size) {}

    void fail(std::size_t rank, const std::string& cause) {
      if (failure.empty()) {
        failure = detail::joined({"rank ", rank, " has failed: ", cause});
        failed = rank;
      }
      changed.notify_all();
    }
    void throw_if_failed() const {
      if (!failure.empty()) throw SyncError(failure);
    }

    std::mutex guard;
    std::condition_variable changed;
    std::size_t arrived = 0;
    std::uint64_t over = 0;  // number of rounds that all ranks have taken part in
    std::string failure;
    std::size_t failed = 0;  // the first rank that has failed
    // The contributions of each rank to a round.
    std::vector<std::span<float>> floats;
    std::vector<std::span<detail::Bf16>> halves;
    std::vector<detail::QuantisedRows> quantised;
    std::vector<std::vector<std::uint64_t>> numbers;
    std::vector<std::vector<std::string>> texts;
    std::vector<std::span<std::byte>> passed;
  };

  ThreadRanks(std::shared_ptr<Shared> shared, std::size_t rank)
      : shared_(std::move(shared)), rank_(rank) {}

  /// Reduces all arrays into the first, in rank order, then copies it to the others.
  template <class T, class Add>
  static void sum(const std::vector<std::span<T>>& all, Add add) {
    for (std::size_t r = 1; r < all.size(); ++r) add(all[r], all[0]);
    copy_first(all);
  }
  template <class T>
  static void copy_first(const std::vector<std::span<T>>& all) {
    for (const std::span<T> to : all)
      if (to.data() != all[0].data()) std::copy(all[0].begin(), all[0].end(), to.begin());
  }

  /// Takes part in a round with `value`; the last rank to arrive does its work, `last(values)`.
  template <class T, class Last>
  void take_part(std::vector<T> Shared::*values, T value, Last last) {
    const std::lock_guard lock(shared_->guard);
    shared_->throw_if_failed();  // the failed rank's values may be gone
    ((*shared_).*values)[rank_] = std::move(value);
    begun_ = shared_->over + 1;
    if (++shared_->arrived < size()) return;
    last((*shared_).*values);
    shared_->arrived = 0;
    ++shared_->over;
    shared_->changed.notify_all();
  }
  bool is_over() const {
    if (shared_->over < begun_) shared_->throw_if_failed();
    return shared_->over >= begun_;
  }

  std::shared_ptr<Shared> shared_;
  std::size_t rank_;
  std::uint64_t begun_ = 0;  // the last round that this rank has taken part in
};

static_assert(TextCollective<ThreadRanks> && Bf16Collective<ThreadRanks> &&
              RowCollective<ThreadRanks>);

using InProcess [[deprecated("use ThreadRanks")]] = ThreadRanks;

}}  // namespace wordloom::WORDLOOM_ABI
