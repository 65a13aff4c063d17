#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>
#include <wordloom/cuda/detail/sampling.hpp>
#include <wordloom/cuda/detail/sentence.hpp>

/// The schemes of kernels on a device in plain double precision.
namespace schemes {

using namespace wordloom;
using namespace wordloom::cuda;

inline constexpr std::size_t words = 40;

inline std::vector<double> weights() {
  std::vector<double> result;
  for (std::size_t i = 0; i < words; ++i) result.push_back(1.0 / static_cast<double>(i + 1));
  return result;
}

struct Case {
  detail::AliasTable table{weights()};
  Sampling sampling;
  std::vector<WordId> sentence;
  SentenceRandom random{7, 3, 1};
  std::size_t dimension;
  std::vector<float> input, output;

  Case(std::size_t length, std::uint32_t window, std::uint32_t negatives, bool fixed,
       std::size_t row)
      : sampling{{table.entries().data(), static_cast<std::uint32_t>(words)},
                 fixed ? (window + 1) / 2 : window,
                 negatives,
                 fixed},
        dimension(row),
        input(words * row),
        output(words * row) {
    Random any(length + 1);
    // Few words, so that they come again within a window.
    for (std::size_t i = 0; i < length; ++i)
      sentence.push_back(static_cast<WordId>(any.below(words / 2)));
    for (auto* matrix : {&input, &output})
      for (float& x : *matrix) x = static_cast<float>(any.uniform() - 0.5) * 0.4f;
  }
};

/// The model in double precision.
struct Oracle {
  const Case& task;
  std::vector<double> input, output;
  double loss = 0, positives = 0;
  std::size_t ring_reach;  // how far from the centre rows are kept in a ring
  static constexpr double rate = 0.1;

  explicit Oracle(const Case& c)
      : task(c),
        input(c.input.begin(), c.input.end()),
        output(c.output.begin(), c.output.end()),
        ring_reach(c.sampling.max_reach) {}

  using Row = std::vector<double>;
  Row row(const std::vector<double>& matrix, WordId word) const {
    const auto first = matrix.begin() + static_cast<std::ptrdiff_t>(word * task.dimension);
    return Row(first, first + static_cast<std::ptrdiff_t>(task.dimension));
  }
  void add(std::vector<double>& matrix, WordId word, const Row& change) const {
    for (std::size_t d = 0; d < task.dimension; ++d) matrix[word * task.dimension + d] += change[d];
  }
  static Row scaled(double factor, Row x) {
    for (double& value : x) value *= factor;
    return x;
  }
  static void add_to(Row& to, double factor, const Row& x) {
    for (std::size_t d = 0; d < to.size(); ++d) to[d] += factor * x[d];
  }
  static Row difference(const Row& a, const Row& b) {
    Row result = a;
    add_to(result, -1.0, b);
    return result;
  }
  double gradient(const Row& x, const Row& y, bool positive) {
    double score = 0;
    for (std::size_t d = 0; d < x.size(); ++d) score += x[d] * y[d];
    loss += std::log1p(std::exp(positive ? -score : score));
    positives += positive ? 1 : 0;
    return ((positive ? 1.0 : 0.0) - 1.0 / (1.0 + std::exp(-score))) * rate;
  }
  std::size_t reach(std::size_t center) const {
    return task.sampling.reach(task.random, static_cast<std::uint32_t>(center));
  }
  std::vector<std::size_t> contexts(std::size_t center) const {
    std::vector<std::size_t> result;
    for (std::size_t i = center - std::min(center, reach(center));
         i < task.sentence.size() && i <= center + reach(center); ++i)
      if (i != center) result.push_back(i);
    return result;
  }
  /// The positive and the negatives from number `first` on.
  std::vector<WordId> outputs(std::size_t center, std::size_t first) const {
    std::vector<WordId> result{task.sentence[center]};
    for (std::uint32_t k = 0; k < task.sampling.per_window; ++k)
      if (const WordId word = task.sampling.negative(
              task.random, static_cast<std::uint32_t>(first) + k, task.sentence[center]);
          word != no_word)
        result.push_back(word);
    return result;
  }

