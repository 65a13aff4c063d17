#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

#include <wordloom/cuda/detail/draws.hpp>
#include <wordloom/cuda/detail/hot_outputs.hpp>
#include <wordloom/cuda/detail/sentence.hpp>
#include <wordloom/cuda/detail/warp_sums.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// Our own scheme: a warp for each sentence, without any barrier of blocks. The rows of the words
/// around the centre stay in registers from when they enter the widest window until they leave it,
/// `places` of them (an odd number). The outputs of a window are scored against all of them at
/// once, six at a time, before any of these pairs changes a row, as in pWord2Vec (Ji et al. 2016).
/// For windows of up to `places` / 2 words on each side. `hot`, `additions`: see HotOutputs.
template <unsigned places, unsigned hot = 0, unsigned additions = 4>
class WarpScheme {
 public:
  static constexpr std::size_t floats_of_own(const Sampling&, std::size_t row) {
    return (places + 1 + hot) * row + gradient_floats + output_floats;
  }

  template <class Task>
  static WORDLOOM_BOTH void train(const Task& task) {
    using Team = typename Task::Team;
    using Row = typename Task::Row;
    using Values = GroupValues<Team>;
    const Team& team = task.team;
    const std::uint32_t size = task.sentence.size;
    if (size < 2) return;
    float* const center_row =
        task.memory + places * Task::row_size;  // not a context, so not in `rows`
    float* const gradient = center_row + Task::row_size;
    GroupedOutputs<Task> outputs(task, gradient + gradient_floats);
    HotOutputs<Task, hot, additions> hot_outputs(task, gradient + gradient_floats + output_floats);
    Reaches<Task> reaches(task);
    // The place of the gradients of a thread's sums: those of context j begin at 8 j. A sum that a
    // lower thread has too goes to a place that is not read.
    typename Team::template Lanes<std::uint32_t> place[sums_of_thread];
    WORDLOOM_UNROLL
    for (std::uint32_t i = 0; i < sums_of_thread; ++i)
      place[i] = team.each([&](int l) {
        const auto [pair, is_first] = sum_of<pairs>(l, i);
        return is_first ? pair % contexts * 8 + Values::place_of(pair / contexts)
                        : contexts * 8 + static_cast<std::uint32_t>(l);
      });
    Row rows[contexts];  // of the words around the centre
    WORDLOOM_UNROLL
    for (unsigned j = 0; j < contexts; ++j) clear_row(team, rows[j]);
    // The word after the widest window, read ahead; the last word if the sentence has ended.
    const auto word_at = [&](std::uint32_t position) {
      return task.sentence.words[position < size ? position : size - 1];
    };
    const auto leave = [&](std::uint32_t position, const Row& row, const float* loaded) {
      Row before;
      team.load_own(before, loaded);
      task.add_difference(task.input_row(position), row, before);
    };
    WORDLOOM_UNROLL
    for (unsigned p = 0; p < side; ++p)
      if (p < size) {
        team.load(rows[side + p], task.input_row(p));
        team.store_own(task.memory + p * Task::row_size, rows[side + p]);
      }
    WordId entering = word_at(side);
    std::uint32_t slot = side;  // of the copy of the row that enters, as it was loaded
    for (std::uint32_t center = 0; center < size; ++center) {
      WORDLOOM_MARK(4);
      outputs.move_to(center);
      Row y[group];
      auto words = outputs.words(0);
      const auto row_of = [&](unsigned k) {
        return team.each([&](int l) {
          return task.output_row(std::bit_cast<WordId>(team.own(words(team, k), l)));
        });
      };
      const auto load_outputs = [&] {
        WORDLOOM_UNROLL
        for (unsigned k = 0; k < group; ++k) team.load(y[k], row_of(k));
      };
      // Loads all rows of the window before waiting for any of them.
      load_outputs();
      Row last;
      team.load(last, task.model.input + std::size_t{entering} * Task::row_size);
      entering = word_at(center + side + 1);

      float* const copy = task.memory + slot * Task::row_size;
      slot = slot + 1 == places ? 0 : slot + 1;
      if (center > side) {
        WORDLOOM_MARK(5);
        leave(center - 1 - side, rows[0], copy);
      }
      WORDLOOM_UNROLL
      for (unsigned j = 0; j + 1 < side; ++j) copy_row(rows[j], rows[j + 1]);
      if (center > 0) team.load_own(rows[side - 1], center_row);
      team.store_own(center_row, rows[side]);
      WORDLOOM_UNROLL
      for (unsigned j = side; j + 1 < contexts; ++j) copy_row(rows[j], rows[j + 1]);
      copy_row(rows[contexts - 1], last);
      team.store_own(copy, last);

      const std::uint32_t reach = reaches.of(center);
      const std::uint32_t before = center < reach ? center : reach;
      const std::uint32_t after = size - 1 - center < reach ? size - 1 - center : reach;
      // Bit j: context j, which is not the centre, is in the window.
      const std::uint32_t active = ((std::uint32_t{1} << (before + after)) - 1) << (side - before);
      const auto meet = [&]<bool all>(std::uint32_t number) {
        WORDLOOM_MARK(all ? 6 : 7);
        if constexpr (hot > 0) hot_outputs.complete(y, outputs.words(number));
        typename Team::template Lanes<float> sums[pairs];
        Row change[group];
        const auto is_active = [&](std::uint32_t j) { return all || (active >> j & 1u) != 0; };
        WORDLOOM_UNROLL
        for (unsigned j = 0; j < contexts; ++j) {
          WORDLOOM_UNROLL
          for (unsigned k = 0; k < group; ++k)
            sums[k * contexts + j] = team.each([](int) { return 0.0f; });
          if (is_active(j)) {  // one branch for all outputs of a context outside of the window
            WORDLOOM_UNROLL
            for (unsigned k = 0; k < group; ++k)
              sums[k * contexts + j] = partial_dot(rows[j], y[k]);
          }
        }
        transposed_sums<true, 16, pairs>(team, sums);
        gradients<sums_of_thread>(
            task, sums,
            [&](int l, std::uint32_t i) { return number == 0 && team.own(place[i], l) % 8 == 0; },
            [&](int l, std::uint32_t i) {
              const std::uint32_t own = team.own(place[i], l);
              return all || (is_active(own / 8) && outputs.has(number, Values::at(own % 8)));
            },
            [&](int l, std::uint32_t i) { return team.own(place[i], l) < 8 * contexts; });
        WORDLOOM_UNROLL
        for (std::uint32_t i = 0; i < sums_of_thread; ++i)
          team.each([&](int l) {
            gradient[team.own(place[i], l)] = team.own(sums[i], l);
            return 0;
          });
        team.warp_barrier();
        WORDLOOM_UNROLL
        for (unsigned k = 0; k < group; ++k) clear_row(team, change[k]);
        WORDLOOM_UNROLL
        for (unsigned j = 0; j < contexts; ++j)
          if (is_active(j)) {
            Row& x = rows[j];
            const auto of_j = Values(team, gradient + j * 8);
            WORDLOOM_UNROLL
            for (unsigned k = 0; k < group; ++k) add_scaled(change[k], of_j(team, k), x);
            WORDLOOM_UNROLL
            for (unsigned k = 0; k < group; ++k) add_scaled(x, of_j(team, k), y[k]);
          }
        words = outputs.words(number);  // read again, which takes fewer registers than keeping them
        if constexpr (hot > 0) {
          hot_outputs.add(words, change);
        } else {
          WORDLOOM_UNROLL
          for (unsigned k = 0; k < group; ++k) team.add(row_of(k), change[k]);
        }
        team.warp_barrier();
      };
      constexpr std::uint32_t everything = (std::uint32_t{1} << contexts) - 1;
      WORDLOOM_NO_UNROLL
      for (std::uint32_t number = 0;;) {
        if (active == everything && outputs.is_complete())
          meet.template operator()<true>(number);
        else
          meet.template operator()<false>(number);
        if (++number == outputs.groups()) break;
        WORDLOOM_MARK(8);
        words = outputs.words(number);
        load_outputs();
      }
      if (task.sentence.with_loss) task.loss.examples += static_cast<float>(before + after);
    }
    hot_outputs.end();
    team.load_own(rows[side], center_row);
    WORDLOOM_UNROLL
    for (unsigned i = 0; i <= side; ++i)
      if (size - 1 + i >= side) {
        const std::uint32_t position = size - 1 + i - side;
        leave(position, rows[i], task.memory + position % places * Task::row_size);
      }
  }

 private:
  static constexpr unsigned side = places / 2, contexts = places - 1;
  static constexpr unsigned group = outputs_of_group, pairs = group * contexts;
  static constexpr std::uint32_t sums_of_thread = (pairs + 31) / 32;
  static constexpr std::size_t gradient_floats = 8 * contexts + 32;
};

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
