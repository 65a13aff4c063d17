#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/evaluation/letter_case.hpp>
#include <wordloom/model/embeddings.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Vectors of sentences or documents [S x D], from those of their words as they are: their mean, or
/// the smooth inverse frequency of Arora, Liang and Ma (2017), v = sum over words of a / (a + p(w))
/// v_w / number of words, less its projection on the first singular vector of all v. Words without
/// a vector are left out; with vectors that are made of subwords, every word has one. Immutable;
/// all members are thread-safe. Any number of threads gives the same bits.
class SentenceVectors {
 public:
  enum class Method : unsigned char { mean, sif };

  struct Options {
    Method method = Method::mean;
    /// a of the weights (1e-6 to 1).
    double smoothing = 1e-3;
    /// [V] how often each word occurs, for p(w) of sif; empty: the counts of the embeddings. A word
    /// that is made of subwords has p = 0.
    std::span<const std::uint64_t> counts = {};
    /// Without any counts, takes p(w) of the word with number i as proportional to 1 / (i + 1)
    /// (Zipf's law): for vectors in order of frequency. Without it such vectors are refused.
    bool zipf = false;
    LetterCase letter_case = LetterCase::fallback;
    std::size_t threads = 0;
  };

  /// A sentence by number and its cosine with a question.
  struct Match {
    std::size_t sentence;
    float score;
  };

  /// Two sentences and the similarity that people gave them.
  struct Pair {
    std::string first, second;
    double score;

    /// Reads lines "score<TAB>sentence<TAB>sentence", as STS sets have them; a pair without a score
    /// (an empty field) is left out. Throws IoError, and FormatError with the line.
    [[nodiscard]] static std::vector<Pair> load(const std::filesystem::path& path);
  };
  /// Correlations of the cosines of pairs with people's scores; NaN below two pairs.
  struct Report {
    double pearson = std::numeric_limits<double>::quiet_NaN();
    double spearman = std::numeric_limits<double>::quiet_NaN();
    std::size_t used = 0;
    /// Pairs left out because a sentence has no word with a vector.
    std::size_t without_words = 0;
  };

  /// Computes the vectors of sentences, whose words are separated by white space. `words`:
  /// Embeddings, or vectors of any word such as SubwordEmbeddings. Throws InvalidArgument for
  /// options out of bounds; with sif without counts, and for fewer than two sentences with words,
  /// which nothing would be left of.
  template <class Words>
  SentenceVectors(const Words& words, std::span<const std::string> sentences,
                  const Options& options)
      : SentenceVectors(words.in_vocabulary(), lookup_of(words), sentences, options) {}
  template <class Words>
  SentenceVectors(const Words& words, std::span<const std::string> sentences)
      : SentenceVectors(words, sentences, Options{}) {}

  /// Returns the lines of a text, plain or .gz, that are not blank. Throws IoError, and FormatError
  /// if there is no such line or the file is no text.
  static std::vector<std::string> load_sentences(const std::filesystem::path& path);

  /// Returns the vectors [S x D]; zeros for a sentence without words that have a vector.
  const RowMatrix& vectors() const& noexcept { return vectors_; }
  void vectors() const&& = delete;
  /// Returns the number of sentences without such words.
  std::size_t without_words() const noexcept { return without_words_; }

  /// Returns the vector [D] of another sentence, with the singular vector of these.
  [[nodiscard]] std::vector<float> vector(std::string_view sentence) const;
  /// Returns the k of these sentences that are nearest to another by cosine, best first, without
  /// those that have no words with vectors. Throws
  /// InvalidArgument if no word of it has a vector.
  [[nodiscard]] std::vector<Match> most_similar(std::string_view sentence,
                                                std::size_t k = 10) const;

  /// Compares cosines of pairs with people's scores; with sif, the sentences of all pairs are those
  /// whose singular vector is removed. Throws as the constructor.
  template <class Words>
  [[nodiscard]] static Report evaluate(const Words& words, std::span<const Pair> pairs,
                                       const Options& options) {
    std::vector<std::string> sentences;
    for (const Pair& pair : pairs)
      for (const auto* side : {&pair.first, &pair.second}) sentences.push_back(*side);
    return SentenceVectors(words, sentences, options).report_of(pairs);
  }

 private:
  /// Writes the vector of a word out of the vocabulary, if it has one.
  using Lookup = std::function<bool(std::string_view word, std::span<float> vector)>;

  template <class Words>
  static Lookup lookup_of(const Words& words) {
    if constexpr (requires { words.has_vector(std::string_view()); })
      return [words](std::string_view word, std::span<float> vector) {
        if (!words.has_vector(word)) return false;
        std::ranges::copy(words.vector(word), vector.begin());
        return true;
      };
    else
      return nullptr;
  }

  SentenceVectors(Embeddings known, Lookup lookup, std::span<const std::string> sentences,
                  const Options& options);

  /// Adds up a sentence's words; returns false if none has a vector.
  bool compose(std::string_view sentence, std::span<float> sum) const;
  void remove_common(std::span<float> vector) const;
  Report report_of(std::span<const Pair> pairs) const;

  Embeddings known_;
  Lookup lookup_;
  LetterCase letter_case_;
  std::vector<float> weights_;  // [V] of sif, else none
  std::vector<float> common_;   // [D] the singular vector, or none
  RowMatrix vectors_;
  std::vector<float> inverse_lengths_;
  std::size_t without_words_ = 0;
};

}}  // namespace wordloom::WORDLOOM_ABI

#if WORDLOOM_DEFINES_FUNCTIONS
#include <wordloom/evaluation/detail/sentence_vectors.inl>
#endif