  void sentence_scheme() {
    for (std::size_t center = 0; center < task.sentence.size(); ++center)
      for (const std::size_t context : contexts(center)) {
        const WordId word = task.sentence[context];
        add(input, word, meet_outputs(center, context, row(input, word)));
      }
  }
  /// Trains the outputs of a pair of words and returns the change of its input.
  Row meet_outputs(std::size_t center, std::size_t context, const Row& x) {
    const std::size_t most = task.sampling.max_reach, k = task.sampling.per_window;
    Row change(task.dimension);
    const auto negatives_from = (center * (2 * most + 1) + context + most - center) * k;
    for (const WordId other : outputs(center, negatives_from)) {
      const Row y = row(output, other);
      const double g = gradient(x, y, other == task.sentence[center]);
      add_to(change, g, y);
      add(output, other, scaled(g, x));
    }
    return change;
  }

  void register_scheme() {
    for (std::size_t center = 0; center < task.sentence.size(); ++center) {
      if (contexts(center).empty()) continue;
      for (const WordId other : outputs(center, center * task.sampling.per_window)) {
        const Row before = row(output, other);
        Row y = before;
        for (const std::size_t context : contexts(center)) {
          const Row x = row(input, task.sentence[context]);
          const double g = gradient(x, y, other == task.sentence[center]);
          add(input, task.sentence[context], scaled(g, y));
          add_to(y, g, x);
        }
        add(output, other, difference(y, before));
      }
    }
  }

  /// Context rows live in a ring. `use(center, rows)` trains one window.
  void ring(const std::function<void(std::size_t, std::map<std::size_t, Row>&)>& use) {
    const std::size_t size = task.sentence.size(), most = ring_reach;
    if (size < 2) return;
    std::map<std::size_t, Row> rows, loaded;
    const auto leave = [&](std::size_t i) {
      add(input, task.sentence[i], difference(rows.at(i), loaded.at(i)));
      rows.erase(i);
    };
    for (std::size_t center = 0; center < size; ++center) {
      if (center > most) leave(center - most - 1);
      for (std::size_t i = center == 0 ? 0 : center + most; i < size && i <= center + most; ++i)
        rows[i] = loaded[i] = row(input, task.sentence[i]);
      use(center, rows);
    }
    while (!rows.empty()) leave(rows.begin()->first);
  }

  void ring_buffer_scheme() {
    ring([&](std::size_t center, std::map<std::size_t, Row>& rows) {
      for (const WordId other : outputs(center, center * task.sampling.per_window))
        meet_window(center, other, rows);
    });
  }
  void meet_window(std::size_t center, WordId other, std::map<std::size_t, Row>& rows) {
    const Row before = row(output, other);
    Row y = before;
    for (const std::size_t context : contexts(center)) {
      Row& x = rows.at(context);
      const Row x_before = x;
      const double g = gradient(x, y, other == task.sentence[center]);
      add_to(x, g, y);
      add_to(y, g, x_before);
    }
    add(output, other, difference(y, before));
  }

  void pair_ring_scheme() {
    ring([&](std::size_t center, std::map<std::size_t, Row>& rows) {
      for (const std::size_t context : contexts(center))
        add_to(rows.at(context), 1, meet_outputs(center, context, rows.at(context)));
    });
  }

  void minibatch_ring_scheme() {
    ring([&](std::size_t center, std::map<std::size_t, Row>& rows) {
      meet_window(center, task.sentence[center], rows);
    });
    repel();
  }

