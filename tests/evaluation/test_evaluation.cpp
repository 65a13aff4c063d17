#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <vector>
#include <wordloom/evaluation/categories.hpp>
#include <wordloom/evaluation/statistics.hpp>
#include <wordloom/evaluation/word_tests.hpp>

#include "catch.hpp"
#include "evaluation/known_vectors.hpp"
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

TEST_CASE("Spearman's rho gives ties the mean of their ranks", "[evaluation]") {
  CHECK(detail::ranks(std::vector<double>{10, 30, 20, 20}) == std::vector<double>{1, 4, 2.5, 2.5});
  const std::vector<double> x{1, 2, 3, 4};
  CHECK(detail::spearman(x, std::vector<double>{1, 4, 9, 16}) == Approx(1.0));
  CHECK(detail::spearman(x, std::vector<double>{4, 3, 2, 1}) == Approx(-1.0));
  // scipy.stats.spearmanr([1, 2, 2, 3, 5], [2, 1, 3, 3, 3])
  CHECK(detail::spearman(std::vector<double>{1, 2, 2, 3, 5}, std::vector<double>{2, 1, 3, 3, 3}) ==
        Approx(0.6308932681));
  CHECK(std::isnan(detail::spearman(std::vector<double>{1, 1}, std::vector<double>{1, 2})));
  CHECK(std::isnan(detail::spearman({}, {})));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(detail::spearman(x, std::vector<double>{1, nan, 9, 16})));
  CHECK(std::isnan(detail::spearman(std::vector<double>{nan, 1, 2, 3}, x)));
}

TEST_CASE("a pair with an unknown word is counted, not scored", "[evaluation]") {
  const auto words = circle({{"a", 0}, {"b", 10}, {"c", 40}, {"d", 100}});
  const std::vector<SimilarityPair> pairs{
      {"A", "b", 9}, {"a", "c", 5}, {"a", "zebra", 7}, {"a", "d", 1}, {"b", "d", 2}};
  const auto report = evaluate_similarity(words, pairs);
  CHECK(report.used == 4);
  CHECK(report.out_of_vocabulary == 1);
  CHECK(report.spearman == Approx(1.0));
  CHECK(evaluate_similarity(words, pairs, LetterCase::exact).out_of_vocabulary == 2);
  CHECK(std::isnan(evaluate_similarity(words, std::span(pairs).subspan(2, 1)).spearman));
  CHECK(std::isnan(report.cosines.at(2)));
  const auto as_zero =
      evaluate_similarity(words, std::span(pairs).first(4), {.unknown_is_zero = true});
  CHECK(as_zero.used == 4);
  CHECK(as_zero.out_of_vocabulary == 1);
  CHECK(as_zero.cosines.at(2) == 0);
  CHECK(as_zero.spearman == Approx(0.8));  // ranks 4 2 3 1 of people, 4 3 2 1 of cosines
  std::ostringstream table;
  table << report;
  CHECK(contains(table.str(), "Spearman 1.0000  4 pairs, 1 out of vocabulary"));
  table.str("");
  table << evaluate_similarity(words, std::span(pairs).first(1));
  CHECK(
      contains(table.str(), "Spearman -  1 pairs, 0 out of vocabulary; a rank correlation needs"));
}

TEST_CASE("analogies are counted by section and in total by kind", "[evaluation]") {
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
  CHECK(evaluate_analogies(words, sections, {.letter_case = LetterCase::exact}).total.skipped == 2);
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
  CHECK_FALSE(contains(table.str(), "nan"));
  // A section of which nothing was asked.
  CHECK(
      contains(table.str(), "gram1-form                            -        0        0        2"));
}

