#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <wordloom/model/embeddings.hpp>

namespace wordloom_test {

/// Whole numbers that any program can make: x = (1103515245 x + 12345) mod 2^31.
class WholeNumbers {
 public:
  explicit WholeNumbers(std::uint64_t seed = 1) : state_(seed) {}

  /// Returns one from -bound to bound.
  int operator()(int bound) {
    state_ = (1103515245 * state_ + 12345) % (std::uint64_t{1} << 31);
    return static_cast<int>((state_ >> 16) % (2 * static_cast<std::uint64_t>(bound) + 1)) - bound;
  }

 private:
  std::uint64_t state_;
};

/// Returns 24 words of 6 whole numbers, of which scores were computed by NumPy and scikit-learn: w8
/// to w15 are w0 to w7 moved by one vector, and by a little more.
inline wordloom::Embeddings known_vectors() {
  WholeNumbers number;
  wordloom::WordList words;
  wordloom::RowMatrix rows(24, 6);
  for (std::size_t i = 0; i < 24; ++i) {
    words.append("w" + std::to_string(i));
    for (float& x : rows.row(i)) x = static_cast<float>(number(100));
  }
  const int offset[] = {90, -70, 0, 30, 0, 50};
  for (std::size_t i = 8; i < 16; ++i)
    for (std::size_t d = 0; d < 6; ++d)
      rows.row(i)[d] = rows.row(i - 8)[d] + static_cast<float>(offset[d]) +
                       static_cast<float>(static_cast<int>(rows.row(i)[d] / 4));
  return {std::move(words), std::move(rows)};
}

}  // namespace wordloom_test
