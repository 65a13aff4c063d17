#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>
#include <wordloom/core/random.hpp>
#include <wordloom/model/embeddings.hpp>

#include "catch.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

Embeddings random_embeddings(std::size_t size, std::size_t dimension, std::uint64_t seed) {
  Random random(seed);
  RowMatrix vectors(size, dimension);
  WordList words;
  for (std::size_t i = 0; i < size; ++i) {
    words.append("w" + std::to_string(i));
    for (float& x : vectors.row(i)) x = static_cast<float>(random.uniform() * 4.0 - 2.0);
  }
  return {std::move(words), std::move(vectors)};
}

double plain_dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

double plain_cosine(std::span<const float> a, std::span<const float> b) {
  return plain_dot(a, b) / std::sqrt(plain_dot(a, a) * plain_dot(b, b));
}

/// All words but `skipped` by falling score, in the plainest code.
template <class Score>
std::vector<std::pair<double, std::size_t>> plain_order(const Embeddings& words, Score&& score,
                                                        const std::vector<std::size_t>& skipped) {
  std::vector<std::pair<double, std::size_t>> all;
  for (std::size_t i = 0; i < words.size(); ++i)
    if (std::find(skipped.begin(), skipped.end(), i) == skipped.end())
      all.emplace_back(-score(i), i);
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

TEST_CASE("most_similar equals a plain search", "[query]") {
  // More rows than one block, so that blocks and threads are merged.
  const auto words = random_embeddings(5000, 10, 1);
  for (const std::size_t query : {0u, 77u, 4999u}) {
    const auto expected = plain_order(
        words, [&](std::size_t i) { return plain_cosine(words.vector(query), words.vector(i)); },
        {query});
    const auto found = words.most_similar("w" + std::to_string(query), 25);
    REQUIRE(found.size() == 25);
    for (std::size_t k = 0; k < found.size(); ++k) {
      CHECK(found[k].word == words.word(expected[k].second));
      CHECK(static_cast<double>(found[k].score) == Approx(-expected[k].first).margin(1e-6));
    }
  }
}

TEST_CASE("many queries at once have the answers of single ones", "[query]") {
  const auto words = random_embeddings(3000, 7, 2);
  std::vector<std::string> names;
  for (int i = 0; i < 500; ++i) names.push_back("w" + std::to_string(3 * i));
  const auto all = words.most_similar_each(names, 3);
  REQUIRE(all.size() == 500);
  for (std::size_t q = 0; q < 500; q += 37) {
    const auto one = words.most_similar(names[q], 3);
    for (std::size_t k = 0; k < 3; ++k) {
      CHECK(all[q][k].word == one[k].word);
      CHECK(all[q][k].score == one[k].score);
    }
  }
  const auto three_threads = words.most_similar_each(names, 3, {.threads = 3});
  for (std::size_t q = 0; q < 500; ++q)
    for (std::size_t k = 0; k < 3; ++k) {
      CHECK(three_threads[q][k].word == all[q][k].word);
      CHECK(three_threads[q][k].score == all[q][k].score);
    }
}

TEST_CASE("most_similar of sums and lists and doesnt_match follow their formulas", "[query]") {
  const auto words = random_embeddings(400, 9, 4);
  const auto cosine = [&](std::size_t a, std::size_t b) {
    return plain_cosine(words.vector(a), words.vector(b));
  };
  const auto expected = plain_order(
      words, [&](std::size_t d) { return cosine(d, 3) + cosine(d, 7) - cosine(d, 9); }, {3, 7, 9});
  const auto found = words.most_similar({.positive = {"w3", "w7"}, .negative = {"w9"}}, 5);
  REQUIRE(found.size() == 5);
  for (std::size_t k = 0; k < 5; ++k) CHECK(found[k].word == words.word(expected[k].second));

  CHECK(words.most_similar("w3", 3, {.restrict_vocabulary = 2}).size() == 2);
  CHECK(words.most_similar_each({"w3", "w5"}, 2).at(1).at(0).word ==
        words.most_similar("w5", 1).at(0).word);
  CHECK(words.most_similar("w3").size() == 10);
  CHECK(words.contains("w399"));
  CHECK_FALSE(words.contains("w400"));

  const std::vector<std::string> list = {"w1", "w2", "w3", "w4"};
  const std::vector<float> mean = words.mean_vector(list);
  for (std::size_t i = 0; i < mean.size(); ++i) {
    double sum = 0;
    for (std::size_t w = 1; w <= 4; ++w)
      sum += words.vector(w)[i] / std::sqrt(plain_dot(words.vector(w), words.vector(w)));
    CHECK(static_cast<double>(mean[i]) == Approx(sum / 4).margin(1e-6));
  }
  std::pair<double, std::string> odd{2, ""};
  for (const std::string& word : list)
    odd = std::min(odd, {plain_cosine(words.vector(word), mean), word});
  CHECK(words.doesnt_match(list) == odd.second);
  CHECK(words.doesnt_match({"w6"}) == "w6");

  const Embeddings unit = words.normalized();
  CHECK(unit.words() == words.words());
  CHECK(plain_dot(unit.vector("w7"), unit.vector("w7")) == Approx(1).margin(1e-6));
  CHECK(unit.similarity("w7", "w8") == Approx(words.similarity("w7", "w8")).margin(1e-6));

  CHECK(message_of<InvalidArgument>([&] { return words.most_similar(Embeddings::Sum{}, 1); }) ==
        "a query needs at least one word");
  CHECK_THROWS_AS(words.doesnt_match(std::vector<std::string>{}), InvalidArgument);
  CHECK_THROWS_AS(words.mean_vector({"w1", "w400"}), UnknownWord);
}

TEST_CASE("queries have the meanings and numbers of gensim's KeyedVectors", "[query]") {
  RowMatrix vectors(5, 3);
  const float rows[5][3]{{4, 1, 2}, {3, 3, 1}, {5, -1, 1}, {2, 2, -1}, {-1, 3, 4}};
  for (std::size_t i = 0; i < 5; ++i) std::copy_n(rows[i], 3, vectors.row_data(i));
  const std::vector<std::string> names{"king", "queen", "man", "woman", "apple"};
  const Embeddings words(WordList::from(names), std::move(vectors));
  // Expected numbers are those of gensim 4.4.
  const auto check = [](const std::vector<Neighbour>& found,
                        const std::vector<std::pair<std::string, double>>& expected) {
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK(found[i].word == expected[i].first);
      CHECK(static_cast<double>(found[i].score) == Approx(expected[i].second).margin(2e-6));
    }
  };
  const std::vector<std::pair<std::string, double>> of_sum{
      {"man", 0.7566589}, {"woman", 0.7396245}, {"apple", 0.3895311}};
  check(words.most_similar({"king", "queen"}), of_sum);
  check(words.most_similar(std::vector<std::string>{"king", "queen"}, 3), of_sum);
  check(words.most_similar({.positive = {"king", "woman"}, .negative = {"man"}}),
        {{"queen", 0.9125052}, {"apple", 0.3676344}});
  const std::vector<float> vector{1, 0, 2};
  check(words.most_similar(vector), {{"king", 0.7807201},
                                     {"apple", 0.6139406},
                                     {"man", 0.6024641},
                                     {"queen", 0.5129891},
                                     {"woman", 0}});
  check(words.most_similar_cosmul({.positive = {"king", "woman"}, .negative = {"man"}}),
        {{"queen", 1.0826674}, {"apple", 0.7653261}});
  check(words.most_similar_cosmul({.positive = {"king"}, .negative = {"man", "apple"}}),
        {{"woman", 2.1833751}, {"queen", 1.6222267}});
  check(words.most_similar_cosmul({.positive = {"king"}}, 2),
        {{"man", 0.9409576}, {"queen", 0.9255313}});

  CHECK(double{words.n_similarity({"king", "queen"}, {"man", "woman", "apple"})} ==
        Approx(0.9867968).margin(1e-6));
  CHECK(words.n_similarity(names, std::vector<std::string>{"king"}) ==
        words.n_similarity(std::vector<std::string>{"king"}, names));
  CHECK(words.rank("king", "woman") == 3);
  CHECK(words.rank("king", "man") == 1);
  CHECK(words.rank("king", "king") == 1);
  CHECK(words.closer_than("king", "woman") == std::vector<std::string>{"queen", "man"});
  CHECK(words.closer_than("apple", "man") == std::vector<std::string>{"king", "queen", "woman"});
  const auto check_distances = [](const std::vector<float>& found,
                                  const std::vector<double>& expected) {
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i)
      CHECK(static_cast<double>(found[i]) == Approx(expected[i]).margin(2e-6));
  };
  check_distances(words.distances("king"), {0, 0.1489356, 0.1180829, 0.4180856, 0.7004277});
  check_distances(words.distances("king", {"man", "apple"}), {0.1180829, 0.7004277});
  check_distances(words.distances("king", names), {0, 0.1489356, 0.1180829, 0.4180856, 0.7004277});
  check_distances(words.distances(vector), {0.2192799, 0.4870108, 0.3975359, 1, 0.3860594});
  CHECK(words.doesnt_match({"king", "queen", "man", "apple"}) == "apple");

  const std::vector<std::string> none;
  CHECK_THROWS_AS(words.most_similar(none), InvalidArgument);
  CHECK_THROWS_AS(words.most_similar_cosmul({.positive = {}, .negative = {"man"}}),
                  InvalidArgument);
  CHECK_THROWS_AS(words.n_similarity(names, none), InvalidArgument);
  CHECK_THROWS_AS(words.distances(std::vector<float>(2)), InvalidArgument);
  CHECK_THROWS_AS(words.most_similar({"king", "x"}), UnknownWord);
  CHECK_THROWS_AS(words.most_similar_each({"king", "x"}), UnknownWord);
  CHECK_THROWS_AS(words.most_similar_cosmul({.positive = {"x"}}), UnknownWord);
  CHECK_THROWS_AS(words.n_similarity({"king"}, {"x"}), UnknownWord);
  CHECK_THROWS_AS(words.rank("king", "x"), UnknownWord);
  CHECK_THROWS_AS(words.closer_than("x", "king"), UnknownWord);
  CHECK_THROWS_AS(words.distances("x"), UnknownWord);
  CHECK_THROWS_AS(words.distances("king", {"x"}), UnknownWord);
}

