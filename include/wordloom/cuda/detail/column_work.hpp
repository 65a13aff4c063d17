#pragma once
#include <cstddef>
#include <cstdint>

#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/detail/word_context_view.hpp>
#include <wordloom/cuda/detail/row_steps.hpp>
#include <wordloom/cuda/detail/sampling.hpp>
#include <wordloom/cuda/detail/sentence.hpp>
#include <wordloom/cuda/detail/warp_sums.hpp>
#include <wordloom/objective/float_pair.hpp>
#include <wordloom/sampler/block.hpp>
#include <wordloom/sampler/detail/column_parts.hpp>

/// The work of two-step training on a device, each item by a RowTeam: see UniformMatrix.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// Work for 32 words of a column: finds their contexts.
struct FindContexts {
  detail::WordContextView all;
  std::uint32_t first, end;  // words
  std::uint64_t column;      // of all epochs together
  WordId* contexts;          // [words]

  template <class Team>
  WORDLOOM_BOTH void operator()(const Team& team, std::uint32_t item) const {
    team.each([&](int l) {
      const std::uint32_t word = first + item * 32 + static_cast<std::uint32_t>(l);
      if (word < end) contexts[word] = all.context(word, column);
      return 0;
    });
  }
};

/// A step of a column in the memory of a machine.
struct ColumnView {
  const WordId* words = nullptr;     // [word_count]
  const WordId* contexts = nullptr;  // [word_count]
  std::uint32_t word_count = 0;
  std::uint32_t first_part = 0;  // of this rank
  AliasView negatives = {};
  std::uint32_t at_once = 1;   // B: words that share negatives
  std::uint32_t shared = 0;    // H: negatives that they share
  float weight = 0;            // of a negative: K / H
  std::uint64_t seed = 0;      // as of the host's ColumnLoop, which draws the same negatives
  std::uint64_t column = 0;    // of all epochs together
  std::uint32_t in_epoch = 0;  // its number in its epoch
  Block::Sides step = Block::Sides::inputs;  // the side that is trained
  float rate = 0;                            // the learning rate
  float* moving = nullptr;                   // [V x stride] the matrix that is trained
  const float* standing = nullptr;           // [V x stride] the matrix that is read only
  double* loss = nullptr;                    // [2] as PairLoss, added to

  static constexpr std::uint32_t part_words = detail::ColumnParts::part_words;

  /// Up to `size` words that share their negatives.
  struct Group {
    std::uint32_t part, first, size;
    Random negatives;  // at the first
  };

  /// Returns the number of groups of a part; a team takes up to W words.
  template <std::uint32_t W>
  WORDLOOM_BOTH std::uint32_t groups() const {
    return chunks() * chunk_groups<W>();
  }
  /// Returns group `item` of the parts of this rank.
  template <std::uint32_t W>
  WORDLOOM_BOTH Group group(std::uint32_t item) const {
    const std::uint32_t part = first_part + item / groups<W>(), rest = item % groups<W>();
    const std::uint32_t chunk = rest / chunk_groups<W>(), number = rest % chunk_groups<W>();
    const std::uint32_t begin = part * part_words;
    const std::uint32_t end = (min)(begin + part_words, word_count);
    const std::uint32_t chunk_end = (min)(begin + (chunk + 1) * at_once, end);
    const std::uint32_t first = begin + chunk * at_once + number * W;
    Random random = detail::ColumnParts::random(seed, part, step, column);
    random.skip(std::uint64_t{chunk} * shared);
    return {part, first, first < chunk_end ? (min)(chunk_end - first, W) : 0, random};
  }

  /// Returns negative `h` of a group; no_word for one that is left out. A negative that is the
  /// context of a single word is drawn again, as on the host, but only a limited number of times.
  WORDLOOM_BOTH WordId negative(const Group& group, std::uint32_t h) const {
    Random random = group.negatives;
    random.skip(h);
    WordId word = negatives.draw(random);
    if (at_once > 1) return word;
    const WordId context = contexts[group.first];
    for (std::uint32_t i = 0; word == context && i < 8; ++i) {
      random = Random::from_state(random.state(), shared + h);
      word = negatives.draw(random);
    }
    return word == context ? no_word : word;
  }

 private:
  static WORDLOOM_BOTH std::uint32_t(min)(std::uint32_t a, std::uint32_t b) {
    return a < b ? a : b;
  }
  /// Words that share negatives are a chunk.
  WORDLOOM_BOTH std::uint32_t chunks() const { return (part_words + at_once - 1) / at_once; }
  template <std::uint32_t W>
  WORDLOOM_BOTH std::uint32_t chunk_groups() const {
    return ((min)(at_once, part_words) + W - 1) / W;
  }
};

