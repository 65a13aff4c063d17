#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

#include <wordloom/cuda/arithmetic.hpp>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"  // int as the size of an array

namespace wordloom::cuda {

/// PAR-Word2Vec on a GPU (Moon et al. 2019), the method of SentenceMinibatch: of each sentence
/// first the positives of all windows (attraction), a window by a warp, then its words in
/// minibatches of `Sampling::minibatch` against `Sampling::shared` negatives of their own
/// (repulsion), as products of tiles of 16 x 32 rows in shared memory. Windows that the warps of a
/// team train at the same time, and the pairs of a tile, are scored before any of them changes a
/// row. For teams of warps.
struct GemmScheme {
  static constexpr std::uint32_t inputs = 16, outputs = 32;  // rows of a tile

  /// For rows of that many floats.
  static constexpr std::size_t floats_of_own(const Sampling& sampling, std::size_t row) {
    const std::size_t attraction = std::size_t{32} * places(sampling);
    return attraction > Tile::floats(row) ? attraction : Tile::floats(row);
  }

  template <int R, class Team>
  static WORDLOOM_BOTH void train(const Team& team, const ModelView& model,
                                  const Sampling& sampling, const Sentence& sentence, float* memory,
                                  PairLoss& loss) {
    if (sentence.size < 2) return;
    Losses<Team> losses(team);
    attract<R>(team, model, sampling, sentence, memory, losses);
    team.barrier();
    const Tile tile(memory, static_cast<std::uint32_t>(Team::width * R));
    std::uint32_t number = 0;
    for (std::uint32_t first = 0; first < sentence.size; first += sampling.minibatch, ++number) {
      const std::uint32_t rest = sentence.size - first;
      const std::uint32_t end = first + (rest < sampling.minibatch ? rest : sampling.minibatch);
      for (std::uint32_t i = first; i < end; i += inputs)
        for (std::uint32_t h = 0; h < sampling.shared; h += outputs)
          repel(team, model, sampling, sentence, tile,
                {i, end - i < inputs ? end - i : inputs, number * sampling.shared + h,
                 sampling.shared - h < outputs ? sampling.shared - h : outputs},
                losses);
    }
    if (!sentence.with_loss) return;
    loss.sum += team.sum(losses.sum);
    loss.positives += team.sum(losses.positives);
  }

 private:
  /// Of each thread.
  template <class Team>
  struct Losses {
    typename Team::template Lanes<float> sum, positives;
    WORDLOOM_BOTH explicit Losses(const Team& team)
        : sum(team.each([](int) { return 0.0f; })), positives(sum) {}
  };

  /// Memory of a tile. Rows and gradients have four floats more than they need, so that threads
  /// that read different ones meet different banks.
  struct Tile {
    float *x, *y;        // [inputs], [outputs] rows of `stride` floats
    float *by_x, *by_y;  // gradients [inputs][outputs + 4] and [outputs][inputs + 4]
    float* weight;       // [inputs]
    float *x_id, *y_id;  // words, as bits
    std::uint32_t row, stride;

    static constexpr std::uint32_t by_x_stride = outputs + 4, by_y_stride = inputs + 4;

    static constexpr std::size_t floats(std::size_t row) {
      return (inputs + outputs) * (row + 4) + std::size_t{inputs} * by_x_stride +
             std::size_t{outputs} * by_y_stride + 2 * inputs + outputs;
    }
    WORDLOOM_BOTH Tile(float* memory, std::uint32_t floats_of_row)
        : row(floats_of_row), stride(floats_of_row + 4) {
      x = memory;
      y = x + inputs * stride;
      by_x = y + outputs * stride;
      by_y = by_x + inputs * by_x_stride;
      weight = by_y + outputs * by_y_stride;
      x_id = weight + inputs;
      y_id = x_id + inputs;
    }
  };

  /// Words `first` to `first` + `words` of a sentence against `negatives` of its negatives.
  struct Part {
    std::uint32_t first, words, first_negative, negatives;
  };

  static WORDLOOM_BOTH constexpr std::uint32_t places(const Sampling& sampling) {
    return 2 * sampling.largest_reach() + 1;
  }

