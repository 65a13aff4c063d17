#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>
#include <wordloom/core/parallel.hpp>
#include <wordloom/corpus/word_context_matrix.hpp>

#include "corpus/corpus_checks.hpp"

using namespace wordloom;

/// The contexts of all words in a column.
inline std::vector<WordId> column_of(const WordContextMatrix& matrix, std::uint64_t column) {
  std::vector<WordId> contexts(matrix.words().size());
  matrix.contexts(column, 0, contexts);
  return contexts;
}

/// The contexts of an epoch, column after column.
inline SentenceList columns_of(const WordContextMatrix& matrix, std::uint64_t epoch = 0) {
  SentenceList columns;
  for (std::size_t j = 0; j < matrix.columns(); ++j)
    columns.push_back(column_of(matrix, epoch * matrix.columns() + j));
  return columns;
}

/// A corpus with nothing that is optional. Reads count; the `failing_read`-th fails.
struct PlainCorpus {
  static constexpr bool repeats = true;
  const SentenceList* all;
  std::size_t* reads;
  std::size_t failing_read = 1000;

  std::uint64_t token_count() const { return joined(*all).size(); }
  auto sentences(const Shard& shard) const {
    if (shard.index == 0 && ++*reads == failing_read) throw std::runtime_error("read again");
    const auto [first, last] = shard.part_of(all->size());
    return std::vector<std::span<const WordId>>(all->begin() + static_cast<std::ptrdiff_t>(first),
                                                all->begin() + static_cast<std::ptrdiff_t>(last));
  }
};

/// "a0 x b0 a1 x b1 ...": each slot of x, with a window of 1, has a word of its own.
struct OneWordsSlots {
  std::vector<std::vector<std::string>> sentences{{}};
  Vocabulary vocabulary;

  explicit OneWordsSlots(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      for (const auto& word : {"a" + std::to_string(i), std::string("x"), "b" + std::to_string(i)})
        sentences[0].push_back(word);
    vocabulary = Vocabulary::from_sentences(sentences, {.min_count = 1});
  }
};