TEST_CASE("embeddings are read like a table of words, vectors and counts", "[embeddings]") {
  RowMatrix vectors(2, 1);
  vectors.row(1)[0] = 3;
  const WordList list = WordList::from(std::vector<std::string>{"a", "b"});
  const std::vector<std::uint64_t> counts{9, 4};
  const Embeddings words(list, vectors.copy(2), counts);
  CHECK(words.find("b") == WordId{1});
  CHECK_FALSE(words.find("c"));
  CHECK(words["b"][0] == 3);
  CHECK(words[1].data() == words["b"].data());
  CHECK_THROWS_AS(words["c"], UnknownWord);
  std::string read;
  for (const auto [word, vector] : words) read += std::string(word) + std::to_string(vector[0]);
  CHECK(read == "a0.000000b3.000000");
  CHECK(std::ranges::distance(words) == 2);

  CHECK(words.counts()[1] == 4);
  CHECK(words.count("a") == std::uint64_t{9});
  CHECK_THROWS_AS(words.count("c"), UnknownWord);
  CHECK(words.normalized().count("a") == std::uint64_t{9});
  CHECK(Embeddings::concatenate(words, words).count("b") == std::uint64_t{4});
  const Embeddings uncounted(list, vectors.copy(2));
  CHECK(uncounted.counts().empty());
  CHECK_FALSE(uncounted.count("a"));
  CHECK(message_of<InvalidArgument>([&] {
          Embeddings(list, vectors.copy(2), std::span(counts).first(1));
        }) == "embeddings need one count for each word or none, got 2 words and 1 counts");
}

