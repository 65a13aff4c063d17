#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <wordloom/core/types.hpp>
#include <wordloom/cuda/detail/machine.cuh>
#include <wordloom/cuda/detail/runtime.cuh>
#include <wordloom/cuda/detail/teams.cuh>

/// The kernels of a character CNN besides cuBLAS. Each number is computed by one thread in one
/// order, or its parts are added in one order: equal inputs give equal bits.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// The shape of a convolution, and the symbols of all words.
struct ConvolutionView {
  const std::uint32_t* symbols;  // places in the alphabet
  const std::uint64_t* begins;   // [V + 1] of words among the symbols
  std::uint32_t alphabet, min_width, widths, filters;
  std::uint32_t positions;  // of windows that are features; 0: the largest

  /// Returns the features of a filter.
  WORDLOOM_BOTH std::uint32_t places() const { return positions == 0 ? 1 : positions; }
  WORDLOOM_BOTH std::uint32_t features() const { return widths * places() * filters; }
  /// Returns the number of windows: pairs of one of the first `count` widths and a place in it.
  WORDLOOM_BOTH std::uint32_t windows(std::uint32_t count) const {
    return count * min_width + count * (count - 1) / 2;
  }
};

/// A batch of words: every step-th one from the first on, or those of a list.
struct BatchWords {
  std::size_t first, step;
  const std::uint32_t* list = nullptr;
  WORDLOOM_BOTH std::size_t operator[](std::size_t b) const {
    return list != nullptr ? list[b] : first + b * step;
  }
};

/// The place of a feature that ReLU has cut off.
inline constexpr std::uint32_t cut_off = UINT32_MAX;

/// Work for 32 features of a word: as max_over_time or all_windows of simd::ConvolutionFunctions.
/// `table` [windows x alphabet x F] has the products of embeddings and filters.
struct FindFeatures {
  ConvolutionView shape;
  BatchWords words;
  const float *table, *biases;  // biases: [widths x F]
  float* features;              // [B x H]
  std::uint32_t* places;        // [B x H], or null

  template <class Team>
  WORDLOOM_BOTH void operator()(const Team& team, std::uint32_t item) const {
    const std::uint32_t groups = (shape.features() + 31) / 32;
    const std::size_t b = item / groups;
    team.each([&](int lane) {
      const std::uint32_t h = item % groups * 32 + static_cast<std::uint32_t>(lane);
      if (h < shape.features()) find(b, h);
      return 0;
    });
  }

 private:
  WORDLOOM_BOTH void find(std::size_t b, std::uint32_t h) const {
    const std::uint64_t begin = shape.begins[words[b]];
    const auto length = static_cast<std::uint32_t>(shape.begins[words[b] + 1] - begin);
    const std::uint32_t* const symbols = shape.symbols + begin;
    const std::uint32_t i = h / (shape.places() * shape.filters), widest = shape.min_width + i;
    const std::uint32_t width = widest < length ? widest : length;
    const float* const column =
        table + std::size_t{shape.windows(i)} * shape.alphabet * shape.filters + h % shape.filters;
    float best = 0;
    const bool one = shape.positions > 0;  // window of all
    const std::uint32_t first = one ? h / shape.filters % shape.positions : 0;
    const bool exists = first + width <= length;
    std::uint32_t place = first;
    for (std::uint32_t p = first; p + width <= length && (p == first || !one); ++p) {
      float sum = 0;
      for (std::uint32_t k = 0; k < width; ++k) {
        const std::size_t row = std::size_t{k} * shape.alphabet + symbols[p + k];
        const float more = column[row * shape.filters];
        sum = k == 0 ? more : sum + more;
      }
      if (p == first || sum > best) {
        best = sum;
        place = p;
      }
    }
    const float hidden = best + biases[i * shape.filters + h % shape.filters];
    const bool passes = exists && hidden > 0;
    features[b * shape.features() + h] = passes ? hidden : 0.0f;
    if (places != nullptr) places[b * shape.features() + h] = passes ? place : cut_off;
  }
};

/// Work for a word: writes the bias, minus the word's target if there are targets; a matrix product
/// then adds to it.
struct StartVectors {
  BatchWords words;
  std::size_t dimension;
  const float *bias, *targets;  // targets: [V x D], or null
  float* vectors;               // [B x D]

  template <class Team>
  WORDLOOM_BOTH void operator()(const Team& team, std::uint32_t b) const {
    team.each([&](int lane) {
      for (auto d = static_cast<std::size_t>(lane); d < dimension; d += 32)
        vectors[b * dimension + d] =
            bias[d] - (targets == nullptr ? 0.0f : targets[words[b] * dimension + d]);
      return 0;
    });
  }
};

