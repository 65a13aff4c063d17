#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <wordloom/model/model.hpp>
#include <wordloom/sampler/expected_updates.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// A training run, as a SyncPolicy receives it at its start.
struct RankInfo {
  /// The next step of all ranks. One rank requests it; the policy returns it on every rank after
  /// the same synchronisation.
  enum class Signal { go_on, checkpoint, stop };

  /// The positions of all ranks: the numbers of rank 0, of rank 1 and so on, and the policy's own
  /// state.
  struct Positions {
    std::vector<std::uint64_t> numbers;
    std::array<std::uint64_t, 2> sync_state = {};
    /// The progress, from 0 to 1, of a run that other numbers of ranks or threads have begun;
    /// `sync_state` then belongs to their schedule and is not used. Below 0: the ranks resume their
    /// own run.
    double resharded_at = -1;
  };

  /// Names and values that must be equal on all ranks.
  std::vector<std::pair<const char*, std::uint64_t>> agreed = {};
  /// The policies and hyperparameters, equal too: "window 5\n...", by which an error can say what
  /// differs. Refers to text that outlives the start.
  std::string_view method = {};
  std::size_t input_rows = 0, output_rows = 0, dimension = 0;
  std::uint64_t words_per_epoch = 0;  // that each rank trains
  std::size_t epochs = 1;
  std::function<double(double)> rate = {};  // the learning rate at a progress from 0 to 1
  std::uint64_t min_interval = 0;           // minimum words of a rank between two synchronisations
  detail::ExpectedUpdates expected = {};    // of the rows; empty for a single rank
  bool resumes = false;                     // from a checkpoint
  /// Set by `start`: whether any thread of a rank may call `tick` and `gather`, one at a time. If
  /// not, the thread that called `start` does.
  bool ticks_from_any_thread = false;
  /// The positions that rank 0 read from a checkpoint; on other ranks an array of the same size,
  /// overwritten with rank 0's values.
  Positions positions = {};
};

/// Synchronises replicas of the model. `rank()` of `size()` says which one this is; then five
/// functions, each called by one thread at a time:
/// - `start(replica, run)` makes all replicas equal and returns the maximum number of words that a
///   rank should train between two ticks. Throws, on all ranks, if their runs do not fit each
///   other;
/// - `tick(replica, progress, request)`, between blocks, with progress from 0 to 1: synchronises if
///   that is due, without waiting, and returns the step that all ranks have agreed on at this
///   point, if one of them requested one. Unless that is go_on, all ranks call `gather` next;
/// - `gather(replica, numbers)` makes all replicas equal and returns the numbers of all ranks;
/// - `finish(replica)` completes exchanges in flight and returns like `tick`; once it returns
///   go_on, all replicas are equal and training is over;
/// - `fail(cause)`, instead: this rank ends by an exception.
///
/// Samplers that train columns also need `share_rows(replica, side, first, last)`, which gives the
/// rows of a side that this rank has trained to all ranks, and `static constexpr bool shares_rows =
/// true`; training by strata needs begin_exchange(), end_exchange(), begin_pass(), has_passed(),
/// end_pass() and gather_rows() as RowAllgather has them. `Replica` is a Model, or the Replica of a
/// kernel on a device. See NoSync, Allreduce and RowAllgather.
template <class P, class Replica = Model>
concept SyncPolicy = requires(P& sync, const P& one, Replica& replica, RankInfo& run,
                              double progress, std::span<const std::uint64_t> numbers,
                              const std::string& cause) {
  { one.rank() } -> std::convertible_to<std::size_t>;
  { one.size() } -> std::convertible_to<std::size_t>;
  { sync.start(replica, run) } -> std::convertible_to<std::uint64_t>;
  { sync.tick(replica, progress, RankInfo::Signal::go_on) } -> std::same_as<RankInfo::Signal>;
  { sync.gather(replica, numbers) } -> std::same_as<RankInfo::Positions>;
  { sync.finish(replica) } -> std::same_as<RankInfo::Signal>;
  sync.fail(cause);
};

namespace detail {

/// Calls work(part) for 0 to parts - 1, each once, in the threads of a rank; returns when all are
/// done. If `work` throws in another thread than the caller's, the caller ends soon after.
using RankTeam = std::function<void(std::size_t parts, const std::function<void(std::size_t)>&)>;

/// True if each rank trains rows of its own, on the same corpus, and the policy shares them.
template <class P>
inline constexpr bool shares_rows = requires {
  requires std::remove_cvref_t<P>::shares_rows;
};

}  // namespace detail

/// A single replica without synchronisation: compiles to nothing.
struct NoSync {
  constexpr std::size_t rank() const noexcept { return 0; }
  constexpr std::size_t size() const noexcept { return 1; }
  template <class Replica>
  std::uint64_t start(Replica&, RankInfo&) const noexcept {
    return (std::numeric_limits<std::uint64_t>::max)();
  }
  template <class Replica>
  RankInfo::Signal tick(Replica&, double, RankInfo::Signal request) const noexcept {
    return request;
  }
  template <class Replica>
  RankInfo::Positions gather(Replica&, std::span<const std::uint64_t> numbers) const {
    return {{numbers.begin(), numbers.end()}};
  }
  template <class Replica>
  RankInfo::Signal finish(Replica&) const noexcept {
    return RankInfo::Signal::go_on;
  }
  void fail(const std::string&) const noexcept {}
};

static_assert(SyncPolicy<NoSync>);

}}  // namespace wordloom::WORDLOOM_ABI
