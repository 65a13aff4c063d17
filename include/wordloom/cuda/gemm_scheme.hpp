#pragma once
#include <cstddef>
#include <cstdint>

#include <wordloom/cuda/gemm_tile.hpp>
#include <wordloom/cuda/sentence.hpp>

namespace wordloom::cuda {

/// The scheme of PAR-Word2Vec (Moon et al. 2019), as SentenceMinibatch: of each sentence first the
/// positives of all windows (attraction), a window by a warp, then its words in minibatches of
/// `Sampling::minibatch` against `Sampling::shared` negatives of their own (repulsion), by
/// GemmTile. Windows that the warps of a team train at the same time are scored before any of them
/// changes a row. The warps add to shared rows in any order: on a device, results are not
/// bit-identical. For teams of warps.
struct GemmScheme {
  static constexpr std::size_t floats_of_own(const Sampling& sampling, std::size_t row) {
    const std::size_t attraction = std::size_t{32} * places(sampling);
    const std::size_t repulsion = GemmTileShape::floats(row);
    return attraction > repulsion ? attraction : repulsion;
  }

  template <class Task>
  static WORDLOOM_BOTH void train(const Task& task) {
    const Sampling& sampling = task.sampling;
    const std::uint32_t size = task.sentence.size;
    if (size < 2) return;
    attract(task);
    const GemmTile<Task> tile(task);
    constexpr std::uint32_t inputs = GemmTileShape::inputs, outputs = GemmTileShape::outputs;
    const auto min = [](std::uint32_t a, std::uint32_t b) { return a < b ? a : b; };
    std::uint32_t number = 0;
    for (std::uint32_t first = 0; first < size; first += sampling.minibatch, ++number) {
      const std::uint32_t end = first + min(size - first, sampling.minibatch);
      for (std::uint32_t i = first; i < end; i += inputs)
        for (std::uint32_t h = 0; h < sampling.shared; h += outputs)
          tile.train({i, min(end - i, inputs), number * sampling.shared + h,
                      min(sampling.shared - h, outputs)});
    }
  }

 private:
  /// Places of the widest window, its centre among them.
  static WORDLOOM_BOTH constexpr std::uint32_t places(const Sampling& sampling) {
    return 2 * sampling.max_reach + 1;
  }

  /// Trains the positives of all windows. The gradients of a window stay in memory until all warps
  /// have theirs.
  template <class Task>
  static WORDLOOM_BOTH void attract(const Task& task) {
    using Team = typename Task::Team;
    const Team& team = task.team;
    const Sentence& sentence = task.sentence;
    constexpr std::uint32_t warps = Team::threads / Team::width;
    static_assert(warps <= 32);
    const std::uint32_t side = task.sampling.max_reach, all_places = places(task.sampling);
    auto losses = team.each([](int) { return 0.0f; }), positives = losses;
    for (std::uint32_t first = 0; first < sentence.size; first += warps) {
      const auto center =
          team.each([&](int l) { return first + static_cast<std::uint32_t>(l) / Team::width; });
      const auto reach = team.each([&](int l) { return task.reach(team.own(center, l)); });
      const auto output = team.each([&](int l) {
        const std::uint32_t c = team.own(center, l);
        return c < sentence.size ? task.model.output_row(sentence.words[c]) : nullptr;
      });
      // The input row of the word at `place` of a window, null where there is none.
      const auto input_at = [&](std::uint32_t place) {
        return team.each([&](int l) -> float* {
          const std::uint32_t c = team.own(center, l), at = c + place - side;  // may wrap: large
          const std::uint32_t distance = place < side ? side - place : place - side;
          if (c >= sentence.size || at >= sentence.size || distance == 0 ||
              distance > team.own(reach, l))
            return nullptr;
          return task.input_row(at);
        });
      };
      const auto gradient_at = [&](std::uint32_t place, int l) -> float& {
        return task.memory[static_cast<std::uint32_t>(l) / Team::width * all_places + place];
      };
      typename Task::Row x, y, change;
      team.load(y, output);
      task.clear(change);
      for (std::uint32_t place = 0; place < all_places; ++place) {
        const auto input = input_at(place);
        team.load(x, input);
        const auto score = team.row_sums(task.partial_dot(x, y));
        const auto pair = [&](int l) { return FloatPair(team.own(score, l), pair_weight(true)); };
        const auto g = team.each([&](int l) {
          const bool is_pair = team.own(input, l) != nullptr;
          const float own = is_pair ? pair(l).gradient(sentence.learning_rate) : 0;
          if (l % Team::width == 0) gradient_at(place, l) = own;
          return own;
        });
        add_scaled(change, g, x);
        if (sentence.with_loss) {
          const auto counts = [&](int l) {
            return l % Team::width == 0 && team.own(input, l) != nullptr;
          };
          losses = losses + team.each([&](int l) { return counts(l) ? pair(l).loss() : 0.0f; });
          positives = positives + team.each([&](int l) { return counts(l) ? 1.0f : 0.0f; });
        }
      }
      team.barrier();
      for (std::uint32_t place = 0; place < all_places; ++place) {
        const auto g = team.each([&](int l) { return gradient_at(place, l); });
        task.clear(x);
        add_scaled(x, g, y);
        team.add(input_at(place), x);
      }
      team.add(output, change);
      team.barrier();
    }
    if (!sentence.with_loss) return;
    task.loss.sum += team.sum(losses);
    task.loss.positives += team.sum(positives);
  }
};

}  // namespace wordloom::cuda
