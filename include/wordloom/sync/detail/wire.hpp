#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/sync/collective.hpp>
#include <wordloom/sync/detail/quantised_rows.hpp>
#include <wordloom/sync/detail/row_changes.hpp>
#include <wordloom/sync/replica_rows.hpp>
#include <wordloom/sync/sync_options.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// A Collective that also sums QuantisedRows.
template <class C>
concept QuantisedCollective = requires(C& ranks, const QuantisedRows& rows) {
  ranks.begin_sum(rows);
};

/// Sums the changes of ReplicaRows in a format.
template <class Ranks, class Rows>
class Wire {
 public:
  explicit Wire(WireFormat format) : format_(format) {
    constexpr bool on_host = std::is_same_v<Rows, HostRows>;
    if (format == WireFormat::bf16 && !(on_host && Bf16Collective<Ranks>))
      throw InvalidArgument(
          "these ranks exchange bf16 only as Bf16Ranks(ranks, true): set the format to fp32");
    if (is_quantised() && !(on_host && QuantisedCollective<Ranks>))
      throw InvalidArgument(
          "these ranks cannot exchange quantised changes: set the format to fp32, or use "
          "ThreadRanks or MpiRanks");
  }

  /// Returns whether changes are quantised, and errors remain with the rank that made them.
  bool is_quantised() const noexcept { return format_ < WireFormat::bf16; }

  /// Returns the bytes of a row of `columns` values in this format.
  double bytes_of_row(std::size_t columns, std::size_t bytes_of_value) const {
    if (is_quantised())
      return static_cast<double>(
          QuantisedRows::bytes_of_row(columns, static_cast<unsigned>(format_)));
    return static_cast<double>(columns * bytes_of_value);
  }

  /// Begins to sum the changes that `rows` has taken. `is_last`: makes all replicas equal; then no
  /// errors remain, and values have at least 8 bits. `number`: of the exchange, on all ranks.
  /// `combiner_of(rows)`: ReplicaRows::combiner. Returns the bytes of the changes.
  template <class CombinerOf>
  std::size_t begin(Ranks& ranks, Rows& rows, typename Rows::Values values,
                    std::size_t bytes_of_value, bool is_last, std::uint64_t number,
                    const CombinerOf& combiner_of) {
    if constexpr (std::is_same_v<Rows, HostRows>) {
      if constexpr (Bf16Collective<Ranks>)
        if (format_ == WireFormat::bf16) {
          packed_.resize(values.size());
          functions_.pack_bf16(values.data(), &packed_.data()->bits, values.size());
          ranks.begin_sum(std::span<Bf16>(packed_));
          return packed_.size() * sizeof(Bf16);
        }
      if constexpr (QuantisedCollective<Ranks>)
        if (is_quantised()) {
          encode(ranks, rows.view(), is_last, number);
          rows_.combine = combiner_of(rows);
          ranks.begin_sum(rows_);
          return rows_.size_bytes();
        }
    }
    ranks.begin_sum(values);
    return values.size() * bytes_of_value;
  }

  /// Replaces the changes by their sums, once all ranks have taken part.
  void end(const RowsView& view, typename Rows::Values values) {
    if constexpr (std::is_same_v<Rows, HostRows>) {
      if (format_ == WireFormat::bf16)
        functions_.unpack_bf16(&packed_.data()->bits, values.data(), values.size());
      if (is_quantised()) decode(view);
    }
  }

 private:
  void encode(const Ranks& ranks, const RowsView& view, bool is_last, std::uint64_t number) {
    signs_ = QuantisedRows::random_signs(view.columns, number);
    rows_ = {.count = view.items + 1,
             .columns = view.columns,
             .bits = is_last ? 8u : static_cast<unsigned>(format_),
             .signs = signs_.data()};
    bytes_.resize(rows_.size_bytes());
    rows_.data = bytes_.data();
    const auto [first, last] = rows_.part_of(ranks.rank(), ranks.size());
    own_ = {first, (std::min)(last, view.items)};
    errors_.resize((last - first) * view.columns);
    rows_.errors = errors_.data();
    keeps_errors_ = !is_last;
    std::vector<float> unused(view.columns);
    for (std::size_t i = 0; i < view.items; ++i)
      rows_.encode(row(i), view.sums + i * view.columns, *view.numbers(i),
                   keeps_errors_ ? view.own + i * view.columns : unused.data());
    QuantisedRows::write_flag(row(view.items), *view.flag());
  }
  void decode(const RowsView& view) {
    for (std::size_t i = 0; i < view.items; ++i) rows_.decode(row(i), view.sums + i * view.columns);
    *view.flag() = QuantisedRows::read_flag(row(view.items));
    if (keeps_errors_)
      for (std::size_t i = own_.first; i < own_.second; ++i)
        functions_.mix(view.own + i * view.columns, 1,
                       errors_.data() + (i - own_.first) * view.columns, -1, view.columns);
  }
  std::byte* row(std::size_t i) { return bytes_.data() + i * rows_.bytes_of_row(); }

  WireFormat format_;
  simd::RowChangeFunctions functions_ = simd::row_change_functions();
  std::vector<Bf16> packed_;
  QuantisedRows rows_;
  std::vector<std::byte> bytes_;
  std::vector<float> signs_;                   // of the rotation
  std::vector<float> errors_;                  // of the sums that this rank adds
  std::pair<std::size_t, std::size_t> own_{};  // those rows
  bool keeps_errors_ = true;
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
