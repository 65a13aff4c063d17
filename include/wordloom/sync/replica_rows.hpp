#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sync/combine.hpp>
#include <wordloom/sync/common_direction.hpp>
#include <wordloom/sync/concept.hpp>
#include <wordloom/sync/detail/row_changes.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// The rows that ranks synchronise and the data that they exchange, in the memory of the machine
/// that trains. Arrays of two belong to the input (0) and the output (1). A model of one matrix has
/// only the input.
struct RowsView {
  float* model[2];     // [rows x stride], row-major
  float* base[2];      // [rows x stride]: the state that all ranks agree on
  float* expected[2];  // [rows] ExpectedUpdates
  std::size_t rows[2], stride, columns;
  float* agreed;  // [maximum of rows] progress at the last agreement on each row
  /// [rows] change_of() a row that has not been trained since its last exchange, -1 for others, if
  /// one rank combines the changes of a row for all, which may leave some of them with a rank;
  /// null: each rank combines all changes.
  float* left[2];

  /// The common direction of each matrix: see common_direction.
  float* direction;  // [2 x stride], of any length
  float* scale;      // [2][2] by which it is multiplied to have length 1, and the mean square
  float* along;      // [2 x max_common_rows] scratch
  static constexpr std::size_t max_common_rows = 1024;  // the most frequent, in most of all pairs

  /// The rows to exchange, from `first` to `last`: for each i, row i of the input and, if it
  /// exists, row i of the output. `items`: their number.
  std::size_t first, last, items;
  /// [items x columns] changes, [items][2] whether each row was changed and the squared norm of its
  /// change, [1] a flag.
  float* sums;
  float* own;  // [items x columns] the changes as they were taken

  WORDLOOM_BOTH float* numbers(std::size_t item) const { return sums + items * columns + 2 * item; }
  WORDLOOM_BOTH float* flag() const { return numbers(items); }
  WORDLOOM_BOTH std::size_t items_before(std::size_t row) const {
    return (row < rows[0] ? row : rows[0]) + (row < rows[1] ? row : rows[1]);
  }
  WORDLOOM_BOTH float* direction_of(std::size_t matrix) const {
    return direction + matrix * stride;
  }
  WORDLOOM_BOTH std::size_t common_rows(std::size_t matrix) const {
    return rows[matrix] < max_common_rows ? rows[matrix] : max_common_rows;
  }
  /// Returns the matrix whose rows are paired with those of `matrix`.
  WORDLOOM_BOTH std::size_t partners_of(std::size_t matrix) const {
    return rows[1] == 0 ? 0 : 1 - matrix;
  }
  /// Returns the squared norm of a row's change, equal to the bit if nothing has changed. On the
  /// host.
  WORDLOOM_BOTH float change_of(std::size_t matrix, std::size_t row) const {
    const float* const a = model[matrix] + row * stride;
    const float* const b = base[matrix] + row * stride;
    float parts[8] = {}, sum = 0;  // eight at a time, for the compiler to vectorise
    for (std::size_t c = 0; c < columns; ++c) parts[c % 8] += (a[c] - b[c]) * (a[c] - b[c]);
    for (const float part : parts) sum += part;
    return sum;
  }
  /// Returns the matrix and the row of an item.
  std::pair<std::size_t, std::size_t> place_of(std::size_t item) const {
    const std::size_t both = std::clamp((std::min)(rows[0], rows[1]), first, last);
    if (item < 2 * (both - first)) return {item % 2, first + item / 2};
    return {rows[0] > rows[1] ? 0 : 1, both + item - 2 * (both - first)};
  }
  /// Calls use(matrix, item) for each matrix that has the row.
  template <class Use>
  WORDLOOM_BOTH void for_each_item(std::size_t row, Use use) const {
    std::size_t item = items_before(row) - items_before(first);
    for (std::size_t matrix = 0; matrix < 2; ++matrix)
      if (row < rows[matrix]) use(matrix, item++);
  }
};

/// Turns `sum` [columns], the changes of all ranks to a row, into the change that all ranks add by
/// the rule `combine`. `row`: the known properties of the sum, without `square` and `along`.
/// `direction` times `scale`: the common direction of the row's partners.
template <class Combine, class Functions>
WORDLOOM_BOTH void combine_row(const Combine& combine, const Functions& functions, RowSum row,
                               float* sum, const float* direction, float scale,
                               std::size_t columns) {
  if (row.touched == 0) return;
  row.square = functions.dot(sum, sum, columns);
  row.along = scale * functions.dot(sum, direction, columns);
  const RowSum::Gains gains = combine.gains(row);
  functions.mix(sum, gains.rest, direction, scale * row.along * (gains.along - gains.rest),
                columns);
}

/// Takes the changes of row first + i since the last agreement, to be summed over ranks, with a
/// flag.
struct TakeRow {
  RowsView view;
  float flag;

