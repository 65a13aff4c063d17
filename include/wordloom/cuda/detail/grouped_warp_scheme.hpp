#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

#include <wordloom/cuda/detail/sentence.hpp>
#include <wordloom/cuda/detail/warp_sums.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// GroupedWindow on a device: a warp for each sentence, whose `group` successive centres share
/// their context, which are themselves and `side` words on either side, and `shared` negatives. All
/// rows of a group are in registers and all its pairs are scored at once, before any of them
/// changes a row. Input rows stay there from when they enter a group until they leave the last one.
/// A row of the output is thus read and added to once in a group: the negatives, and frequent
/// outputs, `group` times as rarely as with windows that have negatives of their own.
/// The loss of a negative counts with its weight, as if each centre had K negatives; on the host,
/// each pair of GroupedWindow counts once.
template <unsigned group, unsigned side, unsigned shared>
class GroupedWarpScheme {
  static constexpr unsigned contexts = group + 2 * side, outputs = group + shared;
  static constexpr unsigned pairs = outputs * contexts;
  static constexpr unsigned half = outputs / 2;  // see Halves
  static constexpr std::uint32_t sums_of_thread = (pairs + 31) / 32;
  static constexpr unsigned groups_at_once = 32 / outputs;  // for which 32 threads draw
  static constexpr std::size_t gradient_floats = 16 * contexts + 32;
  static constexpr std::size_t output_floats = 16 * (groups_at_once + 1);
  static_assert(outputs % 2 == 0 && half > 4 && half <= 8);

 public:
  static constexpr std::size_t floats_of_own(const Sampling&, std::size_t row) {
    return contexts * row + gradient_floats + output_floats;
  }
  /// Returns whether the groups of a sampler are those of this scheme.
  static bool fits(const Sampling& sampling) {
    return sampling.group == group && sampling.side == side && sampling.shared == shared;
  }

