#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include <wordloom/core/host_device.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/cuda/arithmetic.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sync/combine.hpp>
#include <wordloom/sync/expected_pairs.hpp>

namespace wordloom::cuda {

/// What a SyncPolicy is told of a model on a device. `Machine`: how to use the device.
template <class Machine>
struct DeviceReplica {
  Machine machine;
  ModelView view;
  std::size_t rows;
};

/// Two matrices [rows x stride] one after the other.
struct RowPair {
  float* data;
  std::size_t rows, stride;

  WORDLOOM_BOTH float* row(std::uint32_t matrix, std::size_t i) const {
    return data + (matrix * rows + i) * stride;
  }
};

/// What travels: sums [count][2][stride], numbers [count][2][2] (whether the row was changed, the
/// squared norm of its change), a flag.
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

/// The work of one team for one row: what it has become more than it was.
struct TakeChange {
  ModelView model;
  RowPair base;
  ChangesView changes;
  float* own;
  float flag;

  template <class Team>
  WORDLOOM_BOTH void operator()(const Team& team, std::uint32_t item) const {
    const WordId word = changes.first + item;
    for (std::uint32_t matrix = 0; matrix < 2; ++matrix) {
      const float* const row = matrix == 0 ? model.input_row(word) : model.output_row(word);
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
      team.each([&](int l) {
        if (l == 0) changes.numbers(item, matrix)[0] = square > 0 ? 1.0f : 0.0f;
        if (l == 0) changes.numbers(item, matrix)[1] = square;
        return 0;
      });
    }
    team.each([&](int l) {
      if (l == 0 && item == 0) *changes.flag() = flag;
      return 0;
    });
  }
};

/// What the first rows of each matrix have in common: see CommonDirection.
struct CommonView {
  RowPair base;
  const float* pairs;  // [2][rows]
  std::uint32_t count;
  float* direction;  // [2][stride], of any length
  float* along;      // [2][count], of each row along that
  float* scale;      // [2][2]: 1 / the length of direction, and CommonDirection::square
};

/// For 32 columns of a matrix.
struct CommonSum {
  CommonView common;

  template <class Team>
  WORDLOOM_BOTH void operator()(const Team& team, std::uint32_t item) const {
    const auto parts = static_cast<std::uint32_t>(common.base.stride / Team::width);
    const std::uint32_t matrix = item / parts, c = item % parts * Team::width;
    const float* const pairs = common.pairs + matrix * common.base.rows;
    typename Team::template Lanes<float> sum[1], x[1];
    clear_row(team, sum);
    for (std::uint32_t i = 0; i < common.count; ++i) {
      team.load_own(x, common.base.row(matrix, i) + c);
      add_scaled(sum, pairs[i], x);
    }
    team.store_own(common.direction + matrix * common.base.stride + c, sum);
  }
};

/// For a row.
struct CommonPart {
  CommonView common;

  template <class Team>
  WORDLOOM_BOTH void operator()(const Team& team, std::uint32_t item) const {
    const std::uint32_t matrix = item / common.count;
    const float* const row = common.base.row(matrix, item % common.count);
    const float* const direction = common.direction + matrix * common.base.stride;
    auto products = team.each([](int) { return 0.0f; });
    for (std::size_t c = 0; c < common.base.stride; c += Team::width) {
      typename Team::template Lanes<float> x[1], y[1];
      team.load_own(x, row + c);
      team.load_own(y, direction + c);
      products = products + x[0] * y[0];
    }
    const float product = team.sum(products);
    team.each([&](int l) {
      if (l == 0) common.along[item] = product;
      return 0;
    });
  }
};

/// For a matrix.
struct CommonScale {
  CommonView common;

  template <class Team>
  WORDLOOM_BOTH void operator()(const Team& team, std::uint32_t matrix) const {
    const float* const pairs = common.pairs + matrix * common.base.rows;
    const float* const along = common.along + matrix * common.count;
    const float* const direction = common.direction + matrix * common.base.stride;
    // Sums over what each thread of the team has of `count` values.
    const auto sum_of = [&](std::size_t count, auto value) {
      return team.sum(team.each([&](int l) {
        float sum = 0;
        for (auto i = static_cast<std::size_t>(l); i < count; i += Team::width) sum += value(i);
        return sum;
      }));
    };
    const float square =
        sum_of(common.base.stride, [&](std::size_t i) { return direction[i] * direction[i]; });
    const float squares =
        sum_of(common.count, [&](std::size_t i) { return pairs[i] * along[i] * along[i]; });
    const float weights = sum_of(common.count, [&](std::size_t i) { return pairs[i]; });
    team.each([&](int l) {
      if (l == 0) common.scale[2 * matrix] = square > 0 ? 1 / std::sqrt(square) : 0.0f;
      if (l == 0) common.scale[2 * matrix + 1] = square > 0 ? squares / square / weights : 0.0f;
      return 0;
    });
  }
};

/// For a row: the sums become what all ranks add, and are added.
template <class Combine>
struct PutChange {
  ModelView model;
  ChangesView changes;
  const float* own;
  CommonView common;
  float* agreed;  // [rows] progress at which each was agreed on last
  float ranks, progress, rates;

