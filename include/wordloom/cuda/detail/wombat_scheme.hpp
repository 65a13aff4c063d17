#pragma once
#include <cstddef>
#include <cstdint>

#include <wordloom/cuda/detail/published_schemes.hpp>
#include <wordloom/cuda/detail/sentence.hpp>
#include <wordloom/cuda/detail/warp_sums.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// The scheme of Wombat on a GPU (Simonton and Alaghband 2017, "Efficient and accurate Word2Vec
/// implementations in GPU and shared-memory multicore architectures"). For a window whose words
/// share their targets, each 4 targets and 8 context words are a tile with its rows in shared
/// memory; all of its 32 pairs, one for each thread, are scored before any changes a row. Pairs
/// that do not fill a tile are trained one by one. A warp trains one window, while others train its
/// neighbours.
template <class Targets>
struct WombatScheme : WindowByWindow<WombatScheme<Targets>> {
  static constexpr bool by_word = true;  // see WordAtATime
  static constexpr std::uint32_t outputs = 4, contexts = 8;

  static constexpr std::size_t floats_of_own(const Sampling&, std::size_t row) {
    return std::size_t{outputs + contexts} * row;
  }

  template <class Task>
  static WORDLOOM_BOTH void train_window(const Task& task, std::uint32_t center) {
    const auto window = task.window(center, task.reach(center));
    const std::uint32_t size = window.end - window.first - 1;
    const auto input_row = [&](std::uint32_t j) {
      const std::uint32_t position = window.first + j;
      return task.input_row(position < center ? position : position + 1);
    };
    Target targets[std::size_t{outputs}];
    std::uint32_t count = 0;
    const auto train_targets = [&] {
      std::uint32_t j = 0;
      if (count == outputs)
        for (; size - j >= contexts; j += contexts)
          train_tile(task, targets, [&](std::uint32_t c) { return input_row(j + c); });
      for (; j < size; ++j)
        for (std::uint32_t o = 0; o < count; ++o) train_pair(task, targets[o], input_row(j));
      count = 0;
    };
    Targets::for_each(task, center, center, [&](const Target& target) {
      targets[count++] = target;
      if (count == outputs) train_targets();
    });
    train_targets();
  }

 private:
  template <class Task, class InputRow>
  static WORDLOOM_BOTH void train_tile(const Task& task, const Target* targets,
                                       const InputRow& input_row) {
    const auto& team = task.team;
    const auto own = [&](std::uint32_t r) { return task.memory + r * Task::row_size; };
    typename Task::Row x, y, change;
    std::uint32_t positives = 0;  // as bits
    for (std::uint32_t o = 0; o < outputs; ++o) {
      team.load(y, targets[o].row);
      team.store_own(own(o), y);
      positives |= static_cast<std::uint32_t>(targets[o].positive) << o;
      if (task.sentence.with_loss) task.loss.examples += targets[o].examples * contexts;
    }
    for (std::uint32_t c = 0; c < contexts; ++c) {
      team.load(x, input_row(c));
      team.store_own(own(outputs + c), x);
    }
    constexpr std::size_t pairs = std::size_t{outputs} * contexts;
    static_assert(pairs == 32, "thread l has the sum of pair l");
    typename Task::Team::template Lanes<float> sums[pairs];
    WORDLOOM_UNROLL
    for (std::uint32_t o = 0; o < outputs; ++o) {
      team.load_own(y, own(o));
      WORDLOOM_UNROLL
      for (std::uint32_t c = 0; c < contexts; ++c) {
        team.load_own(x, own(outputs + c));
        sums[o * contexts + c] = partial_dot(x, y);
      }
    }
    transposed_sums<false, 16, pairs>(team, sums);
    const auto always = [](int, std::uint32_t) { return true; };
    gradients<1>(
        task, sums,
        [&](int l, std::uint32_t) {
          return (positives >> (static_cast<std::uint32_t>(l) / contexts) & 1u) != 0;
        },
        always, always);
    const auto gradient_of = [&](std::uint32_t o, std::uint32_t c) {
      return team.from(sums[0], static_cast<int>(o * contexts + c));
    };
    for (std::uint32_t o = 0; o < outputs; ++o) {
      clear_row(team, change);
      for (std::uint32_t c = 0; c < contexts; ++c) {
        team.load_own(x, own(outputs + c));
        add_scaled(change, gradient_of(o, c), x);
      }
      team.add(targets[o].row, change);
    }
    for (std::uint32_t c = 0; c < contexts; ++c) {
      clear_row(team, change);
      for (std::uint32_t o = 0; o < outputs; ++o) {
        team.load_own(y, own(o));
        add_scaled(change, gradient_of(o, c), y);
      }
      team.add(input_row(c), change);
    }
  }

  template <class Task>
  static WORDLOOM_BOTH void train_pair(const Task& task, const Target& target, float* input) {
    typename Task::Row x, y;
    task.team.load(x, input);
    task.team.load(y, target.row);
    const float g = task.gradient(x, y, target.positive, target.examples);
    task.add_product(input, g, y);
    task.add_product(target.row, g, x);
  }
};

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