TEST_CASE("the number of threads changes no bit of an answer", "[query]") {
  const auto words = random_embeddings(9000, 12, 3);
  const RowMatrix questions = words.vectors().copy(5);
  const auto ask = [&](std::size_t threads) {
    return detail::nearest_rows(
        detail::MatrixCosines(words.vectors(), words.inverse_lengths()), words.size(), questions, 1,
        50, detail::CosineScore(), [](std::size_t, std::size_t) { return false; }, threads);
  };
  const auto one = ask(1);
  for (const std::size_t threads : {2u, 5u}) {
    const auto more = ask(threads);
    for (std::size_t q = 0; q < 5; ++q)
      for (std::size_t k = 0; k < 50; ++k) {
        CHECK(more[q][k].row == one[q][k].row);
        CHECK(more[q][k].score == one[q][k].score);
      }
  }
}

TEST_CASE("analogies follow their formulas", "[query]") {
  const auto words = random_embeddings(400, 9, 4);
  const auto cosine = [&](std::size_t a, std::size_t b) {
    return plain_cosine(words.vector(a), words.vector(b));
  };
  const std::size_t a = 3, b = 250, c = 99;
  const auto add = plain_order(
      words, [&](std::size_t d) { return cosine(d, b) - cosine(d, a) + cosine(d, c); }, {a, b, c});
  const auto mul = plain_order(words,
                               [&](std::size_t d) {
                                 return (cosine(d, b) + 1) / 2 * (cosine(d, c) + 1) / 2 /
                                        ((cosine(d, a) + 1) / 2 + 0.001);
                               },
                               {a, b, c});
  const auto by_add = words.analogy("w3", "w250", "w99", 10);
  const auto by_mul = words.analogy("w3", "w250", "w99", 10, AnalogyMethod::cos_mul);
  for (std::size_t k = 0; k < 10; ++k) {
    CHECK(by_add[k].word == words.word(add[k].second));
    CHECK(by_mul[k].word == words.word(mul[k].second));
    CHECK(static_cast<double>(by_mul[k].score) == Approx(-mul[k].first).epsilon(1e-4));
  }
}

