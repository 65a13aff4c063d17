#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <wordloom/core/types.hpp>
#include <wordloom/cuda/detail/sampling.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// Work for a query: finds its `count` best rows, by one warp that reads each score once. Each
/// thread holds some of the best so far; a better row takes the place of the worst of them. CUB has
/// no such selection: it would sort all scores.
struct SelectNearest {
  static constexpr unsigned places = 4;  // of a thread
  static constexpr std::size_t max_count = 32 * places;

  const float* scores;     // [queries x rows]
  const WordId* left_out;  // [queries] a row that is not an answer
  std::uint32_t rows, count;
  float* best_scores;  // [queries x count] in any order
  WordId* best_rows;   // [queries x count] `rows` or more where there are fewer rows

  template <class Team>
  WORDLOOM_BOTH void operator()(const Team& team, std::uint32_t query) const {
    decltype(team.each([](int) { return 0.0f; })) held[places];
    decltype(team.each([](int) { return no_word; })) ids[places];
    // Places that are not needed hold what no score is better than.
    constexpr float infinity = std::numeric_limits<float>::infinity();
    WORDLOOM_UNROLL
    for (unsigned s = 0; s < places; ++s) {
      held[s] = team.each([&](int l) { return place(s, l) < count ? -infinity : infinity; });
      ids[s] = team.each([&](int l) { return ~place(s, l); });
    }
    float worst = -infinity;
    WordId worst_id = 0;
    const auto find_worst = [&] {
      auto score = held[0];
      auto id = ids[0];
      const auto keep_worse = [&](const auto& other, const auto& other_id) {
        const auto is_worse = team.each([&](int l) {
          const float a = team.own(other, l), b = team.own(score, l);
          return a < b || (a == b && team.own(other_id, l) > team.own(id, l));
        });
        score = team.each(
            [&](int l) { return team.own(is_worse, l) ? team.own(other, l) : team.own(score, l); });
        id = team.each(
            [&](int l) { return team.own(is_worse, l) ? team.own(other_id, l) : team.own(id, l); });
      };
      WORDLOOM_UNROLL
      for (unsigned s = 1; s < places; ++s) keep_worse(held[s], ids[s]);
      WORDLOOM_UNROLL
      for (int mask = 16; mask > 0; mask /= 2)
        keep_worse(team.shuffle_xor(score, mask), team.shuffle_xor(id, mask));
      worst = team.from(score, 0);
      worst_id = team.from(id, 0);
    };
    find_worst();
    const float* const from = scores + std::size_t{query} * rows;
    const WordId own = left_out[query];
    for (std::uint32_t base = 0; base < rows; base += 32) {
      const auto here = team.each([&](int l) {
        const std::uint32_t row = base + static_cast<std::uint32_t>(l);
        return row < rows && row != own ? from[row] : -infinity;
      });
      // A later row with the score of the worst is no better.
      std::uint32_t better =
          team.ballot(team.each([&](int l) { return team.own(here, l) > worst; }));
      for (; better != 0; better &= better - 1) {
        const int next = std::countr_zero(better);
        const float score = team.from(here, next);
        if (!(score > worst)) continue;
        const WordId row = base + static_cast<std::uint32_t>(next);
        WORDLOOM_UNROLL
        for (unsigned s = 0; s < places; ++s) {
          const auto is_worst = team.each([&](int l) { return team.own(ids[s], l) == worst_id; });
          held[s] = team.each(
              [&](int l) { return team.own(is_worst, l) ? score : team.own(held[s], l); });
          ids[s] =
              team.each([&](int l) { return team.own(is_worst, l) ? row : team.own(ids[s], l); });
        }
        find_worst();
      }
    }
    WORDLOOM_UNROLL
    for (unsigned s = 0; s < places; ++s)
      team.each([&](int l) {
        const std::size_t at = std::size_t{query} * count + place(s, l);
        if (place(s, l) < count) {
          best_scores[at] = team.own(held[s], l);
          best_rows[at] = team.own(ids[s], l);
        }
        return 0;
      });
  }

 private:
  static WORDLOOM_BOTH std::uint32_t place(unsigned s, int l) {
    return s * 32 + static_cast<std::uint32_t>(l);
  }
};

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
