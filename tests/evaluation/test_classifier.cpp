#include <wordloom/evaluation/classifier.hpp>

#if WORDLOOM_HAS_LIBLINEAR
#include <stdio.h>  // NOLINT(modernize-deprecated-headers): fileno is POSIX, not C++.
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/evaluation/pair_relations.hpp>
#include <wordloom/evaluation/sentences.hpp>

#include "catch.hpp"
#include "evaluation/known_vectors.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

struct Problem {
  std::vector<std::vector<float>> rows;
  std::vector<std::uint8_t> positive;

  detail::FeatureRows features() const {
    detail::FeatureRows result(rows[0].size());
    for (const auto& row : rows) result.append(row);
    return result;
  }
};

/// Points of two classes around (`distance`, -`distance`, 0) and its opposite.
Problem two_clouds(std::size_t count, double distance) {
  Problem result;
  Random random(7);
  for (std::size_t i = 0; i < count; ++i) {
    const bool positive = random.uniform() < 0.3;
    const double centre = positive ? distance : -distance;
    std::vector<float> row;
    for (const double at : {centre, -centre, 0.0})
      row.push_back(static_cast<float>(at + 2 * random.uniform() - 1));
    result.rows.push_back(row);
    result.positive.push_back(positive);
  }
  return result;
}

/// The length of the gradient of (|w|^2 + b^2) / 2 + C sum log(1 + exp(-y (w x + b))).
double gradient_length(const Problem& problem, const std::vector<double>& weights, double bias,
                       double cost) {
  std::vector<double> gradient = weights;
  gradient.push_back(bias);
  for (std::size_t i = 0; i < problem.rows.size(); ++i) {
    const auto& row = problem.rows[i];
    const double y = problem.positive[i] != 0 ? 1 : -1;
    double decision = bias;
    for (std::size_t d = 0; d < row.size(); ++d)
      decision += weights[d] * static_cast<double>(row[d]);
    const double slope = -cost * y / (1 + std::exp(y * decision));
    for (std::size_t d = 0; d < row.size(); ++d) gradient[d] += slope * static_cast<double>(row[d]);
    gradient.back() += slope;
  }
  double squares = 0;
  for (const double x : gradient) squares += x * x;
  return std::sqrt(squares);
}

std::vector<double> weights_of(const detail::LogisticRegression& classifier) {
  return {classifier.weights().begin(), classifier.weights().end()};
}

}  // namespace

TEST_CASE("logistic regression ends where the gradient is zero", "[evaluation]") {
  for (const double distance : {0.3, 3.0}) {  // not separable, separable
    for (const double cost : {1.0, 0.05}) {
      const Problem problem = two_clouds(60, distance);
      const auto classifier = detail::LogisticRegression::fit(problem.features(), problem.positive,
                                                              {.cost = cost, .tolerance = 1e-9});
      REQUIRE(classifier.dimension() == 3);
      const auto weights = weights_of(classifier);
      const double start = gradient_length(problem, {0, 0, 0}, 0, cost);
      CHECK(gradient_length(problem, weights, classifier.bias(), cost) < 1e-7 * start);
      CHECK(gradient_length(problem, weights, classifier.bias() + 1e-3, cost) > 1e-5 * start);
      std::size_t right = 0;
      for (std::size_t i = 0; i < problem.rows.size(); ++i) {
        const double decision = classifier.decision(problem.rows[i]);
        right += (decision > 0) == (problem.positive[i] != 0);
        CHECK(classifier.probability(problem.rows[i]) == Approx(1 / (1 + std::exp(-decision))));
      }
      if (distance > 1) CHECK(right == problem.rows.size());
    }
  }
}

TEST_CASE("logistic regression finds solutions that are known by hand", "[evaluation]") {
  // Of points at 1 and -1 the bias is 0 by symmetry, and w = 2 C / (1 + exp(w)).
  for (const bool positive_first : {true, false}) {
    Problem problem{{{1.0f}, {-1.0f}}, {1, 0}};
    if (!positive_first) problem = {{{-1.0f}, {1.0f}}, {0, 1}};
    const auto classifier =
        detail::LogisticRegression::fit(problem.features(), problem.positive, {.tolerance = 1e-10});
    const double w = classifier.weights()[0];
    CHECK(w * (1 + std::exp(w)) == Approx(2.0));
    CHECK(classifier.bias() == Approx(0.0).margin(1e-9));
    CHECK(classifier.decision(std::vector<float>{2.0f}) == Approx(2 * w));
  }
}

