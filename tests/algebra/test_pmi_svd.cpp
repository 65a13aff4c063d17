#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/algebra.hpp>
#include <wordloom/corpus/encoded_corpus.hpp>

#include "algebra/same_bits.hpp"
#include "catch.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

/// Sentences of random words, of which word 0 is the most frequent; words 8 and 9 follow each
/// other, and no other word is near them.
std::vector<std::vector<WordId>> random_sentences() {
  Random random(5);
  std::vector<std::vector<WordId>> sentences{{0}, {8, 9, 8, 9}};
  for (int i = 0; i < 300; ++i) {
    auto& sentence = sentences.emplace_back();
    for (std::uint64_t n = 2 + random.below(9); n > 0; --n)
      sentence.push_back(static_cast<WordId>(random.below(1 + random.below(8))));
  }
  return sentences;
}

std::vector<std::vector<std::string>> words_of(const std::vector<std::vector<WordId>>& ids) {
  std::vector<std::vector<std::string>> sentences;
  for (const auto& sentence : ids) {
    auto& words = sentences.emplace_back();
    for (const WordId id : sentence) words.push_back(std::to_string(id));
  }
  return sentences;
}

}  // namespace

TEST_CASE("shifted mutual information is that of all windows, with the same bits by any threads") {
  const auto sentences = words_of(random_sentences());
  const auto vocabulary = Vocabulary::from_sentences(sentences, {.min_count = 1});
  const auto corpus = EncodedCorpus::from_sentences(sentences, vocabulary);
  for (const bool fixed : {false, true})
    for (const double smoothing : {1.0, 0.75}) {
      PmiSvd svd{.dimension = 4,
                 .window = 3,
                 .fixed_window = fixed,
                 .subsample = 0,
                 .smoothing = smoothing,
                 .shift = 1.2,
                 .threads = 1};
      double counts[10][10] = {}, sums[10] = {}, total = 0;
      for (const auto& sentence : sentences)
        for (std::size_t i = 0; i < sentence.size(); ++i)
          for (std::size_t j = 0; j < sentence.size(); ++j) {
            const std::size_t distance = i < j ? j - i : i - j;
            if (distance == 0 || distance > svd.window) continue;
            const double weight = fixed ? 1.0 : static_cast<double>(4 - distance) / 3;
            const WordId a = *vocabulary.find(sentence[i]), b = *vocabulary.find(sentence[j]);
            counts[a][b] += weight;
            sums[a] += weight;
          }
      for (const double sum : sums) total += std::pow(sum, smoothing);
      const auto matrix = svd.matrix(corpus, vocabulary);
      REQUIRE(matrix.rows() == 10);
      for (std::size_t a = 0; a < 10; ++a) {
        double row[10] = {};
        for (std::size_t k = 0; k < matrix.row(a).size(); ++k) {
          CHECK(matrix.values(a)[k] > 0);
          row[matrix.row(a)[k]] = static_cast<double>(matrix.values(a)[k]);
        }
        for (std::size_t b = 0; b < 10; ++b) {
          const double pmi =
              std::log(counts[a][b] * total / sums[a] / std::pow(sums[b], smoothing) / 1.2);
          CHECK(row[b] == Approx((std::max)(0.0, pmi)).margin(1e-5));
        }
      }
      svd.subsample = 0.05;
      const Embeddings words = svd.fit(corpus, vocabulary);
      svd.threads = 2;
      CHECK(has_same_bits(words, svd.fit(corpus, vocabulary)));
    }
}

TEST_CASE("counts of pairs do not depend on the size of the buffers") {
  const auto ids = random_sentences();
  const auto sums_of = [&](std::size_t buffer, std::size_t threads) {
    detail::KeptWords kept;
    for (std::size_t i = 1; i < ids.size(); ++i) {
      auto& part = kept.parts[i % detail::KeptWords::part_count];
      part.insert(part.end(), ids[i].begin(), ids[i].end());
      part.back() |= detail::KeptWords::end_mark;
    }
    const detail::PairCounts counts(std::move(kept), 10, 3, false, threads, {}, buffer);
    std::vector<std::pair<std::uint32_t, std::uint64_t>> all;
    detail::PairCounts::Row row(10);
    for (std::size_t i = 0; i < 10; ++i) {
      counts.add_row(i, row);
      row.take(true, [&](std::uint32_t j, std::uint64_t sum) { all.emplace_back(j, sum); });
    }
    return all;
  };
  const auto all = sums_of(1 << 20, 1);
  CHECK(all.size() > 60);
  CHECK(all == sums_of(1, 1));
  CHECK(all == sums_of(1, 3));
}