  /// The positives of all windows; gradients of a window wait in memory until those of the other
  /// warps are there.
  template <int R, class Team>
  static WORDLOOM_BOTH void attract(const Team& team, const ModelView& model,
                                    const Sampling& sampling, const Sentence& sentence,
                                    float* memory, Losses<Team>& losses) {
    using Lanes = typename Team::template Lanes<float>;
    constexpr std::uint32_t warps = Team::threads / Team::width;
    static_assert(warps <= 32);
    const std::uint32_t side = sampling.largest_reach();
    for (std::uint32_t first = 0; first < sentence.size; first += warps) {
      const auto center =
          team.each([&](int l) { return first + static_cast<std::uint32_t>(l) / Team::width; });
      const auto reach =
          team.each([&](int l) { return sampling.reach(sentence.random, team.own(center, l)); });
      const auto output = team.each([&](int l) {
        const std::uint32_t c = team.own(center, l);
        return c < sentence.size ? model.output_row(sentence.words[c]) : nullptr;
      });
      // The row of the word at `place` of a window, null where there is none.
      const auto input_at = [&](std::uint32_t place) {
        return team.each([&](int l) -> float* {
          const std::uint32_t c = team.own(center, l), at = c + place - side;  // may wrap: large
          const std::uint32_t distance = place < side ? side - place : place - side;
          if (c >= sentence.size || at >= sentence.size || distance == 0 ||
              distance > team.own(reach, l))
            return nullptr;
          return model.input_row(sentence.words[at]);
        });
      };
      const auto gradient_at = [&](std::uint32_t place, int l) -> float& {
        return memory[static_cast<std::uint32_t>(l) / Team::width * places(sampling) + place];
      };
      Lanes y[R], change[R];
      team.load(y, output);
      WORDLOOM_UNROLL
      for (int r = 0; r < R; ++r) change[r] = team.each([](int) { return 0.0f; });
      for (std::uint32_t place = 0; place < places(sampling); ++place) {
        Lanes x[R];
        const auto input = input_at(place);
        team.load(x, input);
        const auto score = team.row_sums(partial_dot<R>(team, x, y));
        const auto g = team.each([&](int l) {
          const bool is_pair = team.own(input, l) != nullptr;
          const float own =
              is_pair ? gradient(team.own(score, l), true, sentence.learning_rate) : 0;
          if (l % Team::width == 0) gradient_at(place, l) = own;
          return own;
        });
        WORDLOOM_UNROLL
        for (int r = 0; r < R; ++r) change[r] = change[r] + g * x[r];
        if (sentence.with_loss) {
          const auto counts = [&](int l) {
            return l % Team::width == 0 && team.own(input, l) != nullptr;
          };
          losses.sum = losses.sum + team.each([&](int l) {
            return counts(l) ? minus_log_sigmoid(team.own(score, l)) : 0.0f;
          });
          losses.positives =
              losses.positives + team.each([&](int l) { return counts(l) ? 1.0f : 0.0f; });
        }
      }
      team.barrier();
      for (std::uint32_t place = 0; place < places(sampling); ++place) {
        Lanes x_change[R];
        const auto g = team.each([&](int l) { return gradient_at(place, l); });
        WORDLOOM_UNROLL
        for (int r = 0; r < R; ++r) x_change[r] = g * y[r];
        team.add(input_at(place), x_change);
      }
      team.add(output, change);
      team.barrier();
    }
  }

  /// In how many windows the word at `position` is context.
  static WORDLOOM_BOTH std::uint32_t windows_of(const Sampling& sampling, const Sentence& sentence,
                                                std::uint32_t position) {
    const WindowRange near(position, sampling.largest_reach(), sentence.size);
    std::uint32_t count = 0;
    for (std::uint32_t center = near.first; center < near.end; ++center) {
      const std::uint32_t distance = center < position ? position - center : center - position;
      if (distance != 0 && distance <= sampling.reach(sentence.random, center)) ++count;
    }
    return count;
  }