TEST_CASE("no word of a question is its answer, even if it would be the best", "[query]") {
  RowMatrix vectors(4, 2);
  const float values[4][2] = {{1, 0}, {1, 0.1f}, {1, -0.1f}, {0, 1}};
  for (std::size_t i = 0; i < 4; ++i) std::copy_n(values[i], 2, vectors.row_data(i));
  const Embeddings words(WordList::from(std::vector<std::string>{"a", "b", "c", "d"}),
                         std::move(vectors));
  // b - a + c points to a.
  for (const auto& answers :
       {words.most_similar({.positive = {"b", "c"}, .negative = {"a"}}, 4),
        words.analogy("a", "b", "c", 4), words.analogy("a", "b", "c", 4, AnalogyMethod::cos_mul)}) {
    CHECK(answers.size() == 1);
    CHECK(answers.at(0).word == "d");
  }
}

TEST_CASE("equal scores are sorted by id, vectors of zeros score 0, NaN is last", "[query]") {
  RowMatrix vectors(6, 2);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float values[6][2] = {{1, 0}, {0, 0}, {2, 0}, {nan, 0}, {1, 0}, {-1, 0}};
  for (std::size_t i = 0; i < 6; ++i) std::copy_n(values[i], 2, vectors.row_data(i));
  const Embeddings words(WordList::from(std::vector<std::string>{"a", "b", "c", "d", "e", "f"}),
                         std::move(vectors));
  std::string order;
  for (const auto& [word, score] : words.most_similar("a", 99)) order += word;
  CHECK(order == "cebfd");
  CHECK(words.similarity("a", "b") == 0.0f);
  CHECK(words.similarity("a", "f") == Approx(-1.0f));
}

