#pragma once
#include <cstddef>
#include <cstdint>

#include <wordloom/cuda/detail/sentence.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// The index of the value that a sum belongs to, and whether no lower thread has the same sum.
struct SumOf {
  std::uint32_t value;
  bool is_first;
};

/// Returns which of `count` values the sum of thread l in place `i` belongs to after
/// transposed_sums.
template <std::uint32_t count, std::uint32_t mask = 16>
WORDLOOM_BOTH SumOf sum_of(int l, std::uint32_t i) {
  constexpr std::uint32_t half = (count + 1) / 2;
  SumOf sum{i, true};
  if constexpr (mask > 1) sum = sum_of<half, mask / 2>(l, i);
  const bool is_upper = (static_cast<std::uint32_t>(l) & mask) != 0;
  const bool is_other = sum.value + half < count;  // than that of the lower thread
  return {is_upper && is_other ? sum.value + half : sum.value,
          sum.is_first && (!is_upper || is_other)};
}

/// Sums each of `count` values over a warp, in place: each thread gets (count + 31) / 32 of the
/// sums, see sum_of. Takes little more than `count` shuffles; one sum after the other would take 5
/// each. `swapped`: in threads 16 to 31 the two halves of the values, an even number, have already
/// changed places, which saves a selection for each.
template <bool swapped = false, int mask = 16, std::size_t count, class Team, class Lanes>
WORDLOOM_BOTH void transposed_sums(const Team& team, Lanes* values) {
  static_assert(Team::width == 32 && (!swapped || count % 2 == 0));
  if constexpr (mask > 0) {
    constexpr std::size_t half = (count + 1) / 2;
    WORDLOOM_UNROLL
    for (std::size_t i = 0; i < half; ++i) {
      if (i + half >= count) {
        values[i] = values[i] + team.shuffle_xor(values[i], mask);
      } else if constexpr (swapped) {
        values[i] = values[i] + team.shuffle_xor(values[i + half], mask);
      } else {
        const auto kept = team.each([&](int l) {
          return (l & mask) != 0 ? team.own(values[i + half], l) : team.own(values[i], l);
        });
        const auto sent = team.each([&](int l) {
          return (l & mask) != 0 ? team.own(values[i], l) : team.own(values[i + half], l);
        });
        values[i] = kept + team.shuffle_xor(sent, mask);
      }
    }
    transposed_sums<false, mask / 2, half>(team, values);
  }
}

/// Turns `places` sums of products in each thread into gradients, in place. is_positive(l, i),
/// is_there(l, i) and is_first(l, i) describe the sum of thread l in place i: its label or the
/// weight of its pair (see LogisticPair), whether the pair is trained (if not, the gradient is 0),
/// and whether its loss counts.
template <std::uint32_t places, class Task, class Lanes, class IsPositive, class IsThere,
          class IsFirst>
WORDLOOM_BOTH void gradients(const Task& task, Lanes* sums, const IsPositive& is_positive,
                             const IsThere& is_there, const IsFirst& is_first) {
  const auto pair = [&](int l, std::uint32_t i) {
    return detail::FloatPair(task.team.own(sums[i], l), pair_weight(is_positive(l, i)));
  };
  if (task.sentence.with_loss) {
    WORDLOOM_MARK(3);
    WORDLOOM_UNROLL
    for (std::uint32_t i = 0; i < places; ++i)
      task.loss.sum += task.team.sum(task.team.each([&](int l) {
        return is_first(l, i) && is_there(l, i) ? pair(l, i).loss() * loss_weight(is_positive(l, i))
                                                : 0.0f;
      }));
  }
  WORDLOOM_UNROLL
  for (std::uint32_t i = 0; i < places; ++i)
    sums[i] = task.team.each([&](int l) {
      return is_there(l, i) ? pair(l, i).gradient(task.sentence.learning_rate) : 0.0f;
    });
}

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
