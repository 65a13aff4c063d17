#pragma once
#include <cstddef>
#include <cstdint>

#include <wordloom/core/types.hpp>
#include <wordloom/cuda/detail/row_steps.hpp>
#include <wordloom/cuda/detail/sampling.hpp>
#include <wordloom/cuda/detail/sentence.hpp>
#include <wordloom/objective/float_pair.hpp>

/// The work of minibatches of pairs on a device, each item by a RowTeam: see VanillaKernel.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// Work for one sentence of a batch: counts the pairs of each of its words as a centre.
struct CountPairs {
  BatchView batch;
  Sampling sampling;
  std::uint32_t* counts;       // [words] 0 after the words that subsampling keeps
  std::uint32_t* sentence_of;  // [words]

  template <class Team>
  WORDLOOM_BOTH void operator()(const Team& team, std::uint32_t i) const {
    const Sentence sentence = batch.sentence(i);
    const std::uint32_t begin = batch.begin(i), size = batch.ends[i] - begin;
    team.each([&](int l) {
      for (auto c = static_cast<std::uint32_t>(l); c < size; c += Team::width) {
        std::uint32_t count = 0;
        if (c < sentence.size) {
          const detail::WindowRange window(c, sampling.reach(sentence.random, c), sentence.size);
          count = window.end - window.first - 1;
        }
        counts[begin + c] = count;
        sentence_of[begin + c] = i;
      }
      return 0;
    });
  }
};

/// Work for one sentence of a batch: lists its pairs, centre by centre.
struct ListPairs {
  BatchView batch;
  Sampling sampling;
  const std::uint32_t* ends;  // [words] of the pairs of each word in `pairs`
  std::uint32_t* pairs;       // [pairs x 2] their words in BatchView::kept: centre, context

  template <class Team>
  WORDLOOM_BOTH void operator()(const Team& team, std::uint32_t i) const {
    const Sentence sentence = batch.sentence(i);
    const std::uint32_t begin = batch.begin(i);
    team.each([&](int l) {
      for (auto c = static_cast<std::uint32_t>(l); c < sentence.size; c += Team::width) {
        const std::uint32_t center = begin + c;
        const detail::WindowRange window(c, sampling.reach(sentence.random, c), sentence.size);
        std::uint32_t* to = pairs + 2 * std::size_t{center == 0 ? 0 : ends[center - 1]};
        for (std::uint32_t context = window.first; context < window.end; ++context)
          if (context != c) {
            *to++ = center;
            *to++ = begin + context;
          }
      }
      return 0;
    });
  }
};

/// The progress through the pairs of a batch, in the memory of the machine: the work of a minibatch
/// depends on nothing else that changes in a batch, so that a device can repeat it.
struct PairProgress {
  std::uint32_t scored;  // pairs; 0 again after the last one
  float rate;            // the learning rate of the last of them
};

/// Work for one item, after `count` pairs of `pairs` have been scored.
struct AdvancePairs {
  PairProgress* progress;
  std::uint32_t count, pairs;
  double first_rate, last_rate;  // of the batch

  template <class Team>
  WORDLOOM_BOTH void operator()(const Team& team, std::uint32_t) const {
    team.each([&](int l) {
      if (l != 0) return 0;
      const std::uint32_t scored = progress->scored + count;
      progress->rate =
          static_cast<float>(first_rate + (last_rate - first_rate) * static_cast<double>(scored) /
                                              static_cast<double>(pairs));
      progress->scored = scored == pairs ? 0 : scored;
      return 0;
    });
  }
};

/// The gradients of a minibatch, in the memory of the machine. A pair has `slot_count` entries:
/// that of its input row, then those of its output rows, the positive and K negatives. Rows of the
/// model are numbered: a row of the input matrix by its word, a row of the output matrix by
/// `input_rows` plus its word.
struct MinibatchView {
  std::uint32_t slot_count;  // K + 2, 32 at most
  std::uint32_t input_rows;  // V
  std::uint32_t no_row;      // 2 V: the number of a negative that is left out
  std::uint32_t* rows;       // [batch x slot_count] the row that an entry changes
  float* factors;  // [batch x slot_count] the gradient of an entry is this times a row: of an
  float* changes;  // input one of these [batch x stride], else the input row of its pair

