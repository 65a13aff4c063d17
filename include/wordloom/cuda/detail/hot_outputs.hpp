#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

#include <wordloom/cuda/detail/draws.hpp>
#include <wordloom/cuda/detail/sentence.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// The additions of a warp to the rows of the `count` most frequent outputs, those with ids 0 to
/// `count` - 1, at most 32. Their sums stay in the memory of the warp until a row has been added to
/// `additions` times, or the sentence ends: teams then meet at these rows of the model that much
/// more rarely. A warp sees its own additions at once, so that a single warp trains what it would
/// without, up to rounding; others see them late.
///
/// Each thread only accesses its own part of a row, which needs no barrier.
template <class Task, unsigned count, unsigned additions>
class HotOutputs {
  static_assert(count <= 32 && additions > 0);
  using Team = typename Task::Team;
  using Row = typename Task::Row;
  using Values = GroupValues<Team>;

 public:
  WORDLOOM_BOTH HotOutputs(const Task& task, float* memory)
      : task_(task), memory_(memory), waiting_(task.team.each([](int) { return 0u; })) {
    if constexpr (count > 0) {
      Row none;
      clear_row(task.team, none);
      for (std::uint32_t row = 0; row < count; ++row)
        task.team.store_own(memory_ + row * Task::row_size, none);
    }
  }
  /// Completes rows of the model that have been loaded, by this warp's additions to them.
  template <std::size_t outputs>
  WORDLOOM_BOTH void complete(Row (&rows)[outputs], const Values& words) const {
    WORDLOOM_UNROLL
    for (unsigned k = 0; k < outputs; ++k)
      task_.team.add_own_to(rows[k], own_row(words, k), is_hot(words, k));
  }
  /// Adds a change to each row of a group.
  template <std::size_t outputs>
  WORDLOOM_BOTH void add(const Values& words, const Row (&changes)[outputs]) {
    const Team& team = task_.team;
    WORDLOOM_UNROLL
    for (unsigned k = 0; k < outputs; ++k) {
      const auto hot = is_hot(words, k);
      team.add_to_own(own_row(words, k), changes[k], hot);
      team.add_if(team.each([&](int l) { return task_.output_row(word(words, k, l)); }), changes[k],
                  team.each([&](int l) { return !team.own(hot, l); }));
      waiting_ = team.each([&](int l) {
        return team.own(waiting_, l) + (word(words, k, l) == static_cast<WordId>(l) ? 1u : 0u);
      });
    }
    flush(additions);
  }
  /// Adds all sums to the model.
  WORDLOOM_BOTH void end() {
    if constexpr (count > 0) flush(1);
  }

 private:
  WORDLOOM_BOTH WordId word(const Values& words, unsigned k, int l) const {
    return std::bit_cast<WordId>(task_.team.own(words(task_.team, k), l));
  }
  /// Returns whether the sum of output k is kept here, and its row.
  WORDLOOM_BOTH auto is_hot(const Values& words, unsigned k) const {
    return task_.team.each([&](int l) { return word(words, k, l) < count; });
  }
  WORDLOOM_BOTH auto own_row(const Values& words, unsigned k) const {
    return task_.team.each([&](int l) {
      const WordId id = word(words, k, l);
      return memory_ + (id < count ? id : 0) * Task::row_size;
    });
  }
  /// Adds the sums to the model of at least `min` additions.
  WORDLOOM_BOTH void flush(std::uint32_t min) {
    const Team& team = task_.team;
    std::uint32_t due = team.ballot(team.each([&](int l) {
      return static_cast<std::uint32_t>(l) < count && team.own(waiting_, l) >= min;
    }));
    if (due == 0) return;
    waiting_ = team.each([&](int l) { return (due >> l & 1u) != 0 ? 0u : team.own(waiting_, l); });
    Row none;
    clear_row(team, none);
    WORDLOOM_NO_UNROLL
    for (std::uint32_t row = 0; due != 0; ++row, due >>= 1) {
      if ((due & 1u) == 0) continue;
      Row sum;
      float* const own = memory_ + row * Task::row_size;
      team.load_own(sum, own);
      team.add(task_.output_row(row), sum);
      team.store_own(own, none);
    }
  }

  const Task& task_;
  float* const memory_;
  typename Team::template Lanes<std::uint32_t> waiting_;  // thread l: additions to row l
};

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
