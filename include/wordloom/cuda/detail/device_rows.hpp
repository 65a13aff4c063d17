#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <wordloom/core/types.hpp>
#include <wordloom/cuda/detail/sentence.hpp>
#include <wordloom/cuda/detail/team.hpp>
#include <wordloom/sync/replica_rows.hpp>

/// The rows of a model on a device, for ReplicaRows.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// A team of 32 threads with the functions of simd::RowChangeFunctions, for rows of a multiple of
/// 32 floats.
template <class Team>
struct RowTeam : Team {
  using Team::Team;
  using Lanes = typename Team::template Lanes<float>;

  /// Reads in the first thread, which may write there later.
  WORDLOOM_BOTH float read(const float* from) const {
    return this->from(this->each([&](int l) { return l == 0 ? *from : 0.0f; }), 0);
  }
  WORDLOOM_BOTH void write(float* to, float value) const {
    this->each([&](int l) {
      if (l == 0) *to = value;
      return 0;
    });
  }
  /// Returns the sum of value(i) over all i below `count`.
  template <class Value>
  WORDLOOM_BOTH float sum_of(std::size_t count, Value value) const {
    return this->sum(this->each([&](int l) {
      float sum = 0;
      for (auto i = static_cast<std::size_t>(l); i < count; i += Team::width) sum += value(i);
      return sum;
    }));
  }

  WORDLOOM_BOTH float take_change(const float* row, const float* base, float* change, float* own,
                                  std::size_t size) const {
    auto squares = this->each([](int) { return 0.0f; });
    for (std::size_t c = 0; c < size; c += Team::width) {
      Lanes x[1], y[1];
      this->load(x, row + c);
      this->load_own(y, base + c);
      x[0] = x[0] - y[0];
      this->store_own(change + c, x);
      this->store_own(own + c, x);
      squares = squares + x[0] * x[0];
    }
    return this->sum(squares);
  }
  WORDLOOM_BOTH void put_change(float* row, float* base, const float* change, const float* own,
                                std::size_t size) const {
    for (std::size_t c = 0; c < size; c += Team::width) {
      Lanes before[1], after[1], x[1], taken[1];
      this->load_own(before, base + c);
      this->load_own(after, change + c);
      this->load(x, row + c);
      this->load_own(taken, own + c);
      after[0] = before[0] + after[0];
      x[0] = after[0] + ((x[0] - before[0]) - taken[0]);
      this->store_own(base + c, after);
      this->store_own(row + c, x);
    }
  }
  WORDLOOM_BOTH float dot(const float* a, const float* b, std::size_t size) const {
    return sum_of(size, [&](std::size_t i) { return a[i] * b[i]; });
  }
  WORDLOOM_BOTH void mix(float* a, float by, const float* b, float of_b, std::size_t size) const {
    for (std::size_t c = 0; c < size; c += Team::width) {
      Lanes x[1], y[1];
      this->load_own(x, a + c);
      this->load_own(y, b + c);
      x[0] = by * x[0] + of_b * y[0];
      this->store_own(a + c, x);
    }
  }
};

/// The three parts of find_common, each of which needs the complete result of the one before: the
/// sum of 32 columns of a matrix, the products of its rows with that direction, and `scale`.
struct CommonSum {
  detail::RowsView view;

  template <class Team>
  WORDLOOM_BOTH void operator()(const Team& team, std::uint32_t item) const {
    const std::size_t parts = view.columns / Team::width, matrix = item / parts;
    const std::size_t c = item % parts * Team::width;
    typename Team::Lanes sum[1] = {team.each([](int) { return 0.0f; })}, x[1];
    for (std::size_t i = 0; i < view.common_rows(matrix); ++i) {
      team.load_own(x, view.base[matrix] + i * view.stride + c);
      add_scaled(sum, view.expected[matrix][i], x);
    }
    team.store_own(view.direction_of(matrix) + c, sum);
  }
};
struct CommonPart {
  detail::RowsView view;

  template <class Team>
  WORDLOOM_BOTH void operator()(const Team& team, std::uint32_t item) const {
    const std::size_t matrix = item / detail::RowsView::max_common_rows;
    const std::size_t i = item % detail::RowsView::max_common_rows;
    if (i >= view.rows[matrix]) return;
    team.write(view.along + item, team.dot(view.base[matrix] + i * view.stride,
                                           view.direction_of(matrix), view.columns));
  }
};
struct CommonScale {
  detail::RowsView view;

  template <class Team>
  WORDLOOM_BOTH void operator()(const Team& team, std::uint32_t matrix) const {
    const std::size_t count = view.common_rows(matrix);
    const float* const expected = view.expected[matrix];
    const float* const along = view.along + matrix * detail::RowsView::max_common_rows;
    const float* const direction = view.direction_of(matrix);
    const float square = team.dot(direction, direction, view.columns);
    const float squares =
        team.sum_of(count, [&](std::size_t i) { return expected[i] * along[i] * along[i]; });
    const float weights = team.sum_of(count, [&](std::size_t i) { return expected[i]; });
    team.write(view.scale + 2 * matrix, square > 0 ? 1 / std::sqrt(square) : 0.0f);
    team.write(view.scale + 2 * matrix + 1, square > 0 ? squares / square / weights : 0.0f);
  }
};

/// The model of a run on a device, for a SyncPolicy: `Machine` holds it and runs work there.
template <class Machine>
struct DeviceReplica : Machine {
  using Replica = DeviceReplica;
  using Values = typename Machine::Values;

  ModelView view;
  std::size_t rows[2];  // of the input and the output

  static std::vector<Values> all(const Replica& replica) {
    const auto values = [&](float* matrix, std::size_t count) {
      return replica.values(matrix, count * replica.view.stride);
    };
    return {values(replica.view.input, replica.rows[0]),
            values(replica.view.output, replica.rows[1])};
  }
  static Replica bind(const Replica& replica, detail::RowsView& rows_view) {
    replica.make_current();
    rows_view.model[0] = replica.view.input;
    rows_view.model[1] = replica.view.output;
    rows_view.stride = rows_view.columns = replica.view.stride;
    return replica;
  }
  void find_common(const detail::RowsView& rows_view) const {
    this->run(2 * rows_view.columns / 32, CommonSum{rows_view});
    this->run(2 * detail::RowsView::max_common_rows, CommonPart{rows_view});
    this->run(2, CommonScale{rows_view});
  }
};

/// The rows of a model on a device.
template <class Machine>
using DeviceRows = detail::ReplicaRows<DeviceReplica<Machine>>;

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
