#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <wordloom/algebra/detail/pair_counts.hpp>
#include <wordloom/algebra/detail/truncated_svd.hpp>
#include <wordloom/algebra/sparse_matrix.hpp>
#include <wordloom/core/parameters.hpp>
#include <wordloom/corpus/detail/corpus_ids.hpp>
#include <wordloom/corpus/detail/kept_words.hpp>
#include <wordloom/model/embeddings.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Vectors of words by a factorisation of their shifted positive pointwise mutual information (Levy
/// and Goldberg 2014, "Neural Word Embedding as Implicit Matrix Factorization"), with the smoothing
/// of contexts and the power of singular values of Levy, Goldberg and Dagan 2015 and their program
/// hyperwords. Takes any corpus, also walks on a graph. A value; fit() is thread-safe. One seed
/// gives the same bits with any number of threads, on one instruction set.
struct PmiSvd {
  /// Floats in a vector (D): 1 to the number of words.
  std::size_t dimension = 128;
  /// Maximum number of context words on each side, 1 to 1000.
  std::size_t window = 5;
  /// Counts all these words alike. Otherwise a word at distance d counts (window + 1 - d) / window,
  /// the mean of word2vec's random windows.
  bool fixed_window = false;
  /// Threshold of subsampling, as Hyperparameters::subsample, before windows are made; 0 keeps all.
  double subsample = 1e-3;
  /// Contexts are weighted by count ^ this, 0 to 10: 1 gives the plain mutual information.
  double smoothing = 0.75;
  /// The logarithm of this, as of a number of negatives, is subtracted from all entries; 1e-6 to
  /// 1e6.
  double shift = 1;
  /// The power of the singular values (hyperwords' eig), 0 to 10.
  double power = 0.5;
  /// Adds a word's vectors as word and as context, each of unit length
  /// (hyperwords' w+c).
  bool adds_contexts = false;
  /// Power iterations of the factorisation, 0 to 1000: more are more exact.
  std::size_t iterations = 4;
  std::uint64_t seed = 1;
  /// Threads, up to 65536; 0: as many as are worth starting.
  std::size_t threads = 0;
  /// Called with the share of the work that is done, 0 to 1, by the calling thread. An exception
  /// that it throws ends the work and reaches the caller.
  std::function<void(double)> progress = {};

  /// Returns vectors [words x D], not normalised: U S^power of the matrix U S V^T. Words without a
  /// context have vectors of zeros. Throws InvalidArgument, also if the shift leaves no entry, and
  /// CorpusError for a corpus without contexts or with another vocabulary. Reads the corpus once.
  /// Memory: 4 bytes for each kept word of the corpus; 8 to 24 bytes for each different pair of
  /// words in a window of a thread; then 16 bytes for each entry of the matrix, and two matrices
  /// [words x (D + 16)].
  template <Corpus C>
  [[nodiscard]] Embeddings fit(const C& corpus, const Vocabulary& vocabulary) const {
    check(vocabulary);
    return factorise(matrix(corpus, vocabulary), vocabulary);
  }

  /// Returns the matrix that fit() factorises [words x words]: for word w and context c, max(0,
  /// log(n(w, c) / (n(w) p(c))) - log(shift)), where n(w, c) counts c in the windows of w, n(w) is
  /// the sum of its row, and p(c) is n(c) ^ smoothing as a share of the sum over all contexts.
  /// Columns ascend within a row. Throws as fit().
  template <Corpus C>
  [[nodiscard]] SparseMatrix matrix(const C& corpus, const Vocabulary& vocabulary) const {
    validate();
    detail::require_same_vocabulary(corpus, vocabulary);
    return shifted_pmi(
        detail::KeptWords::of(corpus, vocabulary, detail::drops_words(corpus) ? subsample : 0, seed,
                              threads),
        vocabulary.size());
  }

  /// Throws InvalidArgument.
  void validate() const {
    check_parameter("dimension", dimension, 1, 65536);
    check_parameter("window", window, 1, 1000);
    check_parameter("subsample", subsample, 0.0, 1.0);
    check_parameter("smoothing", smoothing, 0.0, 10.0);
    check_parameter("shift", shift, 1e-6, 1e6);
    check_parameter("power", power, 0.0, 10.0);
    check_parameter("iterations", iterations, 0, 1000);
  }
  /// Throws InvalidArgument, also unless this vocabulary has vectors of that dimension.
  void check(const Vocabulary& vocabulary) const {
    validate();
    if (dimension > vocabulary.size())
      throw InvalidArgument{"dimension is ", dimension, ", the vocabulary has only ",
                            vocabulary.size(),
                            " words: factors of its matrix have at most as many"};
  }