  /// Returns the number of the first row of a side.
  WORDLOOM_BOTH std::uint32_t first_row(Model::Side side) const {
    return side == Model::Side::input ? 0 : input_rows;
  }
};

/// Work for a pair of a minibatch, of those that are not scored yet: scores it, and writes its
/// entries. Changes no row.
template <int R>
struct ScorePair {
  static constexpr std::size_t stride = std::size_t{32} * R;

  BatchView batch;
  Sampling sampling;
  ModelView model;
  const std::uint32_t* pairs;        // of ListPairs
  const std::uint32_t* sentence_of;  // [words]
  MinibatchView minibatch;           // from the entries of the first pair of the work on
  const PairProgress* progress;

  template <class Team>
  WORDLOOM_BOTH void operator()(const Team& team, std::uint32_t item) const {
    using Lanes = typename Team::Lanes;
    const std::uint32_t* const places = pairs + 2 * (std::size_t{progress->scored} + item);
    const std::uint32_t i = sentence_of[places[0]], begin = batch.begin(i);
    const Sentence sentence = batch.sentence(i);
    const std::uint32_t center = places[0] - begin, context = places[1] - begin;
    const WordId positive = sentence.words[center], word = sentence.words[context];
    const std::uint32_t number = sampling.pair(center, context);
    const std::uint32_t slot_count = minibatch.slot_count;
    // Thread l has the word of slot l.
    const auto words = team.each([&](int l) {
      const auto slot = static_cast<std::uint32_t>(l);
      if (slot == 0) return word;
      if (slot == 1) return positive;
      if (slot >= slot_count) return no_word;
      return sampling.negative(sentence.random, number * sampling.per_window + slot - 2, positive);
    });
    Lanes x[std::size_t{R}], y[std::size_t{R}], change[std::size_t{R}];
    team.load_own(x, model.input + std::size_t{word} * stride);
    clear_row(team, change);
    Lanes factors = team.each([](int l) { return l == 0 ? 1.0f : 0.0f; });
    float loss = 0;
    WORDLOOM_NO_UNROLL
    for (std::uint32_t slot = 1; slot < slot_count; ++slot) {
      const WordId output = team.from(words, static_cast<int>(slot));
      if (output == no_word) continue;
      team.load_own(y, model.output + std::size_t{output} * stride);
      const detail::FloatPair pair(team.sum(partial_dot(x, y)), pair_weight(slot == 1));
      const float gradient = pair.gradient(1.0f);
      if (sentence.with_loss) loss += pair.loss();
      add_scaled(change, gradient, y);
      factors = team.each(
          [&](int l) { return l == static_cast<int>(slot) ? gradient : team.own(factors, l); });
    }
    team.store_own(minibatch.changes + item * stride, change);
    const std::size_t first = std::size_t{item} * slot_count;
    team.each([&](int l) {
      const auto slot = static_cast<std::uint32_t>(l);
      if (slot >= slot_count) return 0;
      const WordId own = team.own(words, l);
      const auto of_slot = slot == 0 ? Model::Side::input : Model::Side::output;
      minibatch.rows[first + slot] =
          own == no_word ? minibatch.no_row : minibatch.first_row(of_slot) + own;
      minibatch.factors[first + slot] = team.own(factors, l);
      if (slot < 2 && sentence.with_loss)
        team.add_number(batch.loss + slot, slot == 0 ? static_cast<double>(loss) : 1.0);
      return 0;
    });
  }
};

/// The entries of a minibatch in the order of their rows, then of the pairs, cut into pieces. A
/// piece has entries of one row, at most `piece_entries`: a frequent word has thousands, which
/// several teams then sum.
struct SortedView {
  static constexpr std::uint32_t piece_entries = 64;

  const std::uint32_t* rows;     // [entries] the rows that they change, ascending
  const std::uint32_t* entries;  // [entries] their places in MinibatchView
  std::uint32_t entry_count;
  const std::uint32_t* pieces;       // [piece_count] their first entries
  const std::uint32_t* piece_count;  // [1]
  float* sums;                       // [pieces x stride]

