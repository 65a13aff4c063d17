#pragma once
#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include <wordloom/core/parallel.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/corpus/subwords.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Writes the vector [D] of a word, the mean of its bag, in fastText's order of operations; zeros
/// if the bag is empty. `id`: its id in a vocabulary of `words` words, if it is there.
void compose_vector(std::string_view word, std::optional<WordId> id, std::size_t words,
                    const RowMatrix& input, const SubwordOptions& subwords,
                    std::span<float> vector);

/// Returns the vectors of all words [V x D], computed by all threads.
RowMatrix composed_vectors(const WordList& words, const RowMatrix& input,
                           const SubwordOptions& subwords);

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION void compose_vector(std::string_view word, std::optional<WordId> id,
                                      std::size_t words, const RowMatrix& input,
                                      const SubwordOptions& subwords, std::span<float> vector) {
  std::fill(vector.begin(), vector.end(), 0.0f);
  std::size_t size = 0;
  for_each_row_of_word(word, id, words, subwords, [&](RowId row) {
    const float* const from = input.row_data(row);
    for (std::size_t c = 0; c < vector.size(); ++c) vector[c] += from[c];
    ++size;
  });
  if (size == 0) return;
  const auto scale = static_cast<float>(1.0 / static_cast<double>(size));
  for (float& x : vector) x *= scale;
}

WORDLOOM_FUNCTION RowMatrix composed_vectors(const WordList& words, const RowMatrix& input,
                                             const SubwordOptions& subwords) {
  RowMatrix vectors(words.size(), input.columns());
  const std::size_t threads = std::clamp<std::size_t>(words.size() / 1000, 1, resolve_threads(0));
  run_threads(threads, [&](std::size_t t) {
    const auto [first, last] = detail::part_of(words.size(), t, threads);
    for (std::size_t w = first; w < last; ++w)
      compose_vector(words[w], static_cast<WordId>(w), words.size(), input, subwords,
                     vectors.row(w));
  });
  return vectors;
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