  /// Outputs six at a time: all pairs of these are scored before any changes a row. A row enters
  /// the ring before another leaves it.
  void warp_scheme() {
    const std::size_t size = task.sentence.size(), most = ring_reach, group = 6;
    if (size < 2) return;
    std::map<std::size_t, Row> rows, loaded;
    const auto leave = [&](std::size_t i) {
      add(input, task.sentence[i], difference(rows.at(i), loaded.at(i)));
    };
    for (std::size_t center = 0; center < size; ++center) {
      for (std::size_t i = center == 0 ? 0 : center + most; i < size && i <= center + most; ++i)
        rows[i] = loaded[i] = row(input, task.sentence[i]);
      if (center > most) leave(center - most - 1);
      std::vector<WordId> drawn{task.sentence[center]};  // with those that are left out
      for (std::uint32_t k = 0; k < task.sampling.per_window; ++k)
        drawn.push_back(task.sampling.negative(
            task.random, static_cast<std::uint32_t>(center) * task.sampling.per_window + k,
            task.sentence[center]));
      for (std::size_t first = 0; first < drawn.size(); first += group) {
        std::map<std::size_t, Row> change;
        std::vector<std::pair<WordId, Row>> output_changes;
        for (std::size_t k = first; k < std::min(drawn.size(), first + group); ++k) {
          if (drawn[k] == no_word) continue;
          const Row y = row(output, drawn[k]);
          Row of_y(task.dimension);
          for (const std::size_t context : contexts(center)) {
            const double g = gradient(rows.at(context), y, k == 0);
            add_to(of_y, g, rows.at(context));
            change.try_emplace(context, task.dimension);
            add_to(change[context], g, y);
          }
          output_changes.emplace_back(drawn[k], of_y);
        }
        for (const auto& [context, of_x] : change) add_to(rows.at(context), 1, of_x);
        for (const auto& [word, of_y] : output_changes) add(output, word, of_y);
      }
    }
    for (std::size_t i = size - std::min(size, most + 1); i < size; ++i) leave(i);
  }

  void shared_warp_scheme() {
    ring([&](std::size_t center, std::map<std::size_t, Row>& rows) {
      const auto all = outputs(center, center * task.sampling.per_window);
      Row y = row(output, all[0]);
      for (std::size_t k = 0; k < all.size(); ++k) {
        Row ahead, change(task.dimension);
        if (k + 1 < all.size()) ahead = row(output, all[k + 1]);
        for (const std::size_t context : contexts(center)) {
          Row& x = rows.at(context);
          const double g = gradient(x, y, k == 0);
          add_to(change, g, x);
          add_to(x, g, y);
        }
        add(output, all[k], change);
        y = ahead;
      }
    });
  }

