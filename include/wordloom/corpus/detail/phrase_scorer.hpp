#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include <wordloom/core/detail/abi.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The score of two words that follow each other, from their counts.
struct PhraseScorer {
  enum class Kind : unsigned char { word2vec, gensim, npmi };

  Kind kind = Kind::word2vec;
  std::uint64_t min_count = 5;
  double threshold = 100;
  std::uint64_t words = 0;    // of the corpus
  std::uint64_t strings = 0;  // gensim: different words and pairs

  /// Returns the score of words with counts `first` and `second`, which follow each other
  /// `together` times, at least min_count. The arithmetic is that of word2phrase.c (floats) or
  /// gensim (doubles), so that a pair near the threshold is a phrase here if it is one there.
  double score(std::uint64_t first, std::uint64_t second, std::uint64_t together) const noexcept {
    if (kind == Kind::word2vec)
      return static_cast<float>(together - min_count) / static_cast<float>(first) /
             static_cast<float>(second) * static_cast<float>(words);
    const auto a = static_cast<double>(first), b = static_cast<double>(second);
    if (kind == Kind::gensim)
      return static_cast<double>(together - min_count) / (a * b) * static_cast<double>(strings);
    const auto all = static_cast<double>(words), ab = static_cast<double>(together) / all;
    return std::log(ab / (a / all * (b / all))) / -std::log(ab);
  }

  /// Returns whether words with these counts form a phrase.
  bool accepts(std::uint64_t first, std::uint64_t second, std::uint64_t together,
               double score) const noexcept {
    if (kind == Kind::word2vec)
      return (std::min)({first, second, together}) >= min_count &&
             score > static_cast<double>(static_cast<float>(threshold));
    return together >= min_count && score > threshold;
  }

  /// Returns a number from which may_accept tells whether a word can be part of a phrase: its
  /// count, or minus the logarithm of its share of the corpus; negative if it is too rare.
  float weight(std::uint64_t count) const noexcept {
    if (count < min_count) return -1;
    const auto number = static_cast<double>(count);
    if (kind != Kind::npmi) return static_cast<float>(number);
    return static_cast<float>((std::max)(0.0, std::log(static_cast<double>(words) / number)));
  }

  /// Returns false if words with these weights are no phrase, however often they follow each other:
  /// that is at most the count of the rarer one. Most pairs of a text have a word that is too
  /// frequent or too rare, and need not be counted. Rounding never makes it false.
  bool may_accept(float first, float second) const noexcept {
    if (kind == Kind::gensim) return true;
    const float least = (std::min)(first, second), most = (std::max)(first, second);
    if (least < 0) return false;
    if (kind == Kind::npmi) return least * 1.001f + 1e-5f >= static_cast<float>(threshold) * most;
    return (least - static_cast<float>(min_count)) * (1.001f * static_cast<float>(words)) >=
           static_cast<float>(threshold) * first * second;
  }
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
