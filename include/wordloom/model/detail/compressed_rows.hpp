#pragma once
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include <wordloom/core/parallel.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/model/compression.hpp>
#include <wordloom/model/detail/compressed_file.hpp>
#include <wordloom/model/detail/compressed_functions.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Returns the half-precision number nearest to a finite x, the even one of two; infinity from
/// 65520 on.
inline std::uint16_t half_of(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  const std::uint32_t magnitude = bits & 0x7fff'ffff;
  std::uint32_t half;
  if (magnitude < 0x3880'0000) {  // below 2^-14: a multiple of 2^-24, rounded by an addition
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    half = std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0.5f);
  } else if (magnitude >= 0x477f'f000) {
    half = 0x7c00;
  } else {
    half = (magnitude - (std::uint32_t{112} << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
  }
  return static_cast<std::uint16_t>(sign | half);
}
/// Returns the float of a half-precision number that is finite.
inline float float_of_half(std::uint16_t half) noexcept {
  const int exponent = half >> 10 & 0x1f, mantissa = half & 0x3ff;
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(mantissa), -24)
                              : std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

/// Calls `work(first, last)` for blocks of [0, count), on threads.
template <class Work>
void for_word_blocks(std::size_t count, std::size_t threads, const Work& work) {
  constexpr std::size_t block = 256;
  std::atomic<std::size_t> next{0};
  run_threads((std::min)(threads, (count + block - 1) / block), [&](std::size_t) {
    for (std::size_t first; (first = next.fetch_add(block)) < count;)
      work(first, (std::min)(count, first + block));
  });
}

/// The rows of a file of compressed vectors.
class CompressedRows {
 public:
  using Compression = Embeddings::Compression;

  explicit CompressedRows(const CompressedFile& file)
      : dimension_(file.header().dimension),
        parts_(file.header().parts),
        row_bytes_(file.header().row_bytes()),
        format_(static_cast<Compression::Format>(file.header().format)),
        scales_(file.section<float>(file.layout().scales,
                                    format_ >= Compression::int8 ? file.header().words : 0)),
        inverse_lengths_(file.section<float>(file.layout().inverse_lengths, file.header().words)),
        centres_(file.section<float>(file.layout().centres,
                                     format_ == Compression::product ? dimension_ * 256 : 0)),
        rows_(file.content().data() + file.layout().rows) {}

  std::span<const float> inverse_lengths() const noexcept { return inverse_lengths_; }
  std::size_t row_bytes() const noexcept { return row_bytes_; }

  /// Writes the vector of a row [D].
  void decode(std::size_t row, std::span<float> vector) const;

  /// Returns vectors [n x D] in the form in which products with rows are computed.
  RowMatrix prepared(const RowMatrix& vectors) const;
  /// Writes the dot products of a prepared vector and `count` rows, divided by the lengths of the
  /// rows.
  void cosines(const float* prepared, std::size_t first, std::size_t count, float* products) const;

 private:
  std::size_t dimension_, parts_, row_bytes_;
  Compression::Format format_;
  std::span<const float> scales_, inverse_lengths_, centres_;
  const char* rows_;
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION void CompressedRows::decode(std::size_t row, std::span<float> vector) const {
  const char* const from = rows_ + row * row_bytes_;
  const auto* const codes = reinterpret_cast<const std::uint8_t*>(from);
  switch (format_) {
    case Compression::float32:
      std::memcpy(vector.data(), from, row_bytes_);
      break;
    case Compression::float16:
      for (std::size_t i = 0; i < dimension_; ++i) {
        std::uint16_t half = 0;
        std::memcpy(&half, from + 2 * i, sizeof half);
        vector[i] = float_of_half(half);
      }
      break;
    case Compression::int8:
      for (std::size_t i = 0; i < dimension_; ++i)
        vector[i] = static_cast<float>(static_cast<std::int8_t>(codes[i])) * scales_[row];
      break;
    case Compression::product:
      for (std::size_t part = 0; part < parts_; ++part) {
        const auto [begin, end] = part_of(dimension_, part, parts_);
        for (std::size_t i = begin; i < end; ++i)
          vector[i] = centres_[i * 256 + codes[part]] * scales_[row];
      }
  }
}

WORDLOOM_FUNCTION RowMatrix CompressedRows::prepared(const RowMatrix& vectors) const {
  const bool is_product = format_ == Compression::product;
  RowMatrix result(vectors.rows(), is_product ? parts_ * 256 : (dimension_ + 63) / 64 * 64);
  for (std::size_t v = 0; v < vectors.rows(); ++v) {
    const auto vector = vectors.row(v);
    float* const to = result.row_data(v);
    if (!is_product) std::copy(vector.begin(), vector.end(), to);
    // The products of each part with its centres: those with rows are sums of them.
    for (std::size_t part = 0; part < parts_; ++part) {
      const auto [begin, end] = part_of(dimension_, part, parts_);
      for (std::size_t i = begin; i < end; ++i)
        for (std::size_t c = 0; c < 256; ++c)
          to[part * 256 + c] += vector[i] * centres_[i * 256 + c];
    }
  }
  return result;
}

WORDLOOM_FUNCTION void CompressedRows::cosines(const float* prepared, std::size_t first,
                                               std::size_t count, float* products) const {
  const char* const rows = rows_ + first * row_bytes_;
  const auto functions = simd::compressed_functions();
  switch (format_) {
    case Compression::float32:
      functions.float32(prepared, rows, dimension_, count, products);
      break;
    case Compression::float16:
      functions.float16(prepared, rows, dimension_, count, products);
      break;
    case Compression::int8:
      functions.int8(prepared, rows, dimension_, count, products);
      break;
    case Compression::product:
      for (std::size_t i = 0; i < count; ++i) {
        const auto* const codes = reinterpret_cast<const std::uint8_t*>(rows + i * parts_);
        const auto of = [&](std::size_t part) { return prepared[part * 256 + codes[part]]; };
        float sums[4] = {};
        std::size_t part = 0;
        for (; part + 4 <= parts_; part += 4)
          for (std::size_t s = 0; s < 4; ++s) sums[s] += of(part + s);
        for (; part < parts_; ++part) sums[0] += of(part);
        products[i] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
      }
  }
  for (std::size_t i = 0; i < count; ++i)
    products[i] *= (scales_.empty() ? 1.0f : scales_[first + i]) * inverse_lengths_[first + i];
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