TEST_CASE("a word is looked up as it is written, then in lower case", "[evaluation]") {
  // Paris and PARIS are no friends of paris.
  const auto words = circle({{"france", 0},
                             {"Paris", 10},
                             {"paris", 90},
                             {"Österreich", 20},
                             {"österreich", 80},
                             {"франция", 15}});
  const auto rho = [&](const char* second, LetterCase letter_case) {
    const std::vector<SimilarityPair> pairs{{"France", second, 1}, {"France", "Österreich", 2}};
    return evaluate_similarity(words, pairs, letter_case).spearman;
  };
  CHECK(rho("Paris", LetterCase::fallback) == Approx(-1));  // 10 and 20 degrees
  CHECK(rho("PARIS", LetterCase::fallback) == Approx(1));   // 90 and 20
  CHECK(rho("Paris", LetterCase::lower) == Approx(1));      // 90 and 80
  CHECK(rho("ФРАНЦИЯ", LetterCase::lower) == Approx(-1));   // 15 and 80
  CHECK(std::isnan(rho("Paris", LetterCase::exact)));       // no "France"
  // Of the first words only, as those are all that there are.
  CHECK(find_spelling(words.words(), "Paris", LetterCase::fallback, 6) == WordId{1});
  CHECK(find_spelling(words.words(), "Österreich", LetterCase::fallback, 3) == std::nullopt);
  CHECK(find_spelling(words.words(), "FRANCE", LetterCase::fallback, 1) == WordId{0});
  CHECK(find_spelling(words.words(), "FRANCE", LetterCase::exact, 1) == std::nullopt);
  CHECK(find_spelling(words.words(), "Paris", LetterCase::lower, 6) == WordId{2});
}

TEST_CASE("analogies exclude and expect words in the spelling that was found", "[evaluation]") {
  WordList names;
  RowMatrix vectors(6, 3);
  const auto add = [&](const char* word, float x, float y, float z) {
    const float values[] = {x, y, z};
    std::copy_n(values, 3, vectors.row_data(names.size()));
    names.append(word);
  };
  add("France", 1, 0, 0);
  add("Paris", 1, 0, 1);
  add("Italy", 0, 1, 0);
  add("Rome", 0, 1, 0.1f);
  add("rome", 0, 1, 1);  // the best answer unless it is excluded
  add("italy", -1, 0, 0);
  const Embeddings words(std::move(names), std::move(vectors));
  const auto correct = [&](AnalogySection::Question question, LetterCase letter_case) {
    const std::vector<AnalogySection> sections{{"s", {std::move(question)}}};
    return evaluate_analogies(words, sections, {.letter_case = letter_case}).total.correct;
  };
  CHECK(correct({"France", "Paris", "Italy", "ROME"}, LetterCase::fallback) == 1);
  CHECK(correct({"France", "Paris", "Italy", "Rome"}, LetterCase::fallback) == 0);
  CHECK(correct({"France", "Paris", "Italy", "ROME"}, LetterCase::exact) == 0);
  // ROME is looked up as rome, which then is no answer.
  CHECK(correct({"France", "ROME", "Italy", "Rome"}, LetterCase::fallback) == 1);
}

