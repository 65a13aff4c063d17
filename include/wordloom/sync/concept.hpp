#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/model/model.hpp>

namespace wordloom {

namespace detail {

template <class P>
concept HasRank = requires(const P& sync) {
  { sync.rank() } -> std::convertible_to<std::size_t>;
  { sync.size() } -> std::convertible_to<std::size_t>;
};
/// `M` is what it keeps alike: a Model, or what stands for one on a device.
template <class P, class M = Model>
concept Synchronises = requires(P& sync, M& model, double progress) {
  sync.broadcast(model);
  sync.tick(model, progress);
  sync.finish(model);
};

/// What a policy with other replicas may have besides.
template <class P>
concept Coordinates = requires(P& sync, const Model& model, const std::string& text,
                               std::uint64_t n, const Hyperparameters& parameters,
                               double (*rate)(double)) {
  sync.agree(text.c_str(), n);
  sync.begin(model, n, parameters, rate, n);
  { sync.least_interval() } -> std::convertible_to<std::uint64_t>;
  sync.fail(text);
};

/// And what it needs for checkpoints.
template <class P, class M = Model>
concept Pauses = Coordinates<P> && requires(P& sync, M& model, std::uint64_t n) {
  sync.ask_for_pause(true);
  { sync.paused() } -> std::convertible_to<bool>;
  { sync.stopping() } -> std::convertible_to<bool>;
  sync.wait(model);
  sync.settle(model);
  { sync.gather(n) } -> std::convertible_to<std::vector<std::uint64_t>>;
  { sync.synchronisations() } -> std::convertible_to<std::uint64_t>;
  { sync.fingerprint() } -> std::convertible_to<std::uint64_t>;
  sync.go_on_after(n);
};

}  // namespace detail

/// `sync.rank()`, `sync.size()`: which of how many replicas this is. `sync.broadcast(model)` makes
/// all start alike, `sync.tick(model, progress)` is called between blocks now and then by one
/// thread, with progress from 0 to 1, `sync.finish(model)` at the end. One with other replicas may
/// have `agree(what, number)`, which throws where a number is not the same on all, `begin(model,
/// words_per_epoch, hyperparameters, rate, least_interval)` before all else, and `fail(cause)`,
/// when this replica ends by an exception; for checkpoints, a place where all stand alike. See
/// Allreduce. `M` is what it keeps alike: a Model, or the `Replica` of a kernel on a device.
template <class P, class M = Model>
concept SyncPolicy = detail::HasRank<P> && detail::Synchronises<P, M>;

namespace detail {

template <class P, class K>
constexpr bool require_sync() {
  using Replica = typename ReplicaOf<K>::type;
  static_assert(HasRank<P>, "wordloom: this SyncPolicy lacks rank() or size()");
  if constexpr (TakesBatches<K>)
    static_assert(Synchronises<P, Replica>,
                  "wordloom: this UpdateKernel has its model on a device, which this SyncPolicy "
                  "does not synchronise");
  else
    static_assert(
        Synchronises<P>,
        "wordloom: this SyncPolicy lacks broadcast(model), tick(model, progress) or finish(model)");
  return SyncPolicy<P, Replica>;
}

}  // namespace detail
}  // namespace wordloom