TEST_CASE("a linear SVM finds a solution that is known by hand", "[evaluation]") {
  // Of points at 1 and -1: the minimum of w^2 / 2 + 2 C (1 - w)^2 is at w = 4 C / (1 + 4 C).
  const Problem problem{{{1.0f}, {-1.0f}}, {1, 0}};
  for (const double cost : {1.0, 0.25}) {
    const auto svm = detail::LogisticRegression::fit(
        problem.features(), problem.positive,
        {.loss = LogisticOptions::Loss::squared_hinge, .cost = cost, .tolerance = 1e-10});
    CHECK(svm.weights()[0] == Approx(4 * cost / (1 + 4 * cost)));
    CHECK(svm.bias() == Approx(0).margin(1e-8));
  }
}

TEST_CASE("logistic regression trains on the chosen rows only", "[evaluation]") {
  const Problem problem = two_clouds(40, 0.3);
  Problem half;
  std::vector<std::uint32_t> chosen;
  for (std::uint32_t i = 39; i < 40; i -= 2) {
    chosen.push_back(i);
    half.rows.push_back(problem.rows[i]);
    half.positive.push_back(problem.positive[i]);
  }
  REQUIRE(chosen.size() == 20);
  const auto some = detail::LogisticRegression::fit(problem.features(), chosen, half.positive);
  CHECK(weights_of(some) ==
        weights_of(detail::LogisticRegression::fit(half.features(), half.positive)));
  CHECK(weights_of(some) !=
        weights_of(detail::LogisticRegression::fit(problem.features(), problem.positive)));
}

TEST_CASE("logistic regression gives equal results in several threads at a time", "[evaluation]") {
  const Problem problem = two_clouds(200, 0.2);
  const auto features = problem.features();
  const auto alone = weights_of(detail::LogisticRegression::fit(features, problem.positive));
  std::vector<std::vector<double>> found(4);
  detail::run_threads(found.size(), [&](std::size_t i) {
    for (int repetition = 0; repetition < 20; ++repetition)
      found[i] = weights_of(detail::LogisticRegression::fit(features, problem.positive));
  });
  for (const auto& weights : found) CHECK(weights == alone);
}

TEST_CASE("logistic regression prints nothing", "[evaluation]") {
  const TemporaryFolder folder;
  const Problem problem = two_clouds(40, 0.3);
  std::fflush(stdout);
  const int before = ::dup(STDOUT_FILENO);
  std::FILE* const file = std::fopen((folder / "out").c_str(), "w");
  REQUIRE(file != nullptr);
  ::dup2(fileno(file), STDOUT_FILENO);
  static_cast<void>(detail::LogisticRegression::fit(problem.features(), problem.positive));
  std::fflush(stdout);
  ::dup2(before, STDOUT_FILENO);
  ::close(before);
  std::fclose(file);
  CHECK(read_file(folder / "out").empty());
}

TEST_CASE("logistic regression says what is wrong with its input", "[evaluation]") {
  using Labels = std::vector<std::uint8_t>;
  detail::FeatureRows rows(2);
  rows.append(std::vector<float>{1, 2});
  rows.append(std::vector<float>{3, 4});
  const auto message = [&](const Labels& labels, const LogisticOptions& options) {
    return message_of<InvalidArgument>(
        [&] { static_cast<void>(detail::LogisticRegression::fit(rows, labels, options)); });
  };
  CHECK(contains(message({1, 1}, {}), "needs rows of both classes, got 0 negative ones of 2"));
  CHECK(contains(message({0, 0}, {}), "got 2 negative ones of 2"));
  CHECK(contains(message({1}, {}), "got 2 rows and 1 labels"));
  CHECK(contains(message({1, 0}, {.cost = 0}), "cost is 0, must be finite and above 0"));
  CHECK(contains(message({1, 0}, {.cost = NAN}), "cost is nan"));
  CHECK(contains(message({1, 0}, {.tolerance = INFINITY}), "tolerance is inf"));
  CHECK(contains(message_of<InvalidArgument>([&] {
                   const std::vector<std::uint32_t> chosen{0, 2};
                   static_cast<void>(detail::LogisticRegression::fit(rows, chosen, Labels{0, 1}));
                 }),
                 "row 2 is chosen of 2 rows"));
  CHECK(contains(message_of<InvalidArgument>([&] { rows.append(std::vector<float>{1}); }),
                 "has 1 numbers, the others 2"));
  CHECK(contains(message_of<InvalidArgument>([&] {
                   rows.append(std::vector<float>{1, NAN});
                 }),
                 "row 2 of the features is not finite"));
  CHECK(rows.size() == 2);
  CHECK_THROWS_AS(detail::FeatureRows(0), InvalidArgument);
  CHECK_THROWS_AS(detail::FeatureRows(std::numeric_limits<std::size_t>::max()), InvalidArgument);
}

