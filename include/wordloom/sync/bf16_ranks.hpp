#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/sync/collective.hpp>
#include <wordloom/sync/detail/row_changes.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Ranks that exchange sums as bf16, which halves the bytes. Changes and their partial sums are
/// rounded to 8 significant bits; the model keeps full precision. For at most 256 ranks: the number
/// of ranks that changed a row is summed too, and larger integers are not exact in bf16.
template <Bf16Collective Ranks>
class Bf16Ranks : private Ranks {
 public:
  /// `on`: whether to exchange bf16; if false, floats are exchanged. Throws InvalidArgument if it
  /// is true and there are more than 256 ranks.
  explicit Bf16Ranks(Ranks ranks, bool on = true) : Ranks(std::move(ranks)), on_(on) {
    if (on && size() > 256)
      throw InvalidArgument{"bf16 is for up to 256 ranks, these are ", size()};
  }

  using Ranks::broadcast, Ranks::fail, Ranks::gather, Ranks::rank, Ranks::size;

  /// Gathers rows as floats, without rounding.
  void gather_rows(std::span<float> rows, std::size_t row_size,
                   std::span<const std::uint64_t> first) {
    detail::gather_rows(static_cast<Ranks&>(*this), rows, row_size, first);
  }

  /// Returns the number of bytes that are exchanged for each float.
  std::size_t bytes_of_value() const noexcept { return on_ ? sizeof(detail::Bf16) : sizeof(float); }

  void begin_sum(std::span<float> values) {
    if (!on_) return Ranks::begin_sum(values);
    values_ = values;
    packed_.resize(values.size());
    functions_.pack_bf16(values.data(), &packed_.data()->bits, values.size());
    Ranks::begin_sum(std::span<detail::Bf16>(packed_));
  }
  bool done() {
    if (!Ranks::done()) return false;
    unpack();
    return true;
  }
  void wait() {
    Ranks::wait();
    unpack();
  }

 private:
  void unpack() {
    if (values_.empty()) return;  // already done
    functions_.unpack_bf16(&packed_.data()->bits, values_.data(), values_.size());
    values_ = {};
  }

  bool on_;
  simd::RowChangeFunctions functions_ = simd::row_change_functions();
  std::vector<detail::Bf16> packed_;
  std::span<float> values_;  // the sum in flight; empty: none
};

}}  // namespace wordloom::WORDLOOM_ABI
