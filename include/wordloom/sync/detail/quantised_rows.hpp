#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include <wordloom/core/detail/finite.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/sync/detail/row_changes.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Rows of changes of 8, 4, 2 or 1 bit for each value, which ranks sum: as many on each rank.
///
/// Values are rotated before they are quantised, in each exchange by another rotation. Codes reach
/// a few standard deviations of a row, and what is above remains for later. A value that is above
/// each time would always come late: what all rows have in common then grows along that axis and
/// spoils the vectors. Rotated values are nearly normal, and no axis stays. (Vargaftik et al. 2021,
/// "DRIVE", and others rotate to lessen the error.)
///
/// A row of bytes has a scale (float), the number of ranks that changed the row (16 bits, exact)
/// and a code for each rotated value, which is (code - (2^bits - 1) / 2) x scale. Byte j has the
/// codes of values j, j + n, j + 2 n and so on, if there are n bytes of codes. The last row has a
/// float to be summed, alone.
///
/// Each of N ranks adds the rows of one part as floats, combines each sum to the change that all
/// ranks add, quantises that and sends it to all. So 2 (N - 1) / N rows travel from each rank for a
/// row, where gathering the rows of all ranks would send N - 1. The error of each rank's rows, and
/// that of a combined change on the rank that made it, remain in the model of that rank as changes
/// that it has not sent, and travel with the next ones (error feedback: Seide et al. 2014;
/// Karimireddy et al. 2019). If a sum were quantised first and combined then, which may scale it by
/// 1 / N, an error in the units of the sum would remain, as large as several changes of a rank.
struct QuantisedRows {
  std::byte* data = nullptr;  // [count x bytes_of_row]
  std::size_t count = 0, columns = 0;
  unsigned bits = 8;
  /// [2 x columns] random_signs() of the exchange; null: values are not rotated.
  const float* signs = nullptr;
  /// [rows of the part that this rank adds x columns] receives the errors of the combined changes.
  float* errors = nullptr;
  /// Called for a row, the sum of its changes [columns], the number of ranks that changed it and
  /// the sum of their squared norms: turns the sum into the change that all ranks add.
  std::function<void(std::size_t, float*, float, float)> combine = [](std::size_t, float*, float,
                                                                      float) {};
  simd::RowChangeFunctions functions = simd::row_change_functions();

  static constexpr std::size_t header = 6;  // bytes
  static std::size_t bytes_of_codes(std::size_t columns, unsigned bits) {
    return (columns * bits + 7) / 8;
  }
  static std::size_t bytes_of_row(std::size_t columns, unsigned bits) {
    return header + bytes_of_codes(columns, bits);
  }
  std::size_t bytes_of_row() const { return bytes_of_row(columns, bits); }
  std::size_t size_bytes() const { return count * bytes_of_row(); }
  /// Returns the rows that rank `of` adds, of `ranks`, as [first, last).
  std::pair<std::size_t, std::size_t> part_of(std::size_t of, std::size_t ranks) const {
    return detail::part_of(count, of, ranks);
  }

  /// Returns the random signs of a rotation, as factors with which it keeps norms [2 x columns].
  static std::vector<float> random_signs(std::size_t columns, std::uint64_t seed);

  /// Quantises `values` [columns], whose squared norm is `square`, to a row of bytes and writes the
  /// quantised values to `sent` [columns]; `values` are rotated then. `changed`: the number of
  /// ranks.
  void encode(std::byte* row, float* values, float square, float changed, float* sent) const;
  /// Writes the values of a row of bytes to `values` [columns].
  void decode(const std::byte* row, float* values) const;
  static float changed(const std::byte* row) { return read<std::uint16_t>(row + 4); }
  static void write_flag(std::byte* row, float flag) { std::memcpy(row, &flag, sizeof flag); }
  static float read_flag(const std::byte* row) { return read<float>(row); }