  template <class Task>
  static WORDLOOM_BOTH void train(const Task& task) {
    using Row = typename Task::Row;
    const auto& team = task.team;
    const auto size = static_cast<std::int32_t>(task.sentence.size);
    if (size < 2) return;
    float* const gradient = task.memory + contexts * Task::row_size;
    float* const drawn = gradient + gradient_floats;
    // The place of the gradients of a thread's sums: those of context j begin at 16 j. A sum that a
    // lower thread has too goes to a place that is not read.
    typename Task::Team::template Lanes<std::uint32_t> place[sums_of_thread];
    WORDLOOM_UNROLL
    for (std::uint32_t i = 0; i < sums_of_thread; ++i)
      place[i] = team.each([&](int l) {
        const auto [pair, is_first] = sum_of<pairs>(l, i);
        return is_first ? pair % contexts * 16 + place_of(pair / contexts)
                        : contexts * 16 + static_cast<std::uint32_t>(l);
      });
    const auto copy_of = [&](std::uint32_t slot) {
      return task.memory + (slot < contexts ? slot : slot - contexts) * Task::row_size;
    };
    const auto leave = [&](std::int32_t position, const Row& row, std::uint32_t slot) {
      if (position < 0 || position >= size) return;
      WORDLOOM_MARK(5);
      Row before;
      team.load_own(before, copy_of(slot));
      task.add_difference(task.input_row(static_cast<std::uint32_t>(position)), row, before);
    };
    // The first centre of a group, below 0 where the first group is shorter.
    std::int32_t first = first_center(task.sentence.random);
    Row rows[contexts];
    WORDLOOM_UNROLL
    for (unsigned j = 0; j < contexts; ++j) clear_row(team, rows[j]);
    WORDLOOM_UNROLL
    for (unsigned j = group; j < contexts; ++j) {
      const std::int32_t position = first + static_cast<std::int32_t>(j) - int(group + side);
      if (position < 0 || position >= size) continue;
      team.load(rows[j], task.input_row(static_cast<std::uint32_t>(position)));
      team.store_own(copy_of(j - group), rows[j]);
    }
    WordId entering[group];  // words, read ahead
    const auto read_ahead = [&](std::int32_t position) {
      WORDLOOM_UNROLL
      for (unsigned i = 0; i < group; ++i)
        entering[i] = word_at(task, position + static_cast<std::int32_t>(i));
    };
    read_ahead(first + int(side));
    std::uint32_t slot = 2 * side;  // of the copy of the first row that enters, as it was loaded
    std::uint32_t absent = 0;       // bit o: negative o of all drawn groups is left out
    WORDLOOM_NO_UNROLL
    for (std::uint32_t number = 0; first < size; ++number, first += int(group)) {
      WORDLOOM_MARK(4);
      const std::uint32_t here = number % groups_at_once;
      if (here == 0) absent = draw(task, first, drawn);
      const float* const words = drawn + 16 * here;
      Row y[outputs], last[group];
      // Loads all rows of the group before waiting for any of them.
      for_each_output(task, words, [&](unsigned k, const auto& row) { team.load(y[k], row); });
      WORDLOOM_UNROLL
      for (unsigned i = 0; i < group; ++i)
        team.load(last[i], task.model.input + std::size_t{entering[i]} * Task::row_size);
      read_ahead(first + int(side + group));
      WORDLOOM_UNROLL
      for (unsigned i = 0; i < group; ++i) {
        leave(first + static_cast<std::int32_t>(i) - int(group + side), rows[i], slot + i);
        team.store_own(copy_of(slot + i), last[i]);
      }
      WORDLOOM_UNROLL
      for (unsigned j = 0; j < 2 * side; ++j) copy_row(rows[j], rows[j + group]);
      WORDLOOM_UNROLL
      for (unsigned i = 0; i < group; ++i) copy_row(rows[2 * side + i], last[i]);
      slot += group;
      if (slot >= contexts) slot -= contexts;

      typename Task::Team::template Lanes<float> sums[pairs];
      WORDLOOM_UNROLL
      for (unsigned k = 0; k < outputs; ++k) {
        WORDLOOM_UNROLL
        for (unsigned j = 0; j < contexts; ++j) sums[k * contexts + j] = partial_dot(rows[j], y[k]);
      }
      transposed_sums<true, 16, pairs>(team, sums);
      score(task, first, absent >> here * outputs, place, sums);
      WORDLOOM_UNROLL
      for (std::uint32_t i = 0; i < sums_of_thread; ++i)
        team.each([&](int l) {
          gradient[team.own(place[i], l)] = team.own(sums[i], l);
          return 0;
        });
      team.warp_barrier();
      Row change[outputs];
      WORDLOOM_UNROLL
      for (unsigned k = 0; k < outputs; ++k) clear_row(team, change[k]);
      WORDLOOM_UNROLL
      for (unsigned j = 0; j < contexts; ++j) {
        const Halves<typename Task::Team> of_j(team, gradient + j * 16);
        WORDLOOM_UNROLL
        for (unsigned k = 0; k < outputs; ++k) add_scaled(change[k], of_j(team, k), rows[j]);
        WORDLOOM_UNROLL
        for (unsigned k = 0; k < outputs; ++k) add_scaled(rows[j], of_j(team, k), y[k]);
      }
      for_each_output(task, words, [&](unsigned k, const auto& row) { team.add(row, change[k]); });
      team.warp_barrier();
    }
    WORDLOOM_UNROLL
    for (unsigned j = 0; j < contexts; ++j)
      leave(first - int(group + side) + static_cast<std::int32_t>(j), rows[j], slot + j);
  }

  /// Returns the first centre of the first group of a sentence, which has 1 to `group` words: one
  /// that is not there if it is below 0.
  static WORDLOOM_BOTH std::int32_t first_center(const SentenceRandom& random) {
    const std::uint64_t draw = random(Purpose::window, 0).x[0];
    return 1 + static_cast<std::int32_t>(draw * group >> 32) - int(group);
  }

 private:
  static WORDLOOM_BOTH constexpr std::uint32_t place_of(std::uint32_t o) {
    return o / half * 8 + o % half;
  }
  static WORDLOOM_BOTH constexpr std::uint32_t output_at(std::uint32_t place) {
    return place / 8 * half + place % 8;
  }

  /// Values of all outputs. In threads 16 to 31 the first half and the last have changed places:
  /// see transposed_sums. Memory has 8 places for each half.
  template <class Team>
  struct Halves {
    typename Team::template Lanes<Quad> quads[4];

    WORDLOOM_BOTH Halves(const Team& team, const float* from) {
      WORDLOOM_UNROLL
      for (unsigned q = 0; q < 4; ++q)
        quads[q] = team.each([&](int l) {
          return Quad::load(from + ((static_cast<std::uint32_t>(l) / 16 * 8) ^ (q / 2 * 8)) +
                            q % 2 * 4);
        });
    }
    WORDLOOM_BOTH auto operator()(const Team& team, unsigned k) const {
      return team.each(
          [&](int l) { return team.own(quads[k / half * 2 + k % half / 4], l).at[k % half % 4]; });
    }
  };

  template <class Task>
  static WORDLOOM_BOTH WordId word_at(const Task& task, std::int32_t position) {
    const auto size = static_cast<std::int32_t>(task.sentence.size);
    return task.sentence.words[position < 0 ? 0 : position < size ? position : size - 1];
  }

