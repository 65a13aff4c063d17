#pragma once
#include <cstddef>
#include <cstdint>

#include <wordloom/model/embeddings.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// The form that Embeddings::compress makes, which throws InvalidArgument for numbers that are not
/// finite or too large for float16, for vectors that are too small for it, for lengths other than 0
/// and 3.2e-39 to 3.1e38, for `bytes` out of bounds or with another format, and for more than 4 GiB
/// of words. Counts are kept.
struct Embeddings::Compression {
  enum Format : std::uint32_t {
    float32,  // the numbers as they are, to be mapped
    float16,  // IEEE 754's half precision, rounded to nearest: 11 bits
    int8,     // signed integers, -127 to 127, and a scale for each word
    product   // product quantisation: `bytes` codes of 8 bits (256 centres each), and a scale
  };
  Format format = int8;
  /// Bytes of a word of product quantisation, 1 to D; 0: D / 4, rounded up. More bytes keep more.
  std::size_t bytes = 0;
  /// Seed of the k-means of product quantisation.
  std::uint64_t seed = 1;
  /// 0: automatic. The result does not depend on it.
  std::size_t threads = 0;
};

}}  // namespace wordloom::WORDLOOM_ABI
