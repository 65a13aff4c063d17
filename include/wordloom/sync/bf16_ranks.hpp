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

/// Ranks that exchange sums as bf16: half of the bytes. Changes are rounded to 8 significant bits
/// before they are summed; the model keeps full precision. At most 256 ranks: larger counts are not
/// exact in bf16.
template <Bf16Collective Ranks>
class Bf16Ranks : private Ranks {
 public:
  /// `on`: false exchanges floats instead. Throws InvalidArgument for more than 256 ranks.
  explicit Bf16Ranks(Ranks ranks, bool on = true) : Ranks(std::move(ranks)), on_(on) {
    if (on && size() > 256)
      throw InvalidArgument{"bf16 is for up to 256 ranks, these are ", size()};
  }

  using Ranks::broadcast, Ranks::fail, Ranks::gather, Ranks::rank, Ranks::size;

  /// Gathers rows exactly: they are not rounded.
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
    if (values_.empty()) return;  // once
    functions_.unpack_bf16(&packed_.data()->bits, values_.data(), values_.size());
    values_ = {};
  }

  bool on_;
  simd::RowChangeFunctions functions_ = simd::row_change_functions();
  std::vector<detail::Bf16> packed_;
  std::span<float> values_;  // values in flight
};

}}  // namespace wordloom::WORDLOOM_ABI