TEST_CASE("pairs of words are asked in both orders, any answer is right", "[evaluation]") {
  // Countries have a direction of their own; their capitals point up as well.
  WordList names;
  RowMatrix vectors(8, 4);
  const auto add = [&](const char* word, std::size_t country, float up) {
    vectors.row(names.size())[country] = 1;
    vectors.row(names.size())[3] = up;
    names.append(word);
  };
  add("france", 0, 0);
  add("paris", 0, 1);
  add("italy", 1, 0);
  add("roma", 1, 1);
  add("rome", 1, 0.9f);
  add("spain", 2, 0);
  add("madrid", 2, 0.8f);
  add("up", 3, 1);
  const Embeddings words(std::move(names), std::move(vectors));
  AnalogySection section{"capital", {}, {}, "4_Some_morphology"};
  section.pairs = {{"france", {"paris"}},
                   {"Italy", {"rome", "ROMA"}},
                   {"spain", {"barcelona", "madrid"}},  // the first answer is unknown
                   {"atlantis", {"paris"}},
                   {"spain", {"madrid", "zebra"}}};
  const std::vector<AnalogySection> sections{section, {"second", {}, section.pairs, "5_semantics"}};
  for (const AnalogyMethod method : {AnalogyMethod::cos_add, AnalogyMethod::cos_mul}) {
    const auto report = evaluate_analogies(words, sections, {.method = method});
    const AnalogyReport::Count& count = report.sections[0].count;
    CHECK(count.asked == 6);
    CHECK(count.skipped == 14);
    CHECK(count.correct == 6);
    REQUIRE(report.groups.size() == 2);
    CHECK(report.groups[0].name == "4_Some_morphology");
    CHECK(report.syntactic.asked == 6);
    CHECK(report.semantic.asked == 6);
    CHECK(report.total.asked == 12);
    std::ostringstream table;
    table << report;
    CHECK(contains(table.str(),
                   "4_Some_morphology                1.0000        6        6       14"));
  }
  // An answer of x is given to no question that it makes, although it would be the best.
  const std::vector<AnalogySection> excluded{
      {"s", {}, {{"france", {"paris", "roma", "rome"}}, {"italy", {"roma"}}}}};
  CHECK(evaluate_analogies(words, excluded).total.asked == 2);
  CHECK(evaluate_analogies(words, excluded).total.correct == 1);
}

TEST_CASE("questions have the answers of a search of their own", "[evaluation]") {
  // More distinct words than are searched together, and rows that fill no whole block.
  constexpr std::size_t size = 1501;
  WholeNumbers number;
  std::vector<std::string> names;
  RowMatrix rows(size, 5);
  for (std::size_t i = 0; i < size; ++i) {
    names.push_back("v" + std::to_string(i));
    for (float& x : rows.row(i)) x = static_cast<float>(number(100));
  }
  rows.row(7)[0] = rows.row(3)[0];
  std::copy_n(rows.row_data(3), 5, rows.row_data(7));  // ties, of which the first is the answer
  const Embeddings words(WordList::from(names), std::move(rows));
  for (const auto method : {AnalogyMethod::cos_add, AnalogyMethod::cos_mul}) {
    AnalogySection section{"s", {}};
    for (std::size_t i = 0; i < 500; ++i) {
      const auto &a = names[3 * i], &b = names[3 * i + 1], &c = names[(7 * i + 5) % size];
      if (a == c || b == c) continue;
      const auto best = words.analogy(a, b, c, 1, method);
      section.questions.push_back({a, b, c, i % 3 == 0 ? "v1" : best.at(0).word});
    }
    const std::vector<AnalogySection> sections{section};
    const auto right = evaluate_analogies(words, sections, {.method = method, .threads = 1});
    for (std::size_t i = 0; i < section.questions.size(); ++i) {
      const bool is_wrong = section.questions[i].d == "v1";
      CHECK(right.sections[0].outcomes.at(i) ==
            (is_wrong ? AnalogyReport::Outcome::wrong : AnalogyReport::Outcome::right));
    }
    const auto by_three = evaluate_analogies(words, sections, {.method = method, .threads = 3});
    CHECK(by_three.sections[0].outcomes == right.sections[0].outcomes);
  }
}

TEST_CASE("cos_mul has the answers that NumPy computes", "[evaluation]") {
  const auto words = known_vectors();
  CHECK(words.vector("w8")[0] == 55 + 90 - 16);
  const std::vector<AnalogySection> sections{
      {"s", {{"w0", "w1", "w2", "w17"}, {"w3", "w8", "w5", "w7"}, {"w10", "w4", "w17", "w1"}}}};
  CHECK(evaluate_analogies(words, sections, {.method = AnalogyMethod::cos_mul}).total.correct == 3);
  const auto best = words.analogy("w0", "w1", "w2", 3, AnalogyMethod::cos_mul);
  CHECK(best.at(0).score == Approx(1.727451).epsilon(1e-5));
  // a large epsilon makes it b c, which has other answers
  const AnalogyReport::Options options{.method = AnalogyMethod::cos_mul, .epsilon = 1e6f};
  CHECK(evaluate_analogies(words, sections, options).total.correct == 0);
}

