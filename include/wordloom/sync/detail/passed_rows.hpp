#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <wordloom/core/random.hpp>
#include <wordloom/sync/detail/quantised_rows.hpp>
#include <wordloom/sync/detail/row_changes.hpp>
#include <wordloom/sync/sync_options.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Ranks that exchange text, as TextCollective.
template <class C>
concept HasExchange = requires(C& ranks, std::vector<std::string> to) {
  ranks.exchange(to);
};

/// Rows in the bytes in which a rank passes them on. Values are rounded up or down at random, so
/// that a change which is smaller than a step is not lost each time: on average it arrives.
class PassedRows {
 public:
  /// `seed`: of the random numbers.
  PassedRows(WireFormat format, std::size_t columns, std::uint64_t seed)
      : format_(format), columns_(columns), random_(seed) {}

  /// Returns the bytes of a row.
  std::size_t bytes() const {
    if (format_ == WireFormat::bits8) return sizeof(float) + columns_;
    return columns_ * (format_ == WireFormat::bf16 ? sizeof(std::uint16_t) : sizeof(float));
  }

  void append(const float* row, std::string& to) {
    const std::size_t at = to.size();
    to.resize(at + bytes());
    char* const place = to.data() + at;
    if (format_ == WireFormat::fp32) {
      std::memcpy(place, row, columns_ * sizeof(float));
    } else if (format_ == WireFormat::bf16) {
      for (std::size_t i = 0; i < columns_; ++i) {
        std::uint32_t bits;
        std::memcpy(&bits, row + i, sizeof bits);
        const bool is_finite = (bits & 0x7f800000u) != 0x7f800000u;
        if (is_finite) bits += static_cast<std::uint32_t>(random_() >> 48);
        const auto half = static_cast<std::uint16_t>(bits >> 16);
        std::memcpy(place + i * sizeof half, &half, sizeof half);
      }
    } else {
      // Codes of -127 to 127 steps; a value between two of them becomes either.
      const float largest = functions_.largest(row, columns_);
      const float scale = largest / 127;
      std::memcpy(place, &scale, sizeof scale);
      const float steps = largest > 0 ? 127 / largest : 0;
      for (std::size_t i = 0; i < columns_; ++i) {
        const float raised = row[i] * steps + 128 + static_cast<float>(random_() >> 40) * 0x1p-24f;
        place[sizeof scale + i] =
            static_cast<char>(static_cast<std::uint8_t>(raised > 0 && raised < 255 ? raised
                                                        : raised > 0               ? 255
                                                                                   : 0));
      }
    }
  }
  void read(const char* place, float* row) const {
    if (format_ == WireFormat::fp32) {
      std::memcpy(row, place, columns_ * sizeof(float));
    } else if (format_ == WireFormat::bf16) {
      for (std::size_t i = 0; i < columns_; ++i) {
        std::uint16_t half;
        std::memcpy(&half, place + i * sizeof half, sizeof half);
        const std::uint32_t bits = std::uint32_t{half} << 16;
        std::memcpy(row + i, &bits, sizeof bits);
      }
    } else {
      float scale;
      std::memcpy(&scale, place, sizeof scale);
      for (std::size_t i = 0; i < columns_; ++i)
        row[i] =
            scale * (static_cast<float>(static_cast<std::uint8_t>(place[sizeof scale + i])) - 128);
    }
  }

 private:
  WireFormat format_;
  std::size_t columns_;
  Random random_;
  simd::RowChangeFunctions functions_ = simd::row_change_functions();
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