TEST_CASE("balanced classes give LRCos the weights that scikit-learn has", "[evaluation]") {
  const auto words = known_vectors();
  AnalogySection section{"s", {}};
  for (int i = 0; i < 8; ++i)
    section.pairs.push_back({"w" + std::to_string(i), {"w" + std::to_string(i + 8)}});
  const auto pairs = detail::relation_pairs(words.words(), section, LetterCase::fallback);
  detail::RelationTest test{.source = 0};
  const detail::RowQueries queries{words.vectors(), words.inverse_lengths()};
  detail::learn_relation(queries, pairs, 0, {}, {.tolerance = 1e-10, .balanced = true}, test);
  const double expected[] = {1.79104, -1.80856, 0.17648, 0.65884, -0.02378, 0.83518};
  for (std::size_t d = 0; d < 6; ++d) CHECK(test.weights.at(d) == Approx(expected[d]).margin(2e-5));
  CHECK(test.bias == Approx(-0.66839).margin(2e-5));
  CHECK(detail::likely_answers(words, std::span(&test, 1), 1) == std::vector<WordId>{8});

  std::vector<AnalogySection> sections{section, section};
  sections[1].pairs.push_back({"w1", {"unknown", "w9"}});
  sections[1].questions = {{"w16", "w17", "w18", "w19"}, {"w16", "w17", "w20", "w21"}};
  const auto report = PairRelations::evaluate(words, sections, {.random_words = false});
  CHECK(report.sections[0].count.correct == 7);
  CHECK(report.sections[0].count.asked == 8);
  CHECK(report.sections[1].count.asked == 11);  // pairs of questions are tested once
  CHECK(report.sections[1].count.skipped == 1);
  const auto one = PairRelations::evaluate(words, sections, {.threads = 1});
  const auto three = PairRelations::evaluate(words, sections, {.threads = 3});
  CHECK(one.sections[1].outcomes == three.sections[1].outcomes);
}

TEST_CASE("sentences are classified by the mean of their words", "[evaluation]") {
  using Words = std::vector<std::string>;
  CHECK(detail::sentence_words("It's can't \xc3\xa9t\xc3\xa9(you'll), e-mail!", false) ==
        Words{"it", "'s", "ca", "n't", "t", "(", "you", "'ll", ")", ",", "e", "mail", "!"});
  CHECK(detail::sentence_words("it's,", true) == Words{"it's,"});
  const TemporaryFolder folder;
  const auto words = known_vectors();
  // Label 7 if w8 to w11 occur, label 2 if w0 to w3 do; every fifth sentence is empty.
  std::string text;
  for (int i = 0; i < 40; ++i)
    text += (i % 2 == 0 ? "7\t" : "2\t") +
            (i % 5 == 4 ? "" : "W" + std::to_string(i % 4 + (i % 2 == 0 ? 8 : 0)) + " what") + "\n";
  write_file(folder / "a", text);
  const std::vector<std::filesystem::path> one{folder / "a"}, two{folder / "a", folder / "a"};
  const auto crossed = SentenceSet::load(one).evaluate(words);
  CHECK(crossed.folds.size() == 10);
  CHECK(crossed.used == 40);
  CHECK(crossed.without_words == 8);
  CHECK(crossed.accuracy == Approx(0.8));  // an empty one gets the label of those left to train on
  const auto split = SentenceSet::load(two);
  CHECK(split.trained == 40);
  const auto report = split.evaluate(words, {.threads = 1});
  CHECK(report.folds.size() == 1);
  CHECK(report.right == split.evaluate(words, {.threads = 3}).right);
  CHECK(report.accuracy == Approx(0.9));  // of the empty ones, half have the label of all
  write_file(folder / "a", "1\ta\n\nx\tb\n");
  CHECK(contains(message_of<FormatError>([&] { static_cast<void>(SentenceSet::load(one)); }),
                 "line 3, column 1: expected a label"));
  write_file(folder / "a", "1\ta\n");
  CHECK(contains(message_of<InvalidArgument>([&] { static_cast<void>(SentenceSet::load(one)); }),
                 "all sentences have one label"));
}
#endif
