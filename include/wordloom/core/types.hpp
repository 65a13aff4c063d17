#pragma once
#include <cstdint>

namespace wordloom {

/// The number of a word (or node) in its vocabulary: 0 is the most frequent one.
using WordId = std::uint32_t;

/// A row of a matrix of the model. For words it is the WordId, but rows of subwords and of inner
/// nodes of a Huffman tree are rows too.
using RowId = std::uint32_t;

}  // namespace wordloom
