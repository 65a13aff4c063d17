#pragma once
#include <cstdint>
#include <iterator>
#include <utility>

#include <wordloom/core/detail/abi.hpp>

// Functions that run on a device and are tested on the host: nvcc compiles them for both, other
// compilers for the host.
#ifdef __CUDACC__
#define WORDLOOM_BOTH __host__ __device__ __forceinline__
#else
#define WORDLOOM_BOTH inline
#endif
#ifdef __CUDA_ARCH__
#define WORDLOOM_UNROLL _Pragma("unroll")
#define WORDLOOM_NO_UNROLL _Pragma("unroll 1")
#else
#define WORDLOOM_UNROLL
#define WORDLOOM_NO_UNROLL
#endif

namespace wordloom { inline namespace WORDLOOM_ABI {

/// The number of a word (or node) in its vocabulary: 0 is the most frequent word.
using WordId = std::uint32_t;

/// A row of a matrix of the model. For words it is the WordId, but rows of subwords and of inner
/// nodes of a Huffman tree are rows too.
using RowId = std::uint32_t;

namespace detail {

/// Stands for std::ranges::input_range, whose header takes long to compile.
template <class Range>
concept InputRange = requires(Range& range) {
  { std::begin(range) } -> std::input_iterator;
  { std::end(range) } -> std::sentinel_for<decltype(std::begin(range))>;
};
template <class Range>
using ElementOf = std::iter_reference_t<decltype(std::begin(std::declval<Range&>()))>;

}  // namespace detail

}}  // namespace wordloom::WORDLOOM_ABI
