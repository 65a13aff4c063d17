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
#include <wordloom/sync/detail/quantised_exchange.hpp>
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

  /// Begins a run, after `rows` has remembered what all ranks agree on.
  void start(const Rows& rows) {
    if constexpr (std::is_same_v<Rows, HostRows>)
      if (is_quantised()) quantised_.start(rows.view());
  }

  /// Begins to sum the changes of the rows that `rows` has chosen, with `flag`. `is_last`: makes
  /// all replicas equal; then no errors remain, and values have at least 8 bits. `number`: of the
  /// exchange, on all ranks. `combiner_of(rows)`: ReplicaRows::combiner. Returns the bytes of the
  /// changes.
  template <class CombinerOf>
  std::size_t begin(Ranks& ranks, Rows& rows, typename Rows::Replica& replica, float flag,
                    std::size_t bytes_of_value, bool is_last, std::uint64_t number,
                    const CombinerOf& combiner_of) {
    if constexpr (std::is_same_v<Rows, HostRows> && QuantisedCollective<Ranks>)
      if (is_quantised()) {
        QuantisedRows& taken =
            quantised_.take(rows.view(), flag, is_last ? 8u : static_cast<unsigned>(format_),
                            !is_last, number, ranks.rank(), ranks.size());
        taken.combine = combiner_of(rows);
        ranks.begin_sum(taken);
        return taken.size_bytes();
      }
    values_ = rows.take(replica, flag);
    if constexpr (std::is_same_v<Rows, HostRows> && Bf16Collective<Ranks>)
      if (format_ == WireFormat::bf16) {
        packed_.resize(values_.size());
        functions_.pack_bf16(values_.data(), &packed_.data()->bits, values_.size());
        ranks.begin_sum(std::span<Bf16>(packed_));
        return packed_.size() * sizeof(Bf16);
      }
    ranks.begin_sum(values_);
    return values_.size() * bytes_of_value;
  }

  /// Puts the sums of changes in their place, once all ranks have taken part; arguments as of
  /// ReplicaRows::put(). Returns the sum of flags.
  template <class Combine>
  float end(Rows& rows, typename Rows::Replica& replica, const Combine& combine, std::size_t ranks,
            double progress, double rates) {
    if constexpr (std::is_same_v<Rows, HostRows>) {
      if (is_quantised()) {
        if (ranks > 1) quantised_.put(rows.view(), progress);  // one rank does not change the rows
        return quantised_.flag();
      }
      if (format_ == WireFormat::bf16)
        functions_.unpack_bf16(&packed_.data()->bits, values_.data(), values_.size());
    }
    return rows.put(replica, combine, ranks, progress, rates);
  }

 private:
  WireFormat format_;
  simd::RowChangeFunctions functions_ = simd::row_change_functions();
  typename Rows::Values values_ = {};  // the changes in flight
  std::vector<Bf16> packed_;
  QuantisedExchange quantised_;
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