TEST_CASE("a question with an unknown word may count as wrong", "[evaluation]") {
  const AnalogyReport::Count count{2, 4, 6};
  CHECK(count.accuracy() == Approx(0.5));
  CHECK(count.accuracy_of_all() == Approx(0.2));
  CHECK(std::isnan(AnalogyReport::Count{0, 0, 6}.accuracy()));
  CHECK(AnalogyReport::Count{0, 0, 6}.accuracy_of_all() == 0);
}

TEST_CASE("clusters and their purity are those of scikit-learn", "[evaluation]") {
  const std::vector<std::uint32_t> categories{0, 0, 0, 1, 1, 1, 2, 2, 2, 2};
  const std::vector<std::uint32_t> clusters{0, 0, 1, 1, 1, 3, 2, 2, 0, 0};
  CHECK(detail::purity(categories, clusters) == Approx(0.7));
  CHECK(detail::purity(clusters, categories) == Approx(0.6));
  const Embeddings words = known_vectors().normalized();
  const detail::KMeans means(words.vectors());
  RowMatrix centres = detail::vectors_to_multiply(3, 6);
  for (std::size_t i = 0; i < 3; ++i)
    std::copy_n(words.vectors().row_data(i), 6, centres.row_data(i));
  const auto found = means.from(std::move(centres), 3, 100, 0);
  CHECK(found.inertia == Approx(12.66610).epsilon(1e-5));
  CHECK(found.clusters == std::vector<std::uint32_t>{0, 1, 2, 2, 1, 1, 1, 0, 0, 0, 2, 2,
                                                     2, 0, 1, 0, 1, 1, 1, 2, 1, 0, 0, 0});
  CHECK(means.best(3, 10, 1, 50, 1e-4).inertia <= found.inertia);
  const auto apart = means.best(24, 1, 1, 50, 1e-4);  // a cluster for each point
  CHECK(apart.inertia == Approx(0).margin(1e-5));
  CHECK_THROWS_AS(means.best(25, 1, 1, 50, 1e-4), InvalidArgument);
}

TEST_CASE("words are compared with their categories", "[evaluation]") {
  const TemporaryFolder folder;
  write_file(folder / "c", "up\tnorth\nUpper\tnorth\nright\teast\nfar\teast\nzebra\tanimal\n");
  write_file(folder / "header", "Word\tCategory\nup\tnorth\n");
  CHECK(WordCategories::load(folder / "header").entries.size() == 1);
  write_file(folder / "header", "word\tclass\n");
  CHECK_THROWS_AS(WordCategories::load(folder / "header"), FormatError);
  const auto set = WordCategories::load(folder / "c");
  const auto words = circle({{"up", 90}, {"upper", 95}, {"right", 0}, {"far", 5}});
  const auto report = set.evaluate(words);
  CHECK(report.used == 4);
  CHECK(report.left_out == 1);
  CHECK(report.categories == 2);
  CHECK(report.purity.mean == 1);
  CHECK(report.purity.deviation == 0);
  CHECK(std::isnan(report.words.at(4)));
  const auto unknown = set.evaluate(circle({{"b", 0}}));
  CHECK(unknown.used == 0);
  CHECK(std::isnan(unknown.purity.mean));
  write_file(folder / "c", "up\tnorth\nright\n");
  CHECK(contains(
      message_of<FormatError>([&] { static_cast<void>(WordCategories::load(folder / "c")); }),
      "line 2, column 1: expected a word and its category"));
}

