#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <vector>
#include <wordloom/evaluation/word_tests.hpp>

#include "catch.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

/// Points in the plane by angle, in degrees.
Embeddings circle(const std::vector<std::pair<std::string, double>>& angles) {
  WordList words;
  RowMatrix vectors(angles.size(), 2);
  for (std::size_t i = 0; i < angles.size(); ++i) {
    words.append(angles[i].first);
    vectors.row(i)[0] = static_cast<float>(std::cos(angles[i].second * M_PI / 180));
    vectors.row(i)[1] = static_cast<float>(std::sin(angles[i].second * M_PI / 180));
  }
  return {std::move(words), std::move(vectors)};
}

}  // namespace

TEST_CASE("Spearman's rho shares ranks among ties", "[evaluation]") {
  CHECK(detail::ranks(std::vector<double>{10, 30, 20, 20}) == std::vector<double>{1, 4, 2.5, 2.5});
  const std::vector<double> x{1, 2, 3, 4};
  CHECK(spearman(x, std::vector<double>{1, 4, 9, 16}) == Approx(1.0));
  CHECK(spearman(x, std::vector<double>{4, 3, 2, 1}) == Approx(-1.0));
  // scipy.stats.spearmanr([1, 2, 2, 3, 5], [2, 1, 3, 3, 3])
  CHECK(spearman(std::vector<double>{1, 2, 2, 3, 5}, std::vector<double>{2, 1, 3, 3, 3}) ==
        Approx(0.6308932681));
  CHECK(std::isnan(spearman(std::vector<double>{1, 1}, std::vector<double>{1, 2})));
  CHECK(std::isnan(spearman({}, {})));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(spearman(x, std::vector<double>{1, nan, 9, 16})));
  CHECK(std::isnan(spearman(std::vector<double>{nan, 1, 2, 3}, x)));
}

TEST_CASE("a pair with an unknown word is counted, not scored", "[evaluation]") {
  const auto words = circle({{"a", 0}, {"b", 10}, {"c", 40}, {"d", 100}});
  const std::vector<SimilarityPair> pairs{
      {"A", "b", 9}, {"a", "c", 5}, {"a", "zebra", 7}, {"a", "d", 1}, {"b", "d", 2}};
  const auto report = evaluate_similarity(words, pairs);
  CHECK(report.used == 4);
  CHECK(report.out_of_vocabulary == 1);
  CHECK(report.spearman == Approx(1.0));
  CHECK(evaluate_similarity(words, pairs, false).out_of_vocabulary == 2);
  CHECK(std::isnan(evaluate_similarity(words, std::span(pairs).subspan(2, 1)).spearman));
  std::ostringstream table;
  table << report;
  CHECK(contains(table.str(), "Spearman 1.0000  4 pairs, 1 out of vocabulary"));
}

TEST_CASE("word pairs are read by line and a bad line is named", "[evaluation]") {
  const TemporaryFolder folder;
  const auto load = [&](std::string_view text) {
    write_file(folder / "p", text);
    return load_similarity_pairs(folder / "p");
  };
  const auto pairs = load("# comment\n\na\tb\t1.5\r\nc d -2 more\n");
  REQUIRE(pairs.size() == 2);
  CHECK(pairs[0].second == "b");
  CHECK(pairs[1].score == -2.0);
  CHECK(contains(message_of<FormatError>([&] { load("a b 1\na b\n"); }),
                 "p: line 2: expected two words and a number, got 2 fields"));
  CHECK(contains(message_of<FormatError>([&] { load("a b c\n"); }), "got 'c'"));
  CHECK_THROWS_AS(load(""), FormatError);
  CHECK_THROWS_AS(load_similarity_pairs(folder / "missing"), IoError);
}

TEST_CASE("analogies are asked by section and totalled by kind", "[evaluation]") {
  // Each letter has a direction of its own, an upper one the fourth as well.
  WordList names;
  RowMatrix vectors(7, 4);
  const auto add = [&](const char* word, std::size_t letter, float up) {
    vectors.row(names.size())[letter] = 1.0f;
    vectors.row(names.size())[3] = up;
    names.append(word);
  };
  add("a", 0, 0.0f);
  add("up_a", 0, 1.0f);
  add("b", 1, 0.0f);
  add("up_b", 1, 1.0f);
  add("c", 2, 0.0f);
  add("up_c", 2, 1.0f);
  add("x", 2, -1.0f);
  const Embeddings words(std::move(names), std::move(vectors));
  const std::vector<AnalogySection> sections{
      {"meaning",
       {{"a", "up_a", "b", "up_b"}, {"A", "up_A", "c", "up_c"}, {"a", "up_a", "b", "x"}}},
      {"gram1-form", {{"b", "up_b", "c", "up_c"}, {"b", "up_b", "c", "zebra"}}}};
  for (const AnalogyMethod method : {AnalogyMethod::cos_add, AnalogyMethod::cos_mul}) {
    const auto report = evaluate_analogies(words, sections, {.method = method});
    REQUIRE(report.sections.size() == 2);
    CHECK(report.sections[0].count.asked == 3);
    CHECK(report.sections[0].count.correct == 2);
    CHECK(report.sections[1].count.asked == 1);
    CHECK(report.sections[1].count.skipped == 1);
    CHECK(report.semantic.accuracy() == Approx(2.0 / 3));
    CHECK(report.syntactic.accuracy() == Approx(1.0));
    CHECK(report.total.asked == 4);
  }
  CHECK(evaluate_analogies(words, sections, {.lower_case = false}).total.skipped == 2);
  // Only the first four words exist.
  const auto few = evaluate_analogies(words, sections, {.restrict_vocabulary = 4});
  CHECK(few.total.asked == 1);
  CHECK(few.total.correct == 1);
  // "up_c", the sixth word, is expected by two questions and in a third.
  CHECK(evaluate_analogies(words, sections, {.restrict_vocabulary = 5}).total.asked == 1);
  CHECK(evaluate_analogies(words, sections, {.restrict_vocabulary = 6}).total.asked == 3);
  CHECK(evaluate_analogies(words, sections, {.restrict_vocabulary = 0}).total.asked == 4);
  std::ostringstream table;
  table << few;
  CHECK(contains(table.str(), "meaning"));
  CHECK(contains(table.str(), "nan"));  // a section of which nothing was asked
}

TEST_CASE("analogy questions are read by line and a bad line is named", "[evaluation]") {
  const TemporaryFolder folder;
  const auto load = [&](std::string_view text) {
    write_file(folder / "q", text);
    return load_analogies(folder / "q");
  };
  const auto sections = load(": capital world\na b c d\n\n: gram1\r\ne f g h\r\ni j k l");
  REQUIRE(sections.size() == 2);
  CHECK(sections[0].name == "capital world");
  CHECK_FALSE(sections[0].syntactic());
  CHECK(sections[1].syntactic());
  CHECK(sections[1].questions.size() == 2);
  CHECK(sections[1].questions[1].d == "l");
  CHECK(contains(message_of<FormatError>([&] { load(": s\na b c\n"); }),
                 "q: line 2: expected four words or ': section', got 3 fields"));
  CHECK_THROWS_AS(load("\n"), FormatError);
}
