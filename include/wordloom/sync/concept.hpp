#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/model/model.hpp>
#include <wordloom/sampler/expected_updates.hpp>

namespace wordloom {

/// What ranks do next, after the same synchronisations: a rank asks for it, and the policy says it
/// to all ranks at the same place.
enum class Signal { go_on, checkpoint, stop };

/// A training run, as a SyncPolicy is told of it at its start.
struct SyncRun {
  /// Names and values that must be the same on all ranks.
  std::vector<std::pair<const char*, std::uint64_t>> agreed = {};
  std::size_t input_rows = 0, output_rows = 0, dimension = 0;
  std::uint64_t words_per_epoch = 0;  // that each rank trains
  std::size_t epochs = 1;
  std::function<double(double)> rate = {};  // the learning rate at a progress from 0 to 1
  std::uint64_t min_interval = 0;  // words of a rank between two synchronisations, at least
  ExpectedUpdates expected = {};   // of the rows; empty for a single rank
  bool resumes = false;            // from a checkpoint
  /// The positions that rank 0 read from a checkpoint; on the other ranks as many numbers, which
  /// become those of rank 0.
  std::vector<std::uint64_t> positions = {};
  /// The policy's own state from that checkpoint, likewise.
  std::vector<std::uint64_t> sync_state = std::vector<std::uint64_t>(2);
};

/// Where all ranks are: `ranks` [size] the numbers of each, and the policy's own state.
struct Positions {
  std::vector<std::vector<std::uint64_t>> ranks;
  std::vector<std::uint64_t> sync_state;
};

namespace detail {

template <class P>
concept HasRank = requires(const P& sync) {
  { sync.rank() } -> std::convertible_to<std::size_t>;
  { sync.size() } -> std::convertible_to<std::size_t>;
};
template <class P, class Replica>
concept Synchronises = requires(P& sync, Replica& replica, SyncRun& run, double progress,
                                std::span<const std::uint64_t> numbers, const std::string& cause) {
  { sync.start(replica, run) } -> std::convertible_to<std::uint64_t>;
  { sync.tick(replica, progress, Signal::go_on) } -> std::same_as<Signal>;
  { sync.gather(replica, numbers) } -> std::same_as<Positions>;
  { sync.finish(replica) } -> std::same_as<Signal>;
  sync.fail(cause);
};

}  // namespace detail

/// How replicas of the model stay together. `rank()` of `size()` says which one this is; then five
/// functions, each called by one thread at a time:
/// - `start(replica, run)` makes all replicas alike and returns the number of words that a rank
///   should train between two ticks, at most. Throws, on all ranks, when their runs do not go
///   together;
/// - `tick(replica, progress, request)`, between blocks, with progress from 0 to 1: synchronises
///   where that is due, without waiting, and returns what all ranks have agreed to do here, where
///   one of them requested it. Unless that is go_on, all ranks call `gather` next;
/// - `gather(replica, numbers)` makes all replicas alike and returns the numbers of all ranks;
/// - `finish(replica)`: as `tick` for what is in flight; once that is go_on, all replicas are alike
///   and training is over;
/// - `fail(cause)`, instead: this rank ends by an exception.
/// `Replica` is a Model, or the Replica of a kernel on a device. See NoSync and Allreduce.
template <class P, class Replica = Model>
concept SyncPolicy = detail::HasRank<P> && detail::Synchronises<P, Replica>;

namespace detail {

/// `Replica`: of the kernel; `on_device`: whether it is on a device.
template <class P, class Replica, bool on_device>
constexpr bool require_sync() {
  static_assert(HasRank<P>, "wordloom: this SyncPolicy lacks rank() or size()");
  if constexpr (on_device)
    static_assert(Synchronises<P, Replica>,
                  "wordloom: this UpdateKernel has its model on a device, which this SyncPolicy "
                  "does not synchronise");
  else
    static_assert(Synchronises<P, Replica>,
                  "wordloom: this SyncPolicy lacks start(model, run), tick(model, progress, "
                  "request), gather(model, numbers), finish(model) or fail(cause)");
  return SyncPolicy<P, Replica>;
}

}  // namespace detail
}  // namespace wordloom