  template <class Team>
  static WORDLOOM_BOTH void repel(const Team& team, const ModelView& model,
                                  const Sampling& sampling, const Sentence& sentence,
                                  const Tile& tile, const Part& part, Losses<Team>& losses) {
    constexpr auto threads = static_cast<std::uint32_t>(Team::threads);
    const std::uint32_t quads = tile.row / 4;
    const auto left = [](std::uint32_t count, std::uint32_t from) {
      return from < count ? count - from : 0;
    };
    const auto word_of = [](const float* id) { return std::bit_cast<WordId>(*id); };
    team.each([&](int l) {
      for (auto i = static_cast<std::uint32_t>(l); i < inputs + outputs; i += threads) {
        if (i < inputs) {
          if (i >= part.words) continue;
          tile.x_id[i] = std::bit_cast<float>(sentence.words[part.first + i]);
          tile.weight[i] = static_cast<float>(sampling.per_window) /
                           static_cast<float>(sampling.shared) *
                           static_cast<float>(windows_of(sampling, sentence, part.first + i));
        } else if (i - inputs < part.negatives) {
          tile.y_id[i - inputs] = std::bit_cast<float>(
              sampling.negative(sentence.random, part.first_negative + i - inputs, no_word));
        }
      }
      return 0;
    });
    team.barrier();
    // Rows that are not there are zeros: their gradients change nothing and are not added.
    team.each([&](int l) {
      for (auto i = static_cast<std::uint32_t>(l); i < (inputs + outputs) * quads; i += threads) {
        const std::uint32_t r = i / quads, column = i % quads * 4;
        const bool is_input = r < inputs;
        const std::uint32_t in_matrix = is_input ? r : r - inputs;
        Quad value{};
        if (is_input && in_matrix < part.words)
          value = team.load_quad(model.input_row(word_of(tile.x_id + in_matrix)) + column);
        else if (!is_input && in_matrix < part.negatives)
          value = team.load_quad(model.output_row(word_of(tile.y_id + in_matrix)) + column);
        Quad::store((is_input ? tile.x : tile.y) + in_matrix * tile.stride + column, value);
      }
      return 0;
    });
    team.barrier();
    // Scores: 2 x 2 of them at a time.
    losses.sum = losses.sum + team.each([&](int l) {
      float loss = 0;
      constexpr std::uint32_t half = outputs / 2;
      for (auto i = static_cast<std::uint32_t>(l); i < inputs / 2 * half; i += threads) {
        const std::uint32_t b = i / half * 2, h = i % half;
        const float *x0 = tile.x + b * tile.stride, *x1 = x0 + tile.stride;
        const float *y0 = tile.y + h * tile.stride, *y1 = y0 + half * tile.stride;
        float score[2][2] = {};
        for (std::uint32_t column = 0; column < tile.row; column += 4) {
          const Quad xs[2] = {Quad::load(x0 + column), Quad::load(x1 + column)};
          const Quad ys[2] = {Quad::load(y0 + column), Quad::load(y1 + column)};
          WORDLOOM_UNROLL
          for (int d = 0; d < 4; ++d) {
            score[0][0] += xs[0].at[d] * ys[0].at[d];
            score[0][1] += xs[0].at[d] * ys[1].at[d];
            score[1][0] += xs[1].at[d] * ys[0].at[d];
            score[1][1] += xs[1].at[d] * ys[1].at[d];
          }
        }
        WORDLOOM_UNROLL
        for (std::uint32_t p = 0; p < 4; ++p) {
          const std::uint32_t at_x = b + p / 2, at_y = h + p % 2 * half;
          float g = 0;
          if (at_x < part.words && at_y < part.negatives) {
            const float s = score[p / 2][p % 2], weight = tile.weight[at_x];
            g = gradient(s, false, sentence.learning_rate * weight);
            if (sentence.with_loss) loss += weight * minus_log_sigmoid(-s);
          }
          tile.by_x[at_x * Tile::by_x_stride + at_y] = g;
          tile.by_y[at_y * Tile::by_y_stride + at_x] = g;
        }
      }
      return loss;
    });
    team.barrier();
    // Changes: four rows x four columns at a time.
    team.each([&](int l) {
      for (auto i = static_cast<std::uint32_t>(l); i < (inputs + outputs) / 4 * quads;
           i += threads) {
        const std::uint32_t r = i / quads * 4, column = i % quads * 4;
        if (r < inputs)
          add_changes(team, tile.by_y + r, Tile::by_y_stride, tile.y + column, tile.stride,
                      part.negatives, left(part.words, r), [&](std::uint32_t k) {
                        return model.input_row(word_of(tile.x_id + r + k)) + column;
                      });
        else
          add_changes(team, tile.by_x + (r - inputs), Tile::by_x_stride, tile.x + column,
                      tile.stride, part.words, left(part.negatives, r - inputs),
                      [&](std::uint32_t k) {
                        return model.output_row(word_of(tile.y_id + (r - inputs) + k)) + column;
                      });
      }
      return 0;
    });
    team.barrier();
  }

  /// Adds to four columns of up to four rows: gradients [count x 4] transposed times rows [count].
  template <class Team, class RowOf>
  static WORDLOOM_BOTH void add_changes(const Team& team, const float* gradients,
                                        std::uint32_t gradient_stride, const float* rows,
                                        std::uint32_t stride, std::uint32_t count,
                                        std::uint32_t changed, RowOf&& row_of) {
    if (changed == 0) return;
    Quad change[4] = {};
    for (std::uint32_t i = 0; i < count; ++i) {
      const Quad g = Quad::load(gradients + i * gradient_stride);
      const Quad row = Quad::load(rows + i * stride);
      WORDLOOM_UNROLL
      for (int k = 0; k < 4; ++k) {
        WORDLOOM_UNROLL
        for (int d = 0; d < 4; ++d) change[k].at[d] += g.at[k] * row.at[d];
      }
    }
    WORDLOOM_UNROLL
    for (std::uint32_t k = 0; k < 4; ++k)
      if (k < changed) team.add_quad(row_of(k), change[k]);
  }
};

}  // namespace wordloom::cuda

#pragma GCC diagnostic pop
