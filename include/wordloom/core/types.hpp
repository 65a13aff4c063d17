#pragma once
#include <cstdint>

namespace wordloom {

/// Row of a word (or node) in the model: 0 is the most frequent word.
using WordId = std::uint32_t;

}  // namespace wordloom
