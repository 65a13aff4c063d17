#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/core/random.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/model/model.hpp>

/// Returns words w100, w101, ... with these counts, which do not rise.
inline wordloom::Vocabulary vocabulary_of_counts(const std::vector<std::uint64_t>& counts) {
  std::vector<std::pair<std::string, std::uint64_t>> words;
  for (std::size_t i = 0; i < counts.size(); ++i)
    words.emplace_back("w" + std::to_string(100 + i), counts[i]);
  return wordloom::Vocabulary::from_counts(words);
}

/// Word i of `size` comes about `most` / i times.
inline wordloom::Vocabulary zipf_vocabulary(std::size_t size, std::uint64_t most = 100'000) {
  std::vector<std::pair<std::string, std::uint64_t>> words;
  for (std::size_t i = 1; i <= size; ++i)
    words.emplace_back("w" + std::to_string(1000 + i), most / i + 1);
  return wordloom::Vocabulary::from_counts(words);
}

/// Returns `count` sentences of `size` words, each drawn from the first `words`.
inline std::vector<std::vector<wordloom::WordId>> random_sentences(std::size_t count,
                                                                   std::size_t size,
                                                                   std::size_t words) {
  std::vector<std::vector<wordloom::WordId>> sentences(count, std::vector<wordloom::WordId>(size));
  wordloom::Random random(7);
  for (auto& sentence : sentences)
    for (wordloom::WordId& word : sentence)
      word = static_cast<wordloom::WordId>(random.below(words));
  return sentences;
}

/// Returns `count` sentences of up to 16 words, each of 5 neighbours in the vocabulary of `words`,
/// so that there is something to learn.
inline std::vector<std::vector<wordloom::WordId>> neighbouring_words(std::size_t count,
                                                                     std::size_t words) {
  std::vector<std::vector<wordloom::WordId>> sentences(count);
  wordloom::Random random(9);
  for (auto& sentence : sentences) {
    const std::size_t around = random.below(words - 5);
    for (std::size_t i = 0; i < 2 + random.below(15); ++i)
      sentence.push_back(static_cast<wordloom::WordId>(around + random.below(5)));
  }
  return sentences;
}

inline double cosine(const std::vector<double>& a, const std::vector<double>& b) {
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t c = 0; c < a.size(); ++c) {
    ab += a[c] * b[c];
    aa += a[c] * a[c];
    bb += b[c] * b[c];
  }
  return ab / std::sqrt(aa * bb);
}

/// Both matrices random, as they are in the midst of training. `output_rows` = 0: one for each
/// word.
inline wordloom::Model random_model(const wordloom::Vocabulary& vocabulary, std::size_t dimension,
                                    std::size_t output_rows = 0) {
  wordloom::Model model(vocabulary, {.dimension = dimension, .output_rows = output_rows});
  wordloom::Random random(5);
  for (wordloom::RowMatrix* matrix : {&model.input, &model.output})
    for (std::size_t i = 0; i < matrix->rows(); ++i)
      for (float& x : matrix->row(i)) x = static_cast<float>(random.uniform() - 0.5) * 0.3f;
  return model;
}

/// Whether two matrices have the same shape and numbers.
inline bool same_matrix(const wordloom::RowMatrix& a, const wordloom::RowMatrix& b) {
  if (a.rows() != b.rows() || a.columns() != b.columns()) return false;
  for (std::size_t i = 0; i < a.rows(); ++i)
    if (!std::equal(a.row(i).begin(), a.row(i).end(), b.row(i).begin())) return false;
  return true;
}

/// Whether two models have matrices of the same names, bit for bit the same.
inline bool same_matrices(const wordloom::Model& a, const wordloom::Model& b) {
  const auto of_a = a.matrices(), of_b = b.matrices();
  if (of_a.size() != of_b.size()) return false;
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    const auto &x = *of_a[i].matrix, &y = *of_b[i].matrix;
    if (of_a[i].name != of_b[i].name || x.rows() != y.rows() || x.columns() != y.columns() ||
        std::memcmp(x.data(), y.data(), x.bytes()) != 0)
      return false;
  }
  return true;
}
