#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <wordloom/core/host_device.hpp>
#include <wordloom/cuda/sentence.hpp>
#include <wordloom/sync/combine.hpp>

/// The parallel parts of DeviceRows: each is a function of (team, item) that a Machine runs for
/// many items, each by one team of 32 threads.
namespace wordloom::cuda {

/// Calls work() in the first thread of a team.
template <class Team, class Work>
WORDLOOM_BOTH void by_first(const Team& team, Work work) {
  team.each([&](int l) {
    if (l == 0) work();
    return 0;
  });
}

/// Returns the sum of value(i) over all i below `count`.
template <class Team, class Value>
WORDLOOM_BOTH float sum_of(const Team& team, std::size_t count, Value value) {
  return team.sum(team.each([&](int l) {
    float sum = 0;
    for (auto i = static_cast<std::size_t>(l); i < count; i += Team::width) sum += value(i);
    return sum;
  }));
}

/// The floats that ranks exchange for `count` rows of each matrix: changes [count][2][stride],
/// numbers [count][2][2] (whether the row was changed, and the squared norm of its change), a flag.
struct ChangesView {
  float* sums;
  std::uint32_t first, count;  // rows
  std::size_t stride;

  WORDLOOM_BOTH static std::size_t floats(std::size_t count, std::size_t stride) {
    return count * 2 * (stride + 2) + 1;
  }
  WORDLOOM_BOTH float* sum(std::uint32_t item, std::uint32_t matrix) const {
    return sums + (std::size_t{2} * item + matrix) * stride;
  }
  WORDLOOM_BOTH float* numbers(std::uint32_t item, std::uint32_t matrix) const {
    return sums + std::size_t{2} * count * stride + std::size_t{4} * item + 2 * matrix;
  }
  WORDLOOM_BOTH float* flag() const { return sums + floats(count, stride) - 1; }
};

/// Work for one word: takes the changes of its rows since ranks last agreed.
struct TakeChange {
  ModelView model;
  ModelView base;
  ChangesView changes;
  float* own;
  float flag;

  template <class Team>
  WORDLOOM_BOTH void operator()(const Team& team, std::uint32_t item) const {
    const WordId word = changes.first + item;
    for (std::uint32_t matrix = 0; matrix < 2; ++matrix) {
      const float* const row = model.row(matrix, word);
      float* const change = changes.sum(item, matrix);
      auto squares = team.each([](int) { return 0.0f; });
      for (std::size_t c = 0; c < changes.stride; c += Team::width) {
        typename Team::template Lanes<float> x[1], y[1];
        team.load(x, row + c);
        team.load_own(y, base.row(matrix, word) + c);
        x[0] = x[0] - y[0];
        team.store_own(change + c, x);
        team.store_own(own + (change - changes.sums) + c, x);
        squares = squares + x[0] * x[0];
      }
      const float square = team.sum(squares);
      by_first(team, [&] {
        changes.numbers(item, matrix)[0] = square > 0 ? 1.0f : 0.0f;
        changes.numbers(item, matrix)[1] = square;
        if (item == 0) *changes.flag() = flag;
      });
    }
  }
};

/// The common direction of the first `count` rows of each matrix (see CommonDirection).
struct CommonView {
  ModelView base;
  const float* expected;  // [2][rows] ExpectedUpdates
  std::size_t rows;
  std::uint32_t count;
  float* direction;  // [2][stride], of any length
  float* along;      // [2][count], products of direction with each row
  float* scale;      // [2][2]: 1 / the length of direction, and CommonDirection::square
};

/// Work for 32 columns of a matrix: the sum that is its direction.
struct CommonSum {
  CommonView common;

  template <class Team>
  WORDLOOM_BOTH void operator()(const Team& team, std::uint32_t item) const {
    const auto parts = static_cast<std::uint32_t>(common.base.stride / Team::width);
    const std::uint32_t matrix = item / parts, c = item % parts * Team::width;
    const float* const expected = common.expected + matrix * common.rows;
    typename Team::template Lanes<float> sum[1] = {team.each([](int) { return 0.0f; })}, x[1];
    for (std::uint32_t i = 0; i < common.count; ++i) {
      team.load_own(x, common.base.row(matrix, i) + c);
      add_scaled(sum, expected[i], x);
    }
    team.store_own(common.direction + matrix * common.base.stride + c, sum);
  }
};

/// Work for one of the rows: its product with the direction.
struct CommonPart {
  CommonView common;