  template <class Functions>
  WORDLOOM_BOTH void operator()(const Functions& functions, std::uint32_t i) const {
    view.for_each_item(view.first + i, [&](std::size_t matrix, std::size_t item) {
      const std::size_t at = (view.first + i) * view.stride, to = item * view.columns;
      const float square = functions.take_change(view.model[matrix] + at, view.base[matrix] + at,
                                                 view.sums + to, view.own + to, view.columns);
      const float before = view.left[matrix] ? view.left[matrix][view.first + i] : 0;
      const float now = view.left[matrix] ? view.change_of(matrix, view.first + i) : square;
      functions.write(view.numbers(item), now > 0 && now != before ? 1.0f : 0.0f);
      functions.write(view.numbers(item) + 1, now);
    });
    if (i == 0) functions.write(view.flag(), flag);
  }
};

/// Turns the sums over ranks of row first + i into the changes that all ranks add, and adds them.
template <class Combine>
struct PutRow {
  RowsView view;
  Combine combine;
  float ranks;
  double progress, rates;

  template <class Functions>
  WORDLOOM_BOTH void operator()(const Functions& functions, std::uint32_t i) const {
    const std::size_t row = view.first + i;
    const double since = progress - static_cast<double>(functions.read(view.agreed + row));
    view.for_each_item(row, [&](std::size_t matrix, std::size_t item) {
      const float* const numbers = view.numbers(item);
      float* const sum = view.sums + item * view.columns;
      if (!view.left[matrix])
        combine_item(functions, matrix, row, since, sum, numbers[0], numbers[1]);
      // True if the row was not trained while its change travelled.
      const bool is_at_rest = view.left[matrix] && view.change_of(matrix, row) == numbers[1];
      functions.put_change(view.model[matrix] + row * view.stride,
                           view.base[matrix] + row * view.stride, sum,
                           view.own + item * view.columns, view.columns);
      if (view.left[matrix])
        view.left[matrix][row] = is_at_rest ? view.change_of(matrix, row) : -1.0f;
    });
    functions.write(view.agreed + row, static_cast<float>(progress));
  }
  /// Turns a sum of changes [columns] of a row into the change that all ranks add. `since`:
  /// progress since they last did.
  template <class Functions>
  WORDLOOM_BOTH void combine_item(const Functions& functions, std::size_t matrix, std::size_t row,
                                  double since, float* sum, float touched, float squares) const {
    const std::size_t partners = view.partners_of(matrix);
    const float steps = static_cast<float>(rates * since) * view.expected[matrix][row];
    combine_row(combine, functions,
                {ranks, touched, squares, 0, 0, steps * view.scale[2 * partners + 1]}, sum,
                view.direction_of(partners), view.scale[2 * partners], view.columns);
  }
};

/// The memory of the host, for ReplicaRows.
struct HostMemory {
  using Replica = Model;
  using Values = std::span<float>;
  /// Floats whose first is on a 64-byte boundary.
  struct Floats : RowMatrix {
    Floats() = default;
    Floats(std::size_t size, const char*) : RowMatrix(1, size) {}
    std::size_t size() const noexcept { return columns(); }
  };

  simd::RowChangeFunctions functions = simd::row_change_functions();

  static std::vector<Values> all(Model& model) {
    std::vector<Values> result;
    for (const auto& [name, matrix] : model.matrices())
      result.emplace_back(matrix->data(), matrix->rows() * matrix->stride());
    return result;
  }
  static HostMemory bind(Model& model, RowsView& view) {
    view.model[0] = model.input.data();
    view.model[1] = model.output.data();
    view.stride = model.input.stride();
    view.columns = model.dimension();
    return {};
  }
  static Values values(float* data, std::size_t size) { return {data, size}; }
  static void copy(float* to, const float* from, std::size_t size) { std::copy_n(from, size, to); }
  static float read(const float* from) { return *from; }
  static void wait() {}
  template <class Work>
  void run(std::size_t count, const Work& work) const {
    for (std::size_t i = 0; i < count; ++i) work(functions, static_cast<std::uint32_t>(i));
  }
  static void find_common(const RowsView& view) {
    for (std::size_t m = 0; m < 2; ++m) {
      view.scale[2 * m] = 1;
      view.scale[2 * m + 1] =
          common_direction(view.base[m], view.stride, view.common_rows(m), view.columns,
                           view.expected[m], view.direction_of(m));
    }
  }
};

}  // namespace detail

/// Takes and puts changed rows in the memory that holds the model; Allreduce decides when. The
/// machine does all work in the order of submission. Holds a second model, and buffers for some
/// thousand rows. A `Machine` has
/// - `all(replica)`: the matrices of a model;
/// - `bind(replica, view)`: writes their addresses to the view and returns the machine;
/// - `Floats`: an array, made of a size and a name for errors; `copy` to and from it; `values(data,
///   size)`, as a Collective sums them;
/// - `run(count, work)`: calls work(functions, i) for each i below `count`, where `functions` are
///   RowChangeFunctions of its own; `read(place)`: returns a value after all submitted work;
///   `wait()`: waits until all work is done;

namespace detail {

/// - `find_common(view)`: finds the common direction of each matrix.
template <class Machine>
class ReplicaRows {
  using Floats = typename Machine::Floats;

 public:
  using Replica = typename Machine::Replica;
  using Values = typename Machine::Values;