  /// Calls use(k, rows) with the rows of each output, one for each thread.
  template <class Task, class Use>
  static WORDLOOM_BOTH void for_each_output(const Task& task, const float* words, Use&& use) {
    const auto& team = task.team;
    const Halves<typename Task::Team> all(team, words);
    WORDLOOM_UNROLL
    for (unsigned k = 0; k < outputs; ++k) {
      const auto word = all(team, k);
      use(k, team.each(
                 [&](int l) { return task.output_row(std::bit_cast<WordId>(team.own(word, l))); }));
    }
  }

  /// Draws the outputs of the next groups, the first of which has the centre `first`, and returns a
  /// bit for each negative that is left out, in whose place there is a word of the sentence.
  template <class Task>
  static WORDLOOM_BOTH std::uint32_t draw(const Task& task, std::int32_t first, float* words) {
    WORDLOOM_MARK(1);
    const auto is_left_out = task.team.each([&](int l) {
      const std::uint32_t o = static_cast<std::uint32_t>(l) % outputs;
      const std::uint32_t number = static_cast<std::uint32_t>(l) / outputs;
      const std::int32_t begin = first + static_cast<std::int32_t>(number * group);
      WordId centers[group];
      WORDLOOM_UNROLL
      for (unsigned i = 0; i < group; ++i)
        centers[i] = word_at(task, begin + static_cast<std::int32_t>(i));
      // Threads of positives draw, too: that takes no branch.
      const WordId negative = task.sampling.negative_unless(
          task.sentence.random, static_cast<std::uint32_t>(begin + int(group)) * shared + o - group,
          [&](WordId word) {
            bool is = false;
            WORDLOOM_UNROLL
            for (unsigned i = 0; i < group; ++i) is |= centers[i] == word;
            return is;
          });
      const bool is_absent = o >= group && negative == no_word;
      WordId word = is_absent ? centers[0] : negative;
      WORDLOOM_UNROLL
      for (unsigned i = 0; i < group; ++i) word = o == i ? centers[i] : word;
      words[number * 16 + place_of(o)] = std::bit_cast<float>(word);
      return is_absent;
    });
    const std::uint32_t absent = task.team.ballot(is_left_out);
    task.team.warp_barrier();
    return absent;
  }

  /// Turns sums into gradients. A negative counts K / H times for each centre whose context the
  /// input is.
  template <class Task, class Places, class Sums>
  static WORDLOOM_BOTH void score(const Task& task, std::int32_t first, std::uint32_t absent,
                                  const Places& place, Sums& sums) {
    const auto& team = task.team;
    const std::uint32_t size = task.sentence.size;
    // Positions below 0 are not there either.
    const auto is_word = [&](std::int32_t at) { return static_cast<std::uint32_t>(at) < size; };
    std::uint32_t centers = 0, inputs = 0;
    WORDLOOM_UNROLL
    for (unsigned j = 0; j < contexts; ++j) {
      const bool is = is_word(first - int(side) + static_cast<std::int32_t>(j));
      inputs += is ? 1 : 0;
      centers += is && j >= side && j < side + group ? 1 : 0;
    }
    const float factor = -static_cast<float>(task.sampling.per_window) / static_cast<float>(shared);
    const auto output = [&](int l, std::uint32_t i) {
      return output_at(team.own(place[i], l) % 16);
    };
    const auto context = [&](int l, std::uint32_t i) { return team.own(place[i], l) / 16; };
    // Pairs that do not count have weight 0, which takes no branch.
    gradients<sums_of_thread>(
        task, sums,
        [&](int l, std::uint32_t i) {
          const std::uint32_t o = output(l, i), j = context(l, i);
          const bool is_negative = o >= group;
          const bool counts =
              is_negative ? (absent >> o & 1u) == 0 : is_word(first + static_cast<std::int32_t>(o));
          const bool is_itself = !is_negative && j == side + o;
          const std::uint32_t is_center = j >= side && j < side + group ? 1 : 0;
          const float weight =
              is_negative ? factor * static_cast<float>(centers - is_center) : 1.0f;
          const bool has_context = is_word(first - int(side) + static_cast<std::int32_t>(j));
          return counts & has_context & !is_itself ? weight : 0.0f;
        },
        [](int, std::uint32_t) { return true; },
        [&](int l, std::uint32_t i) { return team.own(place[i], l) < 16 * contexts; });
    if (task.sentence.with_loss) task.loss.examples += static_cast<float>(centers * (inputs - 1));
  }
};

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
