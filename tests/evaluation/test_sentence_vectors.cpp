#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/core/random.hpp>
#include <wordloom/evaluation/sentence_vectors.hpp>
#include <wordloom/model/subword_embeddings.hpp>

#include "catch.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

using Method = SentenceVectors::Method;

RowMatrix some_rows(std::size_t rows, std::size_t columns) {
  Random random(8);
  RowMatrix matrix(rows, columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (float& x : matrix.row(i)) x = static_cast<float>(random.uniform() * 2 - 0.7);
  return matrix;
}

const std::vector<std::string> names{"the", "cat", "dog", "paris", "rome", "of"};
const std::vector<std::uint64_t> counts{100, 7, 5, 4, 3, 81};
const std::vector<std::string> sentences{
    "the cat", "The dog  of the cat", "paris of rome", "xyzzy", "rome\tparis paris", "dog", ""};

Embeddings some_words(bool with_counts = true) {
  return {WordList::from(names), some_rows(names.size(), 5),
          with_counts ? std::span(counts) : std::span<const std::uint64_t>()};
}

/// The vectors of Arora et al., in double: the first singular vector by many power iterations.
std::vector<std::vector<double>> plain_sif(const Embeddings& words, double a,
                                           const std::vector<double>& shares) {
  std::vector<std::vector<double>> result;
  for (const auto& ids : std::vector<std::vector<std::size_t>>{
           {0, 1}, {0, 2, 5, 0, 1}, {3, 5, 4}, {}, {4, 3, 3}, {2}, {}}) {
    std::vector<double> sum(5);
    for (const std::size_t id : ids)
      for (std::size_t d = 0; d < 5; ++d)
        sum[d] += a / (a + shares[id]) * double{words[id][d]} / static_cast<double>(ids.size());
    result.push_back(sum);
  }
  std::vector<double> u{1, 1, 1, 1, 1};
  for (int i = 0; i < 5000; ++i) {
    std::vector<double> next(5);
    double length = 0;
    for (const auto& v : result) {
      double along = 0;
      for (std::size_t d = 0; d < 5; ++d) along += v[d] * u[d];
      for (std::size_t d = 0; d < 5; ++d) next[d] += along * v[d];
    }
    for (const double x : next) length += x * x;
    for (std::size_t d = 0; d < 5; ++d) u[d] = next[d] / std::sqrt(length);
  }
  for (auto& v : result) {
    double along = 0;
    for (std::size_t d = 0; d < 5; ++d) along += v[d] * u[d];
    for (std::size_t d = 0; d < 5; ++d) v[d] -= along * u[d];
  }
  return result;
}

void check_rows(const SentenceVectors& found, const std::vector<std::vector<double>>& expected) {
  REQUIRE(found.vectors().rows() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    for (std::size_t d = 0; d < 5; ++d)
      CHECK(double{found.vectors().row(i)[d]} == Approx(expected[i][d]).margin(1e-5));
}

}  // namespace

TEST_CASE("vectors of sentences are means of their words", "[sentences]") {
  const auto words = some_words();
  const SentenceVectors means(words, sentences);
  CHECK(means.without_words() == 2);
  for (std::size_t d = 0; d < 5; ++d) {
    CHECK(means.vectors().row(0)[d] == Approx((words[0][d] + words[1][d]) / 2).margin(1e-6));
    CHECK(means.vectors().row(4)[d] == Approx((words[4][d] + 2 * words[3][d]) / 3).margin(1e-6));
    CHECK(means.vectors().row(3)[d] == 0);
  }
  CHECK(means.vector("cat the") == means.vector("CAT the xyzzy"));
  const auto found = means.most_similar("the cat", 3);
  REQUIRE(found.size() == 3);
  CHECK(found[0].sentence == 0);
  CHECK(found[0].score == Approx(1).margin(1e-6));
  CHECK(contains(message_of<InvalidArgument>([&] { return means.most_similar("x\ty"); }),
                 "has a vector"));
  const SentenceVectors exact(words, sentences, {.letter_case = LetterCase::exact});
  CHECK(exact.vector("CAT the") == exact.vector("the"));
}

TEST_CASE("sif weighs words and removes the first singular vector", "[sentences]") {
  const auto words = some_words();
  const std::vector<double> shares{0.5, 0.035, 0.025, 0.02, 0.015, 0.405};
  const SentenceVectors sif(words, sentences, {.method = Method::sif, .smoothing = 0.01});
  check_rows(sif, plain_sif(words, 0.01, shares));
  const std::vector<float> again = sif.vector(sentences[1]);
  for (std::size_t d = 0; d < 5; ++d) CHECK(again[d] == sif.vectors().row(1)[d]);
  const SentenceVectors threads(words, sentences,
                                {.method = Method::sif, .smoothing = 0.01, .threads = 3});
  for (std::size_t i = 0; i < sentences.size(); ++i)
    CHECK(std::ranges::equal(threads.vectors().row(i), sif.vectors().row(i)));

  const auto bare = some_words(false);
  check_rows(SentenceVectors(bare, sentences,
                             {.method = Method::sif, .smoothing = 0.01, .counts = counts}),
             plain_sif(words, 0.01, shares));
  std::vector<double> zipf;
  for (int i = 1; i <= 6; ++i) zipf.push_back(1.0 / i / 2.45);
  check_rows(
      SentenceVectors(bare, sentences, {.method = Method::sif, .smoothing = 0.01, .zipf = true}),
      plain_sif(words, 0.01, zipf));
  CHECK(contains(message_of<InvalidArgument>(
                     [&] { SentenceVectors(bare, sentences, {.method = Method::sif}); }),
                 "needs the counts of words"));
  CHECK_THROWS_AS(SentenceVectors(words, sentences, {.method = Method::sif, .smoothing = 0}),
                  InvalidArgument);
  const std::vector<std::uint64_t> few{1, 2};
  CHECK_THROWS_AS(SentenceVectors(words, sentences, {.method = Method::sif, .counts = few}),
                  InvalidArgument);
  const std::vector<std::uint64_t> zeros(6);
  CHECK_THROWS_AS(SentenceVectors(words, sentences, {.method = Method::sif, .counts = zeros}),
                  InvalidArgument);
  CHECK(contains(message_of<InvalidArgument>([&] {
                   SentenceVectors(words, std::span(sentences).subspan(2, 2),
                                   {.method = Method::sif});
                 }),
                 "1 of 2 have any"));
}

TEST_CASE("unknown words of sentences are made of subwords", "[sentences]") {
  const SubwordOptions subwords{.minn = 3, .maxn = 4, .buckets = 50};
  const SubwordEmbeddings words(WordList::from(names), some_rows(names.size() + 50, 5), subwords,
                                counts);
  const SentenceVectors means(words, sentences);
  CHECK(means.without_words() == 1);
  const auto xyzzy = words.vector("xyzzy");
  for (std::size_t d = 0; d < 5; ++d)
    CHECK(means.vectors().row(3)[d] == Approx(xyzzy[d]).margin(1e-6));
  CHECK(SentenceVectors(words, sentences, {.method = Method::sif}).without_words() == 1);
}

TEST_CASE("similarity of sentences is compared with people's", "[sentences]") {
  const TemporaryFolder folder;
  write_file(folder / "sts",
             "4.5\tthe cat\tThe dog\n\tno\tscore\n0.5\tparis\tdog\textra\r\n"
             "3\trome\tparis\n1\txyzzy\tdog\n");
  const auto pairs = SentenceVectors::Pair::load(folder / "sts");
  REQUIRE(pairs.size() == 4);
  CHECK(pairs[1].second == "dog");
  const auto words = some_words();
  const auto report = SentenceVectors::evaluate(words, pairs, {});
  CHECK(report.used == 3);
  CHECK(report.without_words == 1);
  const std::vector<double> people{4.5, 0.5, 3},
      cosines{double{words.n_similarity({"the", "cat"}, {"the", "dog"})},
              double{words.similarity("paris", "dog")}, double{words.similarity("rome", "paris")}};
  double xy = 0, xx = 0, yy = 0;
  const double mean = (cosines[0] + cosines[1] + cosines[2]) / 3;
  for (std::size_t i = 0; i < 3; ++i) {
    xy += (people[i] - 8.0 / 3) * (cosines[i] - mean);
    xx += std::pow(people[i] - 8.0 / 3, 2);
    yy += std::pow(cosines[i] - mean, 2);
  }
  CHECK(report.pearson == Approx(xy / std::sqrt(xx * yy)).margin(1e-5));
  const auto rank = [&](std::size_t i) {
    return static_cast<double>(
        std::ranges::count_if(cosines, [&](double x) { return x < cosines[i]; }));
  };
  // Ranks of people's scores: 3, 1, 2.
  CHECK(report.spearman == Approx(((rank(0) - 1) - (rank(1) - 1)) / 2).margin(1e-9));
  CHECK(std::isnan(SentenceVectors::evaluate(words, std::span(pairs).first(1), {}).pearson));
  for (const char* const wrong :
       {"4 the cat the dog\n", "x\ta\tb\n", "nan\ta\tb\n", "\n", "1\ta\n"}) {
    write_file(folder / "sts", wrong);
    CHECK_THROWS_AS(SentenceVectors::Pair::load(folder / "sts"), FormatError);
  }
}