 private:
  SparseMatrix shifted_pmi(detail::KeptWords words, std::size_t word_count) const;
  Embeddings factorise(const SparseMatrix& matrix, const Vocabulary& vocabulary) const;
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION SparseMatrix PmiSvd::shifted_pmi(detail::KeptWords words,
                                                   std::size_t word_count) const {
  constexpr double share_of_counts = 0.4;
  const detail::PairCounts counts(std::move(words), word_count, window, fixed_window, threads,
                                  [&](double share) {
                                    if (progress) progress(share_of_counts * share);
                                  });
  const std::vector<std::uint64_t> sums = counts.row_sums(threads);
  // log(n(w, c)) - of_word[w] - of_context[c]
  std::vector<double> of_word(word_count), of_context(word_count);
  double total = 0;
  for (const std::uint64_t sum : sums)
    if (sum > 0) total += std::pow(static_cast<double>(sum), smoothing);
  for (std::size_t i = 0; i < word_count; ++i) {
    const double log_sum = std::log(static_cast<double>(sums[i]));
    of_word[i] = log_sum + std::log(shift);
    of_context[i] = smoothing * log_sum - std::log(total);
  }
  struct Part {
    std::vector<std::uint32_t> columns;
    std::vector<float> values;
  };
  constexpr std::size_t block = 64;
  std::vector<Part> parts((word_count + block - 1) / block);
  std::vector<std::uint64_t> ends(word_count);
  const std::size_t used = resolve_threads(threads);
  std::vector<detail::PairCounts::Row> rows(used, detail::PairCounts::Row(word_count));
  detail::for_blocks(
      word_count, block, used, [&](std::size_t thread, std::size_t first, std::size_t last) {
        Part& to = parts[first / block];
        for (std::size_t i = first; i < last; ++i) {
          counts.add_row(i, rows[thread]);
          rows[thread].take(true, [&](std::uint32_t j, std::uint64_t count) {
            const double value = std::log(static_cast<double>(count)) - of_word[i] - of_context[j];
            if (!(value > 0)) return;
            to.columns.push_back(j);
            to.values.push_back(static_cast<float>(value));
          });
          ends[i] = to.columns.size();
        }
      });
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < word_count; ++i) {
    if (i > 0 && i % block == 0) before = ends[i - 1];
    ends[i] += before;
  }
  if (ends.empty() || ends.back() == 0)
    throw InvalidArgument{"shift is ", shift,
                          ": no word has a context with more mutual information than its "
                          "logarithm, give a lower one"};
  std::vector<std::uint32_t> columns;
  std::vector<float> values;
  columns.reserve(ends.back());
  values.reserve(ends.back());
  for (Part& from : parts) {
    columns.insert(columns.end(), from.columns.begin(), from.columns.end());
    values.insert(values.end(), from.values.begin(), from.values.end());
    from = {};
  }
  return SparseMatrix(std::move(ends), std::move(columns), std::move(values), word_count);
}

WORDLOOM_FUNCTION Embeddings PmiSvd::factorise(const SparseMatrix& matrix,
                                               const Vocabulary& vocabulary) const {
  const SparseMatrix turned = matrix.transposed();
  double done = 0;
  const auto multiply_by = [&](const SparseMatrix& factor) {
    return [&](RowMatrix& y, const RowMatrix& x) {
      factor.multiply_into(y, x, threads);
      done += 1 / static_cast<double>(2 * iterations + 2);
      if (progress) progress(0.4 + 0.6 * done);
    };
  };
  auto svd = detail::truncated_svd(
      {matrix.rows(), matrix.columns(), multiply_by(matrix), multiply_by(turned)},
      {.rank = dimension, .iterations = iterations, .seed = seed, .threads = threads});
  const auto scale = [&](RowMatrix& x, double exponent) {
    std::vector<float> scales(dimension);
    std::ranges::transform(svd.values, scales.begin(), [&](double value) {
      return value > 0 ? static_cast<float>(std::pow(value, exponent)) : 0.0f;
    });
    for (std::size_t i = 0; i < x.rows(); ++i)
      for (std::size_t j = 0; j < dimension; ++j) x.row(i)[j] *= scales[j];
  };
  RowMatrix contexts;  // V S^power = M^T U S^(power - 1)
  if (adds_contexts) scale(contexts = turned.multiply(svd.left, threads), power - 1);
  scale(svd.left, power);
  if (adds_contexts) {
    detail::normalise_rows(svd.left, threads);
    detail::normalise_rows(contexts, threads);
    for (std::size_t i = 0; i < contexts.rows(); ++i)
      std::ranges::transform(svd.left.row(i), contexts.row(i), svd.left.row(i).begin(),
                             std::plus<float>());
  }
  return Embeddings(vocabulary.words(), std::move(svd.left), vocabulary.counts());
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
