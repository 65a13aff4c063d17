#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <wordloom/sync/detail/quantised_rows.hpp>
#include <wordloom/sync/detail/row_changes.hpp>
#include <wordloom/sync/detail/row_exchange.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Takes the changes of rows of the host as QuantisedRows, and puts their sums. All is done for a
/// row before the next one: its 32-bit floats then stay in the cache.
class QuantisedExchange {
 public:
  /// Begins a run, in which all ranks agree on all rows.
  void start(const RowsView& view) {
    for (std::size_t m = 0; m < 2; ++m) unsent_[m].assign(view.rows[m], 0.0f);
  }

  /// Takes the changes of the rows of `view`, of which this rank, `rank` of `ranks`, will add its
  /// part, with `flag`. `keeps_errors`: whether what quantisation leaves out travels later; else
  /// all replicas will be equal. `number`: of the exchange, the same on all ranks. Returns the rows
  /// without their function that combines changes.
  QuantisedRows& take(const RowsView& view, float flag, unsigned bits, bool keeps_errors,
                      std::uint64_t number, std::size_t rank, std::size_t ranks);

  /// Puts the sums of the rows in their place, at `progress`.
  void put(const RowsView& view, double progress);
  float flag() const { return QuantisedRows::read_flag(row(rows_.count - 1)); }

 private:
  std::byte* row(std::size_t item) const { return rows_.data + item * rows_.bytes_of_row(); }

  QuantisedRows rows_;
  std::vector<std::byte> bytes_;
  std::vector<float> signs_;                   // of the rotation
  std::vector<float> errors_;                  // of the sums that this rank adds
  std::pair<std::size_t, std::size_t> own_{};  // those rows
  bool keeps_errors_ = true;
  std::vector<float> squares_;  // [items] the squared norms of the changes that were taken
  /// [rows] of both matrices, the squared norm of the part of a row's change that was left unsent;
  /// -1 if the row was trained since its last exchange.
  std::vector<float> unsent_[2];
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION QuantisedRows& QuantisedExchange::take(const RowsView& view, float flag,
                                                         unsigned bits, bool keeps_errors,
                                                         std::uint64_t number, std::size_t rank,
                                                         std::size_t ranks) {
  const std::size_t columns = view.columns;
  signs_ = QuantisedRows::random_signs(columns, number);
  rows_ = {.count = view.items + 1, .columns = columns, .bits = bits, .signs = signs_.data()};
  bytes_.resize(rows_.size_bytes());
  rows_.data = bytes_.data();
  const auto [first, last] = rows_.part_of(rank, ranks);
  own_ = {first, (std::min)(last, view.items)};
  errors_.resize((last - first) * columns);
  rows_.errors = errors_.data();
  keeps_errors_ = keeps_errors;
  squares_.resize(view.items);
  std::vector<float> change(columns), unused(columns);
  for (std::size_t r = view.first; r < view.last; ++r)
    view.for_each_item(r, [&](std::size_t m, std::size_t item) {
      const std::size_t at = r * view.stride;
      float* const own = view.own + item * columns;
      const float square = rows_.functions.take_change(view.model[m] + at, view.base[m] + at,
                                                       change.data(), own, columns);
      squares_[item] = square;
      rows_.encode(row(item), change.data(), square,
                   square > 0 && square != unsent_[m][r] ? 1.0f : 0.0f,
                   keeps_errors ? own : unused.data());
    });
  QuantisedRows::write_flag(row(view.items), flag);
  return rows_;
}

WORDLOOM_FUNCTION void QuantisedExchange::put(const RowsView& view, double progress) {
  const std::size_t columns = view.columns;
  std::vector<float> change(columns);
  for (std::size_t r = view.first; r < view.last; ++r) {
    view.for_each_item(r, [&](std::size_t m, std::size_t item) {
      float* const own = view.own + item * columns;
      float* const model = view.model[m] + r * view.stride;
      float* const base = view.base[m] + r * view.stride;
      rows_.decode(row(item), change.data());
      if (keeps_errors_ && own_.first <= item && item < own_.second)
        rows_.functions.mix(own, 1, errors_.data() + (item - own_.first) * columns, -1, columns);
      // True if the row was not trained while its change travelled.
      const bool is_at_rest =
          rows_.functions.square_of_change(model, base, columns) == squares_[item];
      rows_.functions.put_change(model, base, change.data(), own, columns);
      unsent_[m][r] = is_at_rest ? rows_.functions.square_of_change(model, base, columns) : -1.0f;
    });
    view.agreed[r] = static_cast<float>(progress);
  }
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