/// Work for a group of words of a column: changes their rows of the trained side. All scores use
/// the rows as they were, the rows of the other side do not change and no other team has these
/// words, so the order does not change the result. The negatives of a group stay in the first-level
/// cache while they are scored against its words, 32 pairs at a time, one in each thread.
template <int R, class Step>
struct TrainGroup {
  static constexpr std::size_t stride = std::size_t{32} * R;
  /// Words of a team: as many as the registers of a thread can hold with their changes.
  static constexpr std::uint32_t words = R <= 8 ? 4 : R <= 16 ? 2 : 1;

  ColumnView column;
  Step step;
  StateView state;

  template <class Team>
  WORDLOOM_BOTH void operator()(const Team& team, std::uint32_t item) const {
    using Row = typename Team::Lanes[std::size_t{R}];
    constexpr std::uint32_t targets = 32 / words;  // of a word that are scored at once
    const ColumnView::Group group = column.template group<words>(item);
    if (group.size == 0) return;
    const bool with_loss = detail::ColumnParts::has_loss(group.part, column.in_epoch);
    Row x[words], change[words], y;
    WORDLOOM_UNROLL
    for (std::uint32_t w = 0; w < words; ++w) {
      clear_row(team, x[w]);
      clear_row(team, change[w]);
      if (w < group.size) team.load_own(x[w], column.moving + row_of(word(group, w)));
    }
    // Target 0 is the context, the others are the negatives.
    for (std::uint32_t first = 0; first <= column.shared; first += targets) {
      const auto is_target = [&](std::uint32_t t) { return first + t <= column.shared; };
      const auto negatives = team.each([&](int l) {
        const std::uint32_t t = static_cast<std::uint32_t>(l) % targets;
        return first + t > 0 && is_target(t) ? column.negative(group, first + t - 1) : no_word;
      });
      // Calls use(w) for each word that is scored against target t, with the target's row in y.
      const auto for_words = [&](std::uint32_t t, auto&& use) {
        const bool is_context = first + t == 0;
        const WordId negative = team.from(negatives, static_cast<int>(t));
        if (negative != no_word) team.load_own(y, column.standing + row_of(negative));
        WORDLOOM_UNROLL
        for (std::uint32_t w = 0; w < words; ++w) {
          if (is_context ? w >= group.size : negative == no_word) continue;
          if (is_context)
            team.load_own(y, column.standing + row_of(column.contexts[group.first + w]));
          use(w);
        }
      };
      typename Team::Lanes sums[32];
      WORDLOOM_UNROLL
      for (std::uint32_t t = 0; t < targets; ++t) {
        WORDLOOM_UNROLL
        for (std::uint32_t w = 0; w < words; ++w)
          sums[w * targets + t] = team.each([](int) { return 0.0f; });
        for_words(t, [&](std::uint32_t w) { sums[w * targets + t] = partial_dot(x[w], y); });
      }
      transposed_sums<false, 16, 32>(team, sums);
      // Thread l has the score of word l / targets and target l % targets.
      const auto pair = [&](int l) {
        const bool is_context = first + static_cast<std::uint32_t>(l) % targets == 0;
        return detail::FloatPair(team.own(sums[0], l), is_context ? 1.0f : -column.weight);
      };
      const auto is_pair = [&](int l) {
        const std::uint32_t t = static_cast<std::uint32_t>(l) % targets;
        return static_cast<std::uint32_t>(l) / targets < group.size &&
               (first + t == 0 || team.own(negatives, l) != no_word);
      };
      const auto gradients =
          team.each([&](int l) { return is_pair(l) ? pair(l).gradient(1.0f) : 0.0f; });
      if (with_loss)
        add_loss(team, group, first == 0,
                 team.each([&](int l) { return is_pair(l) ? pair(l).loss() : 0.0f; }));
      WORDLOOM_NO_UNROLL
      for (std::uint32_t t = 0; t < targets; ++t)
        for_words(t, [&](std::uint32_t w) {
          add_scaled(change[w], team.from(gradients, static_cast<int>(w * targets + t)), y);
        });
    }
    WORDLOOM_UNROLL
    for (std::uint32_t w = 0; w < words; ++w) {
      if (w >= group.size) break;
      const WordId own = word(group, w);
      step(team, state, own, x[w], change[w], column.rate);
      team.store_own(column.moving + row_of(own), x[w]);
    }
  }

 private:
  static WORDLOOM_BOTH std::size_t row_of(WordId word) { return std::size_t{word} * stride; }
  WORDLOOM_BOTH WordId word(const ColumnView::Group& group, std::uint32_t w) const {
    return column.words[group.first + w];
  }
  template <class Team, class Lanes>
  WORDLOOM_BOTH void add_loss(const Team& team, const ColumnView::Group& group, bool is_first,
                              const Lanes& losses) const {
    const float sum = team.sum(losses);
    team.each([&](int l) {
      if (l == 0) team.add_number(column.loss, static_cast<double>(sum));
      if (l == 1 && is_first) team.add_number(column.loss + 1, static_cast<double>(group.size));
      return 0;
    });
  }
};

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