  /// Groups of three words with seven negatives: all pairs are scored before any changes a row.
  void grouped_warp_scheme() {
    const auto size = static_cast<long>(task.sentence.size());
    if (size < 2) return;
    const long group = 3, side = 2, shared = 7;
    std::map<long, Row> rows, loaded;
    const auto is_there = [&](long i) { return i >= 0 && i < size; };
    const auto enter = [&](long i) {
      if (is_there(i)) rows[i] = loaded[i] = row(input, task.sentence[static_cast<std::size_t>(i)]);
    };
    const auto leave = [&](long i) {
      if (!is_there(i)) return;
      add(input, task.sentence[static_cast<std::size_t>(i)], difference(rows.at(i), loaded.at(i)));
      rows.erase(i);
    };
    const double draw = task.random(Purpose::window, 0).x[0] / 4294967296.0;
    const long begin = 1 + static_cast<long>(draw * group) - group;
    for (long i = begin - side; i < begin + side; ++i) enter(i);
    for (long first = begin; first < size; first += group) {
      for (long i = first + side; i < first + side + group; ++i) enter(i);
      for (long i = first - side - group; i < first - side; ++i) leave(i);
      std::vector<long> centers;
      for (long i = first; i < first + group; ++i)
        if (is_there(i)) centers.push_back(i);
      // Words that are not there are taken for the first or the last.
      const auto is_center = [&](WordId word) {
        for (long i = first; i < first + group; ++i)
          if (task.sentence[static_cast<std::size_t>(std::clamp(i, 0L, size - 1))] == word)
            return true;
        return false;
      };
      std::map<long, Row> change;
      std::vector<std::pair<WordId, Row>> output_changes;
      const auto meet = [&](WordId word, bool positive, auto weight_of) {
        const Row y = row(output, word);
        Row of_y(task.dimension);
        for (const auto& [i, x] : rows) {
          const double weight = weight_of(i);
          if (weight == 0) continue;
          const double before = loss, g = weight * gradient(x, y, positive);
          loss = before + weight * (loss - before);
          add_to(of_y, g, x);
          change.try_emplace(i, task.dimension);
          add_to(change[i], g, y);
        }
        output_changes.emplace_back(word, of_y);
      };
      for (const long center : centers)
        meet(task.sentence[static_cast<std::size_t>(center)], true,
             [&](long i) { return i == center ? 0.0 : 1.0; });
      for (long h = 0; h < shared; ++h) {
        const Philox drawn = task.random(Purpose::negative,
                                         static_cast<std::uint32_t>((first + group) * shared + h));
        WordId word = task.sampling.negatives.draw(drawn.x[0], drawn.x[1]);
        if (is_center(word)) word = task.sampling.negatives.draw(drawn.x[2], drawn.x[3]);
        if (is_center(word)) continue;
        meet(word, false, [&](long i) {
          const bool itself = std::ranges::find(centers, i) != centers.end();
          return task.sampling.per_window *
                 (static_cast<double>(centers.size()) - (itself ? 1 : 0)) / shared;
        });
      }
      for (const auto& [i, of_x] : change) add_to(rows.at(i), 1, of_x);
      for (const auto& [word, of_y] : output_changes) add(output, word, of_y);
    }
    while (!rows.empty()) leave(rows.begin()->first);
  }

  void gemm_scheme() {
    const std::size_t size = task.sentence.size(), warps = 4;
    if (size < 2) return;
    for (std::size_t first = 0; first < size; first += warps) {
      const std::vector<double> old_input = input, old_output = output;
      for (std::size_t center = first; center < std::min(size, first + warps); ++center)
        for (const std::size_t context : contexts(center)) {
          const Row x = row(old_input, task.sentence[context]);
          const Row y = row(old_output, task.sentence[center]);
          const double g = gradient(x, y, true);
          add(input, task.sentence[context], scaled(g, y));
          add(output, task.sentence[center], scaled(g, x));
        }
    }
    repel();
  }

  void repel() {
    const std::size_t size = task.sentence.size();
    if (size < 2) return;
    std::vector<double> windows(size);
    for (std::size_t center = 0; center < size; ++center)
      for (const std::size_t context : contexts(center)) windows[context] += 1;
    const std::size_t words_of_batch = task.sampling.minibatch, shared = task.sampling.shared;
    for (std::size_t i = 0, end = 0; i < size; i = end) {
      // The tile ends with its 16 words, its minibatch or the sentence.
      const std::size_t batch = i / words_of_batch;
      end = std::min({size, (batch + 1) * words_of_batch, i + GemmTileShape::inputs});
      for (std::size_t h = 0; h < shared; h += GemmTileShape::outputs) {
        const std::vector<double> old_input = input, old_output = output;
        for (std::size_t n = h; n < std::min(shared, h + GemmTileShape::outputs); ++n) {
          const WordId word = task.sampling.negative(
              task.random, static_cast<std::uint32_t>(batch * shared + n), no_word);
          for (std::size_t b = i; b < end; ++b) {
            const Row x = row(old_input, task.sentence[b]), y = row(old_output, word);
            const double weight =
                task.sampling.per_window * windows[b] / static_cast<double>(shared);
            const double before = loss;
            const double g = weight * gradient(x, y, false);
            loss = before + weight * (loss - before);
            add(input, task.sentence[b], scaled(g, y));
            add(output, word, scaled(g, x));
          }
        }
      }
    }
  }
};

}  // namespace schemes
