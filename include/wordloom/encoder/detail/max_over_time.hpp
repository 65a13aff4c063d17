#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include <wordloom/core/detail/abi.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd {

/// A convolution of `width` symbols by F filters. Symbols are few, and both their embedding E
/// [symbols x C] and the filters W [width x C x F] are linear, so that their products are computed
/// once for all sequences: row k x symbols + s of `rows` is E[s] x W[k], what symbol s at place k
/// of a window adds to the F filters. A window is then the sum of `width` rows.
struct ConvolutionTable {
  const float* rows;  // [width x symbols rows of stride floats]
  std::size_t symbols, width;
  std::size_t stride;  // F, a multiple of 16
  // The following are for max_over_time and scatter_max alone.
  std::size_t step = 1;  // symbols from a window to the next: those of a token
  float least = 0;       // features below are set to this: 0 is ReLU
};

/// The vector code of convolution. Arrays of floats are aligned to 64 bytes.
struct ConvolutionFunctions {
  /// (table, symbols [length], length, bias [F], hidden [F], places [F]): writes, for each filter,
  /// the largest sum of all windows plus its bias, at least `least` (max over time and ReLU: Kim
  /// 2014, "Convolutional Neural Networks for Sentence Classification", equation 2), and the number
  /// of the first such window. A sequence shorter than the filters is one window, padded with
  /// zeros. `length` is at least 1.
  void (*max_over_time)(const ConvolutionTable&, const std::uint32_t*, std::size_t, const float*,
                        float*, std::int32_t*) noexcept;
  /// (table, symbols [length], length, bias [F], positions, hidden [positions x F]): writes the
  /// sums of the first windows plus bias through ReLU, and 0 for those that a sequence lacks
  /// (flattened: Li et al. 2019, section 5.8).
  void (*all_windows)(const ConvolutionTable&, const std::uint32_t*, std::size_t, const float*,
                      std::size_t, float*) noexcept;
  /// (hidden, gradient, size): sets the gradient to zero where hidden is not above zero.
  void (*pass_positive)(const float*, float*, std::size_t) noexcept;
};
ConvolutionFunctions convolution_functions();

/// The gradient of max_over_time for filters [first, last): adds the gradient of each filter to
/// the rows of `changes`, of the shape of the table, that its largest window summed.
inline void scatter_max(float* changes, const ConvolutionTable& table,
                        std::span<const std::uint32_t> symbols, const std::int32_t* places,
                        const float* gradient, std::size_t first, std::size_t last) noexcept {
  const std::size_t width = (std::min)(table.width, symbols.size());
  for (std::size_t f = first; f < last; ++f) {
    if (gradient[f] == 0.0f) continue;
    const std::uint32_t* const window =
        symbols.data() + static_cast<std::size_t>(places[f]) * table.step;
    for (std::size_t k = 0; k < width; ++k)
      changes[(k * table.symbols + window[k]) * table.stride + f] += gradient[f];
  }
}

/// Adds the gradients of the results of all_windows [positions x F] to those of the table.
inline void scatter_all(float* changes, const ConvolutionTable& table,
                        std::span<const std::uint32_t> symbols, std::size_t positions,
                        const float* gradient, std::size_t first, std::size_t last) noexcept {
  const std::size_t width = (std::min)(table.width, symbols.size());
  positions = (std::min)(positions, symbols.size() - width + 1);
  for (std::size_t p = 0; p < positions; ++p)
    for (std::size_t k = 0; k < width; ++k) {
      float* const row = changes + (k * table.symbols + symbols[p + k]) * table.stride;
      for (std::size_t f = first; f < last; ++f) row[f] += gradient[p * table.stride + f];
    }
}

}}}  // namespace wordloom::WORDLOOM_ABI::simd

#ifndef WORDLOOM_PRECOMPILED
#include <wordloom/simd/detail/row_access.hpp>
#include <wordloom/simd/instruction_set.hpp>
#define WORDLOOM_VECTOR_CODE <wordloom/encoder/detail/max_over_time.inl>
#include <wordloom/simd/detail/for_each_target.inl>
inline wordloom::simd::ConvolutionFunctions wordloom::simd::convolution_functions() {
  return WORDLOOM_OF_TARGET(convolution_table());
}
#endif