  /// Writes the combined changes of rows `first` to `last` of all ranks to `data`. `row_of(rank,
  /// i)`: row i of a rank.
  template <class RowOf>
  void add(std::size_t first, std::size_t last, std::size_t ranks, RowOf row_of) const {
    std::vector<float> sum(columns), term(columns), sent(columns);
    for (std::size_t i = first; i < last; ++i) {
      std::byte* const to = data + i * bytes_of_row();
      float changed_by = 0, sent_by = 0, squares_of = 0, flag = 0;
      if (i + 1 == count) {
        for (std::size_t r = 0; r < ranks; ++r) flag += read_flag(row_of(r, i));
        write_flag(to, flag);
        continue;
      }
      std::ranges::fill(sum, 0.0f);
      for (std::size_t r = 0; r < ranks; ++r) {
        const std::byte* const row = row_of(r, i);
        changed_by += changed(row);
        if (read<float>(row) == 0) continue;  // nothing but zeros
        ++sent_by;
        dequantise(row, term.data());
        squares_of += functions.dot(term.data(), term.data(), columns);
        functions.mix(sum.data(), 1, term.data(), 1, columns);
      }
      if (signs) functions.rotate_back(sum.data(), signs, columns);
      // Ranks that send only what they had left out have changed the row before.
      combine(i, sum.data(), changed_by > 0 ? changed_by : sent_by, squares_of);
      float* const error = errors + (i - first) * columns;
      std::ranges::copy(sum, error);
      encode(to, sum.data(), functions.dot(error, error, columns), changed_by, sent.data());
      functions.mix(error, 1, sent.data(), -1, columns);
    }
  }

 private:
  /// Writes the rotated values of a row of bytes to `values` [columns].
  void dequantise(const std::byte* row, float* values) const;
  template <class T>
  static T read(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION std::vector<float> QuantisedRows::random_signs(std::size_t columns,
                                                                 std::uint64_t seed) {
  Random random(seed);
  const float size = 1 / std::sqrt(static_cast<float>(std::bit_floor(columns)));
  std::vector<float> signs(2 * columns);
  for (float& x : signs) x = random.uniform() < 0.5 ? size : -size;
  return signs;
}

WORDLOOM_FUNCTION void QuantisedRows::encode(std::byte* row, float* values, float square,
                                             float changed, float* sent) const {
  if (signs) functions.rotate(values, signs, columns);  // keeps the norm
  // The steps that suit normal values best (Max 1960); of 8 bits, one that reaches the largest.
  const float step = bits == 8 ? functions.largest(values, columns) / 127.5f
                               : (bits == 4   ? 0.3352f
                                  : bits == 2 ? 0.9957f
                                              : 1.5958f) *
                                     std::sqrt(square / static_cast<float>(columns));
  auto* const codes = reinterpret_cast<std::uint8_t*>(row + header);
  const bool can = square > 0 && is_finite(square) && is_finite(1 / step);
  float scale = 0;
  if (can) {
    // The scale with the least squared error, which is below the square of the values.
    scale = functions.quantise(values, 1 / step, bits, codes, columns);
  } else {
    std::fill_n(codes, bytes_of_codes(columns, bits), std::uint8_t{0});
    // If training diverges, all ranks learn it.
    if (!is_finite(square)) scale = std::numeric_limits<float>::quiet_NaN();
  }
  const auto count_of_ranks = static_cast<std::uint16_t>(changed);
  std::memcpy(row, &scale, sizeof scale);
  std::memcpy(row + 4, &count_of_ranks, sizeof count_of_ranks);
  if (can)
    decode(row, sent);
  else
    std::fill_n(sent, columns, scale);
}

WORDLOOM_FUNCTION void QuantisedRows::decode(const std::byte* row, float* values) const {
  dequantise(row, values);
  if (signs) functions.rotate_back(values, signs, columns);
}

WORDLOOM_FUNCTION void QuantisedRows::dequantise(const std::byte* row, float* values) const {
  functions.dequantise(reinterpret_cast<const std::uint8_t*>(row + header), read<float>(row), bits,
                       values, columns);
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