TEST_CASE("queries refuse unknown words and wrong lengths", "[query]") {
  const auto words = random_embeddings(10, 4, 5);
  CHECK(message_of<UnknownWord>([&] { return words.most_similar("zebra", 3); }) ==
        "unknown word 'zebra'");
  CHECK_THROWS_AS(words.analogy("w1", "w2", "x", 1), UnknownWord);
  CHECK_THROWS_AS(words.similarity("x", "w1"), UnknownWord);
  CHECK_THROWS_AS(words.most_similar(std::vector<float>(3), 1), InvalidArgument);
  const std::vector<float> not_finite(words.dimension(), std::numeric_limits<float>::infinity());
  CHECK_THROWS_AS(words.most_similar(not_finite, 1), InvalidArgument);
  CHECK(words.most_similar("w1", 0).empty());
  CHECK(words.most_similar(words.vector("w1"), 1).front().word == "w1");
  CHECK_THROWS_AS(Embeddings(WordList(), RowMatrix(1, 1)), InvalidArgument);
}

TEST_CASE("embeddings without words or dimensions are refused", "[query]") {
  CHECK(message_of<InvalidArgument>([] { Embeddings(WordList(), RowMatrix(0, 3)); }) ==
        "embeddings need at least one word and one dimension, got 0 x 3");
  CHECK(message_of<InvalidArgument>([] {
          Embeddings(WordList::from(std::vector<std::string>{"a"}), RowMatrix(1, 0));
        }) == "embeddings need at least one word and one dimension, got 1 x 0");
}

TEST_CASE("answers hold copies of their words", "[query]") {
  STATIC_REQUIRE(std::is_same_v<decltype(Neighbour::word), std::string>);
  std::size_t letters = 0;
  for (const auto& [word, score] : random_embeddings(300, 8, 6).most_similar("w3", 3))
    letters += word.size();
  CHECK(letters >= 6);
}

TEST_CASE("vectors of numbers are put into the rows of these numbers", "[query]") {
  RowMatrix vectors(3, 2);
  for (std::size_t i = 0; i < 3; ++i) vectors.row(i)[0] = 1.0f + static_cast<float>(i);
  const auto make = [&](const std::vector<std::string>& words,
                        const std::vector<std::uint64_t>& counts = {}) {
    return Embeddings(WordList::from(words), vectors.copy(3), counts);
  };
  const auto words = make({"4", "0", "2"}, {9, 8, 7}).by_id();
  CHECK(words.words() == WordList::from(std::vector<std::string>{"0", "1", "2", "3", "4"}));
  const float expected[] = {2, 0, 3, 0, 1};
  for (std::size_t i = 0; i < 5; ++i) CHECK(words[i][0] == expected[i]);
  CHECK(std::ranges::equal(words.counts(), std::vector<std::uint64_t>{8, 0, 7, 0, 9}));
  CHECK(words.similarity(0, 4) == 1);
  CHECK(words.similarity(0, 3) == 0);  // no such word
  const auto more = make({"4", "0", "2"}).by_id(7);
  CHECK(more.size() == 7);
  CHECK(more.counts().empty());
  CHECK_THROWS_AS(make({"4", "0", "2"}).by_id(4), InvalidArgument);
  for (const char* word : {"a", "-1", "02", "1.5", "4294967294", "99999999999999999999"})
    CHECK(contains(message_of<InvalidArgument>([&] {
                     return make({"4", "0", word}).by_id();
                   }),
                   std::string(word) + "' is not the number of a row below 4294967294"));
}

TEST_CASE("a query runs on the given number of threads, a small one on the caller's", "[query]") {
  const auto words = random_embeddings(40'000, 20, 3);
  const auto threads_of = [&](std::size_t threads, std::size_t rows) {
    std::mutex guard;
    std::set<std::thread::id> ids;
    const auto skip = [&](std::size_t, std::size_t) {
      const std::lock_guard lock(guard);
      ids.insert(std::this_thread::get_id());
      return false;
    };
    detail::nearest_rows(detail::MatrixCosines(words.vectors(), words.inverse_lengths()), rows,
                         words.vectors().copy(1), 1, rows, detail::CosineScore(), skip, threads);
    return ids;
  };
  const std::set<std::thread::id> caller{std::this_thread::get_id()};
  CHECK(threads_of(1, 40'000) == caller);
  CHECK(threads_of(0, 40'000) == caller);
  CHECK(threads_of(4, 64) == caller);  // one block of rows
  CHECK(threads_of(2, 40'000).size() <= 2);
}
