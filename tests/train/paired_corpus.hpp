#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/model/embeddings.hpp>

/// Words w0, w1, ... in this order.
inline wordloom::Vocabulary small_vocabulary(std::size_t size = 20) {
  std::vector<std::pair<std::string, std::uint64_t>> counts;
  for (std::size_t i = 0; i < size; ++i) counts.emplace_back("w" + std::to_string(i), 1000 - i);
  return wordloom::Vocabulary::from_counts(counts);
}

/// Sentences in which word 2k stands beside 2k + 1.
inline wordloom::EncodedCorpus paired_corpus(const wordloom::Vocabulary& vocabulary,
                                             std::size_t sentences = 400) {
  std::vector<std::vector<wordloom::WordId>> text(sentences);
  wordloom::Random random(3);
  for (auto& sentence : text) {
    const auto pair = static_cast<wordloom::WordId>(2 * random.below(vocabulary.size() / 2));
    for (int i = 0; i < 10; ++i)
      sentence.push_back(pair + static_cast<wordloom::WordId>(random.below(2)));
  }
  return wordloom::EncodedCorpus::from_sentences(text, vocabulary);
}

inline wordloom::Hyperparameters small(std::size_t threads = 1) {
  return {.dimension = 16, .subsample = 0, .epochs = 3, .threads = threads};
}

inline bool same(const wordloom::Embeddings& a, const wordloom::Embeddings& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!std::equal(a.vector(i).begin(), a.vector(i).end(), b.vector(i).begin())) return false;
  return true;
}
