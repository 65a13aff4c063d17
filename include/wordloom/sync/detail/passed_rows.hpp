#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include <wordloom/core/detail/finite.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/sync/detail/row_changes.hpp>
#include <wordloom/sync/sync_options.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Rows in the bytes in which a rank passes them on. Values are rounded up or down at random, so
/// that a change which is smaller than a step is not lost each time: on average it arrives.
class PassedRows {
 public:
  PassedRows(WireFormat format, std::size_t columns) : format_(format), columns_(columns) {}

  /// Returns the bytes of a row.
  std::size_t bytes() const {
    if (format_ == WireFormat::bits8) return sizeof(float) + columns_;
    return columns_ * (format_ == WireFormat::bf16 ? sizeof(std::uint16_t) : sizeof(float));
  }

  void write(const float* row, Random& random, std::byte* to) const {
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
      // Codes of -127 to 127 steps; a value between two of them becomes either. A row that is not
      // finite makes the others diverge, too.
      const bool can = is_finite(functions_.dot(row, row, columns_));
      const float largest = can ? functions_.largest(row, columns_) : 0;
      const float scale = can ? largest / 127 : std::numeric_limits<float>::quiet_NaN();
      std::memcpy(to, &scale, sizeof scale);
      to += sizeof scale;
      const float steps = largest > 0 ? 127 / largest : 0;
      for (std::size_t i = 0; i < columns_; i += 8) {
        std::uint64_t bits = random();
        for (std::size_t k = i; k < i + 8 && k < columns_; ++k, bits >>= 8) {
          const float up = (static_cast<float>(bits & 0xff) + 0.5f) / 256;
          to[k] = static_cast<std::byte>(can ? static_cast<int>(row[k] * steps + 128 + up) : 0);
        }
      }
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
      from += sizeof scale;
      for (std::size_t i = 0; i < columns_; ++i)
        row[i] = scale * static_cast<float>(std::to_integer<int>(from[i]) - 128);
    }
  }

 private:
  WireFormat format_;
  std::size_t columns_;
  simd::RowChangeFunctions functions_ = simd::row_change_functions();
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
