#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <wordloom/sync/combine.hpp>
#include <wordloom/sync/detail/row_changes.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The rows that ranks synchronise and the data that they exchange, in the memory of the machine
/// that trains. Arrays of two belong to the input (0) and the output (1). A model of one matrix has
/// only the input.
struct RowsView {
  float* model[2];     // [rows x stride], row-major
  float* base[2];      // [rows x stride]: the state that all ranks agree on
  float* expected[2];  // [rows] ExpectedUpdates
  std::size_t rows[2], stride, columns;
  float* agreed;  // [maximum of rows] progress at the last agreement on each row
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
      functions.write(view.numbers(item), square > 0 ? 1.0f : 0.0f);
      functions.write(view.numbers(item) + 1, square);
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
      combine_item(functions, matrix, row, since, sum, numbers[0], numbers[1]);
      functions.put_change(view.model[matrix] + row * view.stride,
                           view.base[matrix] + row * view.stride, sum,
                           view.own + item * view.columns, view.columns);
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

}}}  // namespace wordloom::WORDLOOM_ABI::detail