/// Work for a word: writes the gradient by its vector, minus the change of the vector by `rate`.
struct FindGradients {
  BatchWords words;
  std::size_t dimension;
  const float *before, *now;  // of the words, by number
  float rate;
  float* gradients;  // [B x D]

  template <class Team>
  WORDLOOM_BOTH void operator()(const Team& team, std::uint32_t b) const {
    team.each([&](int lane) {
      for (auto d = static_cast<std::size_t>(lane); d < dimension; d += 32) {
        const std::size_t at = words[b] * dimension + d;
        gradients[b * dimension + d] = (before[at] - now[at]) / rate;
      }
      return 0;
    });
  }
};

/// The gradients of the table [windows x alphabet x F] and the biases [widths x F]. A block
/// computes each window of 32 filters; its warps share the words and then add their sums.
template <int max_warps>
__global__ void __launch_bounds__(32 * max_warps)
    gather_max(ConvolutionView shape, BatchWords words, std::uint32_t batch,
               const std::uint32_t* places, const float* gradients, float* table_gradients,
               float* bias_gradients) {
  const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const std::uint32_t groups = (shape.filters + 31) / 32, window = blockIdx.x / groups;
  const std::uint32_t f = blockIdx.x % groups * 32 + lane;
  std::uint32_t i = 0;
  while (shape.windows(i + 1) <= window) ++i;
  const std::uint32_t k = window - shape.windows(i);
  // [warps x (alphabet + 1) x 32]; the rows after the symbols are for the bias.
  const std::uint32_t rows = shape.alphabet + 1;
  float* const sums = dynamic_shared() + lane;
  float* const own = sums + std::size_t{warp} * rows * 32;
  for (std::uint32_t s = 0; s < rows; ++s) own[s * 32] = 0;
  if (f < shape.filters) {
    const std::size_t h = std::size_t{i} * shape.places() * shape.filters + f;
#pragma unroll 4
    for (std::uint32_t b = warp; b < batch; b += warps)
      for (std::uint32_t p = 0; p < shape.places(); ++p) {
        const std::size_t at =
            std::size_t{b} * shape.features() + h + std::size_t{p} * shape.filters;
        const std::uint32_t place = places[at];
        if (place == cut_off) continue;
        const std::uint64_t symbol = shape.begins[words[b]] + place + k;
        if (symbol < shape.begins[words[b] + 1]) own[shape.symbols[symbol] * 32] += gradients[at];
        if (k == 0) own[shape.alphabet * 32] += gradients[at];
      }
  }
  __syncthreads();
  if (f >= shape.filters) return;
  for (std::uint32_t s = warp; s < rows; s += warps) {
    float sum = 0;
    for (std::uint32_t w = 0; w < warps; ++w) sum += sums[(w * rows + s) * 32];
    if (s < shape.alphabet)
      table_gradients[(std::size_t{window} * shape.alphabet + s) * shape.filters + f] = sum;
    else if (k == 0)
      bias_gradients[i * shape.filters + f] = sum;
  }
}

/// The memory of a batch of words with H features each.
struct WordBatch {
  WordBatch() = default;
  /// Has room for the features of `chunk` words, of which `size` are a batch. Throws DeviceError.
  WordBatch(std::size_t size, std::size_t chunk, std::size_t H, std::size_t D)
      : words(size),
        features(chunk * H, "the encoder"),
        feature_gradients(size * H, "the encoder"),
        places(size * H, "the encoder"),
        error(size * D, "the encoder") {}

  std::size_t words = 0;
  DeviceArray<float> features, feature_gradients;  // [chunk x H], [size x H]
  DeviceArray<std::uint32_t> places;               // [size x H]
  DeviceArray<float> error;                        // [size x D]
};

/// Starts gather_max with as many warps a block as fit the shared memory of any device.
inline void launch_gather_max(const ConvolutionView& shape, const BatchWords& words,
                              std::uint32_t batch, const std::uint32_t* places,
                              const float* gradients, float* table_gradients, float* bias_gradients,
                              cudaStream_t stream) {
  constexpr std::size_t max_bytes = 48 << 10;
  constexpr int max_warps = 8;
  const std::size_t bytes_of_warp = (shape.alphabet + std::size_t{1}) * 32 * sizeof(float);
  const std::size_t warps = (std::min<std::size_t>)(max_warps, max_bytes / bytes_of_warp);
  const std::size_t groups = (shape.filters + 31) / 32;
  launch(&gather_max<max_warps>, shape.windows(shape.widths) * groups, 32 * warps,
         warps * bytes_of_warp, stream, shape, words, batch, places, gradients, table_gradients,
         bias_gradients);
}

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