  template <class Team>
  WORDLOOM_BOTH void operator()(const Team& team, std::uint32_t item) const {
    const WordId word = changes.first + item;
    const float steps = rates * (progress - agreed[word]);
    for (std::uint32_t matrix = 0; matrix < 2; ++matrix) {
      const std::uint32_t partners = 1 - matrix;
      const float* const sum = changes.sum(item, matrix);
      const float* const direction = common.direction + partners * changes.stride;
      const float touched = changes.numbers(item, matrix)[0];
      typename Team::template Lanes<float> x[1], y[1], z[1];
      float rest = 1, of_direction = 0;
      if (touched > 0) {
        auto products = team.each([](int) { return 0.0f; }), squares = products;
        for (std::size_t c = 0; c < changes.stride; c += Team::width) {
          team.load_own(x, sum + c);
          team.load_own(y, direction + c);
          products = products + x[0] * y[0];
          squares = squares + x[0] * x[0];
        }
        const float scale = common.scale[2 * partners];
        const float along = scale * team.sum(products);
        const float pairs = common.pairs[matrix * common.base.rows + word];
        const Gains gains =
            Combine::gains({ranks, touched, changes.numbers(item, matrix)[1], team.sum(squares),
                            along, steps * pairs * common.scale[2 * partners + 1]});
        rest = gains.rest;
        of_direction = scale * along * (gains.along - gains.rest);
      }
      float* const base = common.base.row(matrix, word);
      float* const row = matrix == 0 ? model.input_row(word) : model.output_row(word);
      for (std::size_t c = 0; c < changes.stride; c += Team::width) {
        team.load_own(x, sum + c);
        x[0] = rest * x[0];
        if (of_direction != 0) {
          team.load_own(y, direction + c);
          add_scaled(x, of_direction, y);
        }
        // As put_change of the host: a row that has not been changed since becomes its base.
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
    team.each([&](int l) {
      if (l == 0) agreed[word] = progress;
      return 0;
    });
  }
};

/// The `Rows` of Allreduce for a model on a device: does there what HostRows does on the host.
/// All work is put into the order of the machine: what comes after sees it done.
template <class Machine>
class DeviceRows {
  template <class T>
  using Array = typename Machine::template Array<T>;

 public:
  using Replica = DeviceReplica<Machine>;
  using Values = typename Machine::Values;

  void begin(const Model& model, const Hyperparameters& parameters) {
    const detail::ExpectedPairs pairs(model.vocabulary, parameters);
    pairs_on_host_ = pairs.input;
    pairs_on_host_.insert(pairs_on_host_.end(), pairs.output.begin(), pairs.output.end());
  }
  std::array<Values, 2> all(Replica& model) const {
    const std::size_t floats = model.rows * model.view.stride;
    return {model.machine.values(model.view.input, floats),
            model.machine.values(model.view.output, floats)};
  }
  void remember(Replica& model) {
    const std::size_t floats = model.rows * model.view.stride;
    machine_ = model.machine;
    allocate(base_, 2 * floats);
    machine_->copy(base_.data(), model.view.input, floats);
    machine_->copy(base_.data() + floats, model.view.output, floats);
    allocate(pairs_, pairs_on_host_.size());
    machine_->upload(pairs_, pairs_on_host_);
    const std::size_t count = common_rows(model.rows);
    allocate(common_, 2 * model.view.stride + 2 * count + 4);
    allocate(agreed_, model.rows);
    all_agreed(0);
  }
  void all_agreed(double progress) {
    machine_->upload(agreed_, std::vector<float>(agreed_.size(), static_cast<float>(progress)));
  }

  Values take(Replica& model, std::size_t first, std::size_t last, float flag) {
    const std::size_t rows = last - first, stride = model.view.stride;
    const std::size_t floats = ChangesView::floats(rows, stride);
    if (changes_.size() < floats) {
      allocate(changes_, floats);
      allocate(own_, floats);
    }
    view_ = {changes_.data(), static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(rows),
             stride};
    model.machine.run(rows, TakeChange{model.view, base(model), view_, own_.data(), flag});
    return model.machine.values(changes_.data(), floats);
  }

  template <class Combine>
  float put(Replica& model, std::size_t ranks, double progress, double rates) {
    if (ranks == 1) return model.machine.read(view_.flag());  // rows stay as they are, to the bit
    const std::size_t stride = model.view.stride, count = common_rows(model.rows);
    float* const direction = common_.data();
    const CommonView common{
        base(model), pairs_.data(),          static_cast<std::uint32_t>(count),
        direction,   direction + 2 * stride, direction + 2 * stride + 2 * count};
    model.machine.run(2 * stride / 32, CommonSum{common});
    model.machine.run(2 * count, CommonPart{common});
    model.machine.run(2, CommonScale{common});
    model.machine.run(view_.count,
                      PutChange<Combine>{model.view, view_, own_.data(), common, agreed_.data(),
                                         static_cast<float>(ranks), static_cast<float>(progress),
                                         static_cast<float>(rates)});
    return model.machine.read(view_.flag());
  }

 private:
  static std::size_t common_rows(std::size_t rows) { return std::min(detail::common_rows, rows); }
  RowPair base(const Replica& model) { return {base_.data(), model.rows, model.view.stride}; }
  template <class T>
  static void allocate(Array<T>& array, std::size_t size) {
    array = {};
    array = Array<T>(size);
  }

  std::optional<Machine> machine_;
  std::vector<float> pairs_on_host_;
  Array<float> base_;            // what all ranks agree on
  Array<float> changes_, own_;   // in flight, and as they were taken
  Array<float> pairs_, agreed_;  // see HostRows
  Array<float> common_;          // see CommonView
  ChangesView view_{};           // of what is in flight
};

}  // namespace wordloom::cuda