TEST_CASE("words are divided into classes by their directions", "[evaluation]") {
  std::vector<std::pair<std::string, double>> places;
  for (int i = 0; i < 90; ++i) places.emplace_back("w" + std::to_string(i), i % 3 * 100 + i % 7);
  const auto words = circle(places);
  const auto classes = WordCategories::classify(words, 3, 1);
  REQUIRE(classes.size() == 90);
  for (std::size_t i = 3; i < 90; ++i) CHECK(classes[i] == classes[i - 3]);
  CHECK(classes[0] + classes[1] + classes[2] == 3);
  const auto many = WordCategories::classify(words, 10, 1);
  CHECK(many == WordCategories::classify(words, 10, 3));
  CHECK(*std::max_element(many.begin(), many.end()) == 9);
  CHECK_THROWS_AS(WordCategories::classify(words, 0), InvalidArgument);
  CHECK_THROWS_AS(WordCategories::classify(words, 91), InvalidArgument);
}

TEST_CASE("statistics are those of SciPy", "[evaluation]") {
  const std::vector<double> a{0.60, 0.62, 0.61, 0.63, 0.60}, b{0.61, 0.60, 0.64};
  const auto of_a = Statistics::of(a);
  CHECK(of_a.mean == Approx(0.612));
  CHECK(Statistics::spearman(a, std::vector<double>{1, 4, 3, 5, 2}) == Approx(0.9746794345));
  CHECK(of_a.deviation == Approx(0.0130384048));
  CHECK(of_a.high - of_a.mean == Approx(0.0161893178));  // scipy.stats.t.interval
  const auto difference = Statistics::welch(a, b);
  CHECK(difference.mean == Approx(0.0046666667));
  CHECK(difference.low == Approx(-0.0380888202));  // ttest_ind(b, a, equal_var=False)
  CHECK(difference.high == Approx(0.0474221535));
  CHECK(difference.p_worse ==
        Approx(0.176589976));  // ttest_ind(b + 0.01, a, alternative="greater")
  CHECK(std::isnan(Statistics::welch(a, std::span(b).first(1)).p_worse));
  CHECK(std::isnan(Statistics::of({}).mean));
  CHECK(Statistics::holm(std::vector<double>{0.01, NAN, 0.04, 0.03})[0] == Approx(0.03));
  CHECK(Statistics::holm(std::vector<double>{0.01, NAN, 0.04, 0.03})[2] == Approx(0.06));
  CHECK(Statistics::holm(std::vector<double>{0.01, NAN, 0.04, 0.03})[3] == Approx(0.06));
}

TEST_CASE("a bootstrap draws items for both methods alike", "[evaluation]") {
  // 100 items, of which B has 20 that A has not: the standard error is sqrt(.2 .8 / 100) = 0.04.
  std::vector<double> a(100), b(100), people, same, reversed;
  for (std::size_t i = 0; i < 20; ++i) b[i] = 1;
  const auto better = Statistics::bootstrap(a, b);
  CHECK(better.mean == Approx(0.2));
  CHECK(better.low == Approx(0.12).margin(0.011));
  CHECK(better.high == Approx(0.28).margin(0.011));
  CHECK(better.p_worse < 0.001);
  CHECK(Statistics::bootstrap(b, a).p_worse > 0.999);
  CHECK(Statistics::bootstrap(a, a).low == 0);
  CHECK_THROWS_AS(Statistics::bootstrap(a, std::span(b).first(3)), InvalidArgument);
  for (int i = 0; i < 40; ++i) {
    people.push_back(i / 2);  // ties
    same.push_back(i / 2);
    reversed.push_back(-i);
  }
  const std::vector<std::vector<double>> of_same{same}, of_reversed{reversed};
  const auto worse = Statistics::bootstrap_spearman(people, of_same, of_reversed);
  CHECK(worse.mean == Approx(detail::spearman(people, reversed) - 1));
  CHECK(worse.high < -1.9);
  CHECK(Statistics::bootstrap_spearman(people, of_same, of_same).low == Approx(0).margin(1e-12));
}