  /// Returns the maximum number of pieces of `entries` entries with at most `rows` rows.
  static constexpr std::size_t max_pieces(std::size_t entries, std::size_t rows) {
    return (entries < rows ? entries : rows) + entries / piece_entries + 1;
  }
  WORDLOOM_BOTH std::uint32_t row(std::uint32_t piece) const { return rows[pieces[piece]]; }
};

/// Returns whether a piece begins with an entry.
struct BeginsPiece {
  const std::uint32_t* rows;  // of SortedView

  WORDLOOM_BOTH bool operator()(std::uint32_t i) const {
    return i % SortedView::piece_entries == 0 || rows[i] != rows[i - 1];
  }
};

/// Work for a piece: sums its gradients, in order.
template <int R>
struct SumPiece {
  static constexpr std::size_t stride = std::size_t{32} * R;

  MinibatchView minibatch;
  SortedView sorted;
  const float* input;  // [V x stride] of the model

  template <class Team>
  WORDLOOM_BOTH void operator()(const Team& team, std::uint32_t item) const {
    const std::uint32_t pieces = *sorted.piece_count;
    if (item >= pieces || sorted.row(item) == minibatch.no_row) return;
    const std::uint32_t begin = sorted.pieces[item];
    const std::uint32_t end = item + 1 < pieces ? sorted.pieces[item + 1] : sorted.entry_count;
    typename Team::Lanes sum[std::size_t{R}], x[std::size_t{R}];
    clear_row(team, sum);
    for (std::uint32_t base = begin; base < end; base += Team::width) {
      const auto entries = team.each([&](int l) {
        const std::uint32_t i = base + static_cast<std::uint32_t>(l);
        return i < end ? sorted.entries[i] : 0u;
      });
      const auto factors =
          team.each([&](int l) { return minibatch.factors[team.own(entries, l)]; });
      const std::uint32_t count = end - base < Team::width ? end - base : Team::width;
      for (std::uint32_t i = 0; i < count; ++i) {
        team.load_own(x, gradient_row(team.from(entries, static_cast<int>(i))));
        add_scaled(sum, team.from(factors, static_cast<int>(i)), x);
      }
    }
    team.store_own(sorted.sums + std::size_t{item} * stride, sum);
  }

 private:
  WORDLOOM_BOTH const float* gradient_row(std::uint32_t entry) const {
    const std::uint32_t pair = entry / minibatch.slot_count, first = pair * minibatch.slot_count;
    if (entry == first) return minibatch.changes + std::size_t{pair} * stride;
    return input + std::size_t{minibatch.rows[first]} * stride;
  }
};

/// Work for the first piece of a row: adds the sums of the row's other pieces in order, and takes a
/// step of the optimizer with the row. Does nothing for other pieces.
template <int R, class Step>
struct StepRow {
  static constexpr std::size_t stride = std::size_t{32} * R;

  MinibatchView minibatch;
  SortedView sorted;
  ModelView model;
  Step step;
  StateView state[2];  // of both sides
  const PairProgress* progress;

  template <class Team>
  WORDLOOM_BOTH void operator()(const Team& team, std::uint32_t item) const {
    const std::uint32_t pieces = *sorted.piece_count;
    if (item >= pieces) return;
    const std::uint32_t row = sorted.row(item);
    if (row == minibatch.no_row || (item > 0 && sorted.row(item - 1) == row)) return;
    typename Team::Lanes sum[std::size_t{R}], x[std::size_t{R}];
    team.load_own(sum, sorted.sums + std::size_t{item} * stride);
    for (std::uint32_t next = item + 1; next < pieces && sorted.row(next) == row; ++next) {
      team.load_own(x, sorted.sums + std::size_t{next} * stride);
      add_scaled(sum, 1.0f, x);
    }
    const bool is_input = row < minibatch.input_rows;
    const std::uint32_t id = is_input ? row : row - minibatch.input_rows;
    float* const at = (is_input ? model.input : model.output) + std::size_t{id} * stride;
    team.load_own(x, at);
    step(team, state[is_input ? 0 : 1], id, x, sum, progress->rate);
    team.store_own(at, x);
  }
};

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
