#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/sampler/expected_updates.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// The rows that a centre is scored against: outputs[0 .. positives) have label 1.
struct TargetSet {
  std::span<const RowId> outputs;
  std::size_t positives;
};

/// The outputs that a centre is scored against, a parameter of samplers. A policy with
/// - `start(vocabulary)`: the tables of a run, immutable and thread-safe, copies share them:
///   - `output_rows()`: rows of Model::output; `max_outputs()`: the largest TargetSet,
///   - `expected_size(rates)`: the mean number of targets of a centre,
///   - `expected_outputs(rates)`: [output_rows()] how often each row is a target, for each word of
///     the corpus,
///   - `worker(slot_count, at_once)`: scratch of one thread for `slot_count` sets of targets:
///     - `begin_draw(centers, random)` starts to draw for up to `at_once` centres, which takes a
///     while,
///       `end_draw(centers, slot, random)` ends it: centre i has slot + i,
///     - `draw(center, slot, random)` does it for one centre at once,
///     - `draw_again(center, slot, random)`, optional: draws other targets of a centre; without
///       it, `draw` does,
///     - `at(slot)`: the TargetSet drawn last.
template <class T>
concept Targets = std::copy_constructible<T> &&
    requires(const T& policy, const Vocabulary& vocabulary, const WordRates& rates, std::size_t n,
             std::span<const WordId> centers, WordId center, Random& random) {
  { policy.start(vocabulary).output_rows() } -> std::convertible_to<std::size_t>;
  { policy.start(vocabulary).max_outputs() } -> std::convertible_to<std::size_t>;
  { policy.start(vocabulary).expected_size(rates) } -> std::convertible_to<double>;
  { policy.start(vocabulary).expected_outputs(rates) } -> std::same_as<std::vector<double>>;
  policy.start(vocabulary).worker(n, n).begin_draw(centers, random);
  policy.start(vocabulary).worker(n, n).end_draw(centers, n, random);
  policy.start(vocabulary).worker(n, n).draw(center, n, random);
  { policy.start(vocabulary).worker(n, n).at(n) } -> std::convertible_to<TargetSet>;
};

namespace detail {

/// Tells a worker with a pool of negatives that an epoch begins after this many picks; does nothing
/// for other workers.
template <class Worker>
void begin_epoch_of(Worker& worker, const Random& stream, std::uint64_t picks) noexcept {
  if constexpr (requires { worker.begin_epoch(stream, picks); }) worker.begin_epoch(stream, picks);
}
/// Draws other targets of a centre.
template <class Worker>
void draw_again(Worker& worker, WordId center, std::size_t slot, Random& random) noexcept {
  if constexpr (requires { worker.draw_again(center, slot, random); })
    worker.draw_again(center, slot, random);
  else
    worker.draw(center, slot, random);
}
/// True for workers whose negatives may come from a pool.
template <class Worker>
inline constexpr bool picks_negatives = requires(const Worker& worker) {
  worker.picks();
};
/// Returns its picks in this epoch, 0 without a pool.
template <class Worker>
std::uint64_t picks_of(const Worker& worker) noexcept {
  if constexpr (picks_negatives<Worker>)
    return worker.picks();
  else
    return 0;
}

template <Targets T>
using TargetTables = decltype(std::declval<const T&>().start(std::declval<const Vocabulary&>()));
template <Targets T>
using TargetWorker = decltype(std::declval<const TargetTables<T>&>().worker(0, 0));

}  // namespace detail
}}  // namespace wordloom::WORDLOOM_ABI