TEST_CASE("factors times their transposed are the matrix, and the power is that of its values") {
  const auto sentences = words_of(random_sentences());
  const auto vocabulary = Vocabulary::from_sentences(sentences, {.min_count = 1});
  const auto corpus = EncodedCorpus::from_sentences(sentences, vocabulary);
  PmiSvd svd{.dimension = 10, .smoothing = 1, .power = 1, .threads = 1};
  const auto matrix = svd.matrix(corpus, vocabulary);
  const Embeddings words = svd.fit(corpus, vocabulary);
  // (U S)(U S)^T = M M^T for all singular values.
  for (std::size_t a = 0; a < 10; ++a)
    for (std::size_t b = 0; b < 10; ++b) {
      double of_matrix = 0, of_words = 0;
      for (std::size_t k = 0; k < matrix.row(a).size(); ++k)
        for (std::size_t l = 0; l < matrix.row(b).size(); ++l)
          if (matrix.row(a)[k] == matrix.row(b)[l])
            of_matrix +=
                static_cast<double>(matrix.values(a)[k]) * static_cast<double>(matrix.values(b)[l]);
      for (std::size_t j = 0; j < 10; ++j)
        of_words +=
            static_cast<double>(words.vector(a)[j]) * static_cast<double>(words.vector(b)[j]);
      CHECK(of_words == Approx(of_matrix).margin(1e-3));
    }
}

TEST_CASE("vectors of contexts are those of the transposed matrix, added with equal lengths") {
  const auto sentences = words_of(random_sentences());
  const auto vocabulary = Vocabulary::from_sentences(sentences, {.min_count = 1});
  const auto corpus = EncodedCorpus::from_sentences(sentences, vocabulary);
  PmiSvd svd{.dimension = 10, .power = 1, .threads = 1};
  const auto matrix = svd.matrix(corpus, vocabulary);
  const Embeddings words = svd.fit(corpus, vocabulary);
  svd.adds_contexts = true;
  const Embeddings both = svd.fit(corpus, vocabulary);
  // With power 1: U S = M V, and V S = M^T U, which is M^T (U S) / S.
  double values[10] = {};
  for (std::size_t a = 0; a < 10; ++a)
    for (std::size_t j = 0; j < 10; ++j)
      values[j] += std::pow(static_cast<double>(words.vector(a)[j]), 2);
  const auto unit = [](std::vector<double> v) {
    double square = 0;
    for (const double x : v) square += x * x;
    for (double& x : v) x /= square > 0 ? std::sqrt(square) : 1;
    return v;
  };
  for (std::size_t c = 0; c < 10; ++c) {
    std::vector<double> context(10), word(10);
    for (std::size_t a = 0; a < 10; ++a)
      for (std::size_t k = 0; k < matrix.row(a).size(); ++k)
        if (matrix.row(a)[k] == c)
          for (std::size_t j = 0; j < 10; ++j)
            if (values[j] > 1e-3)
              context[j] += static_cast<double>(matrix.values(a)[k]) *
                            static_cast<double>(words.vector(a)[j]) / std::sqrt(values[j]);
    for (std::size_t j = 0; j < 10; ++j) word[j] = static_cast<double>(words.vector(c)[j]);
    context = unit(std::move(context));
    word = unit(std::move(word));
    for (std::size_t j = 0; j < 10; ++j)
      CHECK(static_cast<double>(both.vector(c)[j]) == Approx(word[j] + context[j]).margin(2e-3));
  }
}

TEST_CASE("mutual information of wrong corpora and options is refused") {
  const auto sentences = words_of(random_sentences());
  const auto vocabulary = Vocabulary::from_sentences(sentences, {.min_count = 1});
  const auto corpus = EncodedCorpus::from_sentences(sentences, vocabulary);
  PmiSvd svd{.dimension = 11, .threads = 1};
  CHECK_THROWS_WITH(svd.fit(corpus, vocabulary), Catch::Contains("vocabulary has only 10 words"));
  svd.dimension = 2;
  svd.shift = 1e6;
  CHECK_THROWS_WITH(svd.fit(corpus, vocabulary), Catch::Contains("shift is"));
  svd.shift = 1;
  const auto other = Vocabulary::from_sentences(
      std::vector<std::vector<std::string>>{{"x", "y", "z"}}, {.min_count = 1});
  CHECK_THROWS_AS(svd.fit(corpus, other), CorpusError);
  const auto alone = EncodedCorpus::from_sentences(
      std::vector<std::vector<std::string>>{{"1"}, {"2"}}, vocabulary);
  CHECK_THROWS_AS(svd.fit(alone, vocabulary), CorpusError);
  svd.progress = [](double) { throw std::runtime_error("cancelled"); };
  CHECK_THROWS_WITH(svd.fit(corpus, vocabulary), "cancelled");
  svd.smoothing = -1;
  CHECK_THROWS_AS(svd.fit(corpus, vocabulary), InvalidArgument);
}