  /// Returns all matrices of the model.
  std::vector<Values> all(Replica& replica) const { return Machine::all(replica); }

  const RowsView& view() const noexcept { return view_; }

  /// Stores the current rows as the state that all ranks agree on, at `progress`. `leaves`: whether
  /// ranks may send less than the changes that they take.
  void remember(Replica& replica, const RankInfo& run, double progress, bool leaves) {
    const Machine machine = Machine::bind(replica, view_);
    view_.rows[0] = run.input_rows;
    view_.rows[1] = run.output_rows;
    const auto allocate_two = [&](Floats& array, float*(&parts)[2], std::size_t floats) {
      parts[0] = allocate(array, (view_.rows[0] + view_.rows[1]) * floats,
                          "the model that ranks agree on");
      parts[1] = parts[0] + view_.rows[0] * floats;
    };
    allocate_two(base_, view_.base, view_.stride);
    allocate_two(expected_, view_.expected, 1);
    for (std::size_t m = 0; m < 2; ++m) {
      std::vector<float> expected = m == 0 ? run.expected.input : run.expected.output;
      expected.resize(view_.rows[m]);
      machine.copy(view_.expected[m], expected.data(), expected.size());
      machine.copy(view_.base[m], view_.model[m], view_.rows[m] * view_.stride);
    }
    const std::vector<float> agreed((std::max)(run.input_rows, run.output_rows),
                                    static_cast<float>(progress));
    view_.agreed = allocate(agreed_, agreed.size(), "the state of rows");
    machine.copy(view_.agreed, agreed.data(), agreed.size());
    if (leaves) {
      left_.assign(view_.rows[0] + view_.rows[1], 0.0f);
      view_.left[0] = left_.data();
      view_.left[1] = left_.data() + view_.rows[0];
    }
    view_.direction = allocate(common_, 2 * (view_.stride + 2 + RowsView::max_common_rows),
                               "the common direction of rows");
    view_.scale = view_.direction + 2 * view_.stride;
    view_.along = view_.scale + 4;
  }

  /// Returns the changes of rows `first` to `last` of both matrices, to be summed over ranks, with
  /// `flag`.
  Values take(Replica& replica, std::size_t first, std::size_t last, float flag) {
    const Machine machine = Machine::bind(replica, view_);
    view_.first = first;
    view_.last = last;
    view_.items = view_.items_before(last) - view_.items_before(first);
    const std::size_t floats = view_.items * (view_.columns + 2) + 1;
    if (changes_.size() < floats) {
      machine.wait();  // the changes before may still be in use
      view_.sums = allocate(changes_, floats, "the changes that ranks exchange");
      view_.own = allocate(own_, floats, "the changes of this rank");
    }
    machine.run(last - first, TakeRow{view_, flag});
    return machine.values(view_.sums, floats);
  }

  /// Returns a function that turns the sum of an item's changes, which ranks exchange between
  /// take() and put(), into the change that all add: see QuantisedRows. Arguments as of put().
  template <class Combine>
  auto combiner(const Combine& combine, std::size_t ranks, double progress, double rates) {
    Machine::find_common(view_);
    return [put = PutRow<Combine>{view_, combine, static_cast<float>(ranks), progress, rates},
            functions = simd::row_change_functions()](std::size_t item, float* sum, float touched,
                                                      float squares) {
      const auto [matrix, row] = put.view.place_of(item);
      const double since = put.progress - static_cast<double>(put.view.agreed[row]);
      put.combine_item(functions, matrix, row, since, sum, touched, squares);
    };
  }

  /// Turns the sum of the changes that `take` returned into the change that all ranks add by the
  /// rule `combine`, and adds it. `rates`: the sum of learning rates of one rank's words in the
  /// whole run, with the learning rate at `progress`. Returns the sum of flags.
  template <class Combine>
  float put(Replica& replica, const Combine& combine, std::size_t ranks, double progress,
            double rates) {
    const Machine machine = Machine::bind(replica, view_);
    if (ranks > 1) {  // one rank does not change the rows
      if (!view_.left[0]) machine.find_common(view_);
      machine.run(view_.last - view_.first,
                  PutRow<Combine>{view_, combine, static_cast<float>(ranks), progress, rates});
    }
    return machine.read(view_.flag());
  }

 private:
  /// Frees the array before allocating another, so that both need not fit.
  static float* allocate(Floats& array, std::size_t size, const char* what) {
    array = {};
    array = Floats(size, what);
    return array.data();
  }

  RowsView view_{};
  Floats base_, expected_, agreed_, common_, changes_, own_;  // see RowsView
  std::vector<float> left_;                                   // in the memory of the host alone
};

/// The rows of a model in the memory of the host.
using HostRows = ReplicaRows<HostMemory>;

/// The rows that ranks synchronise: `Ranks::Rows` of those on a device.
template <class Ranks>
struct RowsOf : std::type_identity<HostRows> {};
template <class Ranks>
requires requires { typename Ranks::Rows; }
struct RowsOf<Ranks> : std::type_identity<typename Ranks::Rows> {};

}  // namespace detail

}}  // namespace wordloom::WORDLOOM_ABI