  template <class Team>
  WORDLOOM_BOTH void operator()(const Team& team, std::uint32_t item) const {
    const std::uint32_t matrix = item / common.count;
    const float* const row = common.base.row(matrix, item % common.count);
    const float* const direction = common.direction + matrix * common.base.stride;
    const float product =
        sum_of(team, common.base.stride, [&](std::size_t i) { return row[i] * direction[i]; });
    by_first(team, [&] { common.along[item] = product; });
  }
};

/// Work for one matrix: `scale`.
struct CommonScale {
  CommonView common;

  template <class Team>
  WORDLOOM_BOTH void operator()(const Team& team, std::uint32_t matrix) const {
    const float* const expected = common.expected + matrix * common.rows;
    const float* const along = common.along + matrix * common.count;
    const float* const direction = common.direction + matrix * common.base.stride;
    const float square = sum_of(team, common.base.stride,
                                [&](std::size_t i) { return direction[i] * direction[i]; });
    const float squares = sum_of(team, common.count,
                                 [&](std::size_t i) { return expected[i] * along[i] * along[i]; });
    const float weights = sum_of(team, common.count, [&](std::size_t i) { return expected[i]; });
    by_first(team, [&] {
      common.scale[2 * matrix] = square > 0 ? 1 / std::sqrt(square) : 0.0f;
      common.scale[2 * matrix + 1] = square > 0 ? squares / square / weights : 0.0f;
    });
  }
};

/// Work for one word: turns the sums over ranks into the changes that all add, and adds them.
template <class Combine>
struct PutChange {
  ModelView model;
  ChangesView changes;
  const float* own;
  CommonView common;
  float* agreed;  // [rows] progress at which ranks last agreed on each
  float ranks, progress, rates;

  template <class Team>
  WORDLOOM_BOTH void operator()(const Team& team, std::uint32_t item) const {
    const WordId word = changes.first + item;
    // One thread reads what it writes below.
    const float since =
        progress - team.from(team.each([&](int l) { return l == 0 ? agreed[word] : 0.0f; }), 0);
    const float steps = rates * since;
    for (std::uint32_t matrix = 0; matrix < 2; ++matrix) {
      const std::uint32_t partners = 1 - matrix;
      const float* const sum = changes.sum(item, matrix);
      const float* const direction = common.direction + partners * changes.stride;
      const float touched = changes.numbers(item, matrix)[0];
      typename Team::template Lanes<float> x[1], y[1], z[1];
      float rest = 1, of_direction = 0;
      if (touched > 0) {
        const float scale = common.scale[2 * partners];
        const float along = scale * sum_of(team, changes.stride,
                                           [&](std::size_t i) { return sum[i] * direction[i]; });
        const float square =
            sum_of(team, changes.stride, [&](std::size_t i) { return sum[i] * sum[i]; });
        const float expected = common.expected[matrix * common.rows + word];
        const Gains gains =
            Combine::gains({ranks, touched, changes.numbers(item, matrix)[1], square, along,
                            steps * expected * common.scale[2 * partners + 1]});
        rest = gains.rest;
        of_direction = scale * along * (gains.along - gains.rest);
      }
      float* const base = common.base.row(matrix, word);
      float* const row = model.row(matrix, word);
      for (std::size_t c = 0; c < changes.stride; c += Team::width) {
        team.load_own(x, sum + c);
        x[0] = rest * x[0];
        if (of_direction != 0) {
          team.load_own(y, direction + c);
          add_scaled(x, of_direction, y);
        }
        // As put_change of the host: a row that was not changed meanwhile becomes its base.
        team.load_own(y, base + c);
        x[0] = y[0] + x[0];
        team.store_own(base + c, x);
        team.load(z, row + c);
        z[0] = z[0] - y[0];
        team.load_own(y, own + (sum - changes.sums) + c);
        x[0] = x[0] + (z[0] - y[0]);
        team.store_own(row + c, x);
      }
    }
    by_first(team, [&] { agreed[word] = progress; });
  }
};

}  // namespace wordloom::cuda
