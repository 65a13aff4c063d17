#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <wordloom/core/detail/finite.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/sync/detail/row_changes.hpp>
#include <wordloom/sync/sync_options.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Rows in the bytes in which a rank passes them on. Values are rounded up or down at random, so
/// that a change which is smaller than a step is not lost each time: on average it arrives. As 8
/// bits, a zero in a row with other numbers becomes half a step up or down. Thread-safe.
class PassedRows {
 public:
  PassedRows(WireFormat format, std::size_t columns)
      : format_(format), columns_(columns), noise_(noises + columns) {
    Random random(1);
    for (float& x : noise_) x = static_cast<float>(random.uniform()) - 0.5f;
  }

  /// Returns the bytes of a row.
  std::size_t bytes() const {
    if (format_ == WireFormat::bits8) return sizeof(float) + columns_;
    return columns_ * (format_ == WireFormat::bf16 ? sizeof(std::uint16_t) : sizeof(float));
  }

  /// `scratch`: of this thread.
  void write(const float* row, Random& random, std::vector<float>& scratch, std::byte* to) const {
    if (format_ == WireFormat::fp32) {
      std::memcpy(to, row, columns_ * sizeof(float));
    } else if (format_ == WireFormat::bf16) {
      for (std::size_t i = 0; i < columns_; i += 4) {
        std::uint64_t bits = random();
        for (std::size_t k = i; k < i + 4 && k < columns_; ++k, bits >>= 16) {
          std::uint32_t value;
          std::memcpy(&value, row + k, sizeof value);
          if (is_finite(row[k])) value += static_cast<std::uint32_t>(bits & 0xffff);
          const auto half = static_cast<std::uint16_t>(value >> 16);
          std::memcpy(to + k * sizeof half, &half, sizeof half);
        }
      }
    } else {
      // A row that is not finite makes those of other ranks so, too.
      const bool can = is_finite(functions_.dot(row, row, columns_));
      float scale =
          can ? functions_.largest(row, columns_) / 127 : std::numeric_limits<float>::quiet_NaN();
      if (can && !is_finite(1 / scale)) scale = 0;
      std::memcpy(to, &scale, sizeof scale);
      auto* const codes = reinterpret_cast<std::uint8_t*>(to + sizeof scale);
      std::fill_n(codes, columns_, std::uint8_t{0});
      if (!(scale > 0)) return;
      scratch.assign(row, row + columns_);
      functions_.mix(scratch.data(), 1, noise_.data() + random.below(noises), scale, columns_);
      functions_.quantise(scratch.data(), 1 / scale, 8, codes, columns_);
    }
  }
  void read(const std::byte* from, float* row) const {
    if (format_ == WireFormat::fp32) {
      std::memcpy(row, from, columns_ * sizeof(float));
    } else if (format_ == WireFormat::bf16) {
      for (std::size_t i = 0; i < columns_; ++i) {
        std::uint16_t half;
        std::memcpy(&half, from + i * sizeof half, sizeof half);
        const std::uint32_t bits = std::uint32_t{half} << 16;
        std::memcpy(row + i, &bits, sizeof bits);
      }
    } else {
      float scale;
      std::memcpy(&scale, from, sizeof scale);
      functions_.dequantise(reinterpret_cast<const std::uint8_t*>(from + sizeof scale), scale, 8,
                            row, columns_);
    }
  }

 private:
  static constexpr std::size_t noises = 4096;

  WireFormat format_;
  std::size_t columns_;
  std::vector<float> noise_;  // from -0.5 to 0.5; a row takes successive ones, from any place
  simd::RowChangeFunctions functions_ = simd::row_change_functions();
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
