// Sentences and relations that networks classify.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>
#include <wordloom/evaluation/word_relations.hpp>

#if WORDLOOM_HAS_BLAS
#include <wordloom/evaluation/sentence_lstm.hpp>
#include <wordloom/evaluation/sentence_network.hpp>
#endif

#include "catch.hpp"
#include "evaluation/known_vectors.hpp"
#include "support.hpp"

using namespace wordloom;
using wordloom_test::known_vectors;

TEST_CASE("macro F1 counts a relation of both directions once, as the official scorer does",
          "[evaluation]") {
  const std::vector<std::string> truth{"A(e1,e2)", "A(e2,e1)", "B(e1,e2)",
                                       "Other",    "Other",    "B(e2,e1)"};
  const std::vector<std::string> guesses{"A(e1,e2)", "A(e1,e2)", "Other",
                                         "Other",    "B(e1,e2)", "B(e2,e1)"};
  CHECK(WordRelations::macro_f1(truth, guesses) == 0.5);
  CHECK(WordRelations::macro_f1(truth, truth) == 1);
  const std::vector<std::string> other(2, "Other"), unknown(2, "C(e1,e2)");
  CHECK(WordRelations::macro_f1(other, unknown) == 0);
  CHECK_THROWS_AS(WordRelations::macro_f1(truth, other), InvalidArgument);
}

TEST_CASE("relations are read with the places of the marked words", "[evaluation]") {
  const TemporaryFolder folder;
  const auto load = [&](const std::string& text) {
    write_file(folder / "a", text);
    return WordRelations::load(folder / "a", folder / "a");
  };
  const std::string other = "2\tOther\t<e1>a</e1> <e2>b</e2>\n";
  const auto relations =
      load("1\tCause(e1,e2)\tThe <e1>Big Cat's</e1>-\xc3\x89t\xc3\xa9 ate<e2>mice</e2>.\n" + other);
  REQUIRE(relations.trained.size() == 2);
  const auto& first = relations.trained[0];
  CHECK(first.relation == "Cause(e1,e2)");
  CHECK(first.words == std::vector<std::string>{"the", "big", "cat", "'", "s", "-", "\xc3\xa9", "t",
                                                "\xc3\xa9", "ate", "mice", "."});
  CHECK(first.places[0] == 4);
  CHECK(first.places[1] == 10);
  const auto refused = [&](const std::string& text) {
    return message_of<FormatError>([&] { static_cast<void>(load(text)); });
  };
  CHECK(contains(refused(other + "1\tCause\n"), "line 2, column 1: expected a number, a relation"));
  for (const char* const text :
       {"<e1>a</e1> b", "<e1></e1> <e2>b</e2>", "a</e1> <e2>b</e2>", "<e1><e1>a</e1> <e2>b</e2>"})
    CHECK(contains(refused(std::string("1\tCause\t") + text + "\n"), "line 1, column 9: expected"));
  CHECK(contains(message_of<InvalidArgument>([&] { static_cast<void>(load(other)); }),
                 "all sentences have one relation"));
}

#if WORDLOOM_HAS_BLAS
TEST_CASE("a network classifies sentences by the order of their words", "[evaluation]") {
  SentenceSet set;  // label 7: w1 comes first; no mean vector tells them apart
  Random random(2);
  for (std::uint32_t i = 0; i < 120; ++i) {
    auto& sentence = set.sentences.emplace_back();
    sentence.label = i / 10 % 2 == 0 ? 7 : 2;
    sentence.words = {sentence.label == 7 ? "w1" : "W2", sentence.label == 7 ? "w2" : "w1"};
    for (std::uint64_t n = random.below(4); n > 0; --n)
      sentence.words.insert(
          sentence.words.begin() + static_cast<std::ptrdiff_t>(random.below(2) * 2),
          random.below(2) == 0 ? "unknown" : "w9");
  }
  const SentenceSet::Network network{.filters = 10, .batch = 10, .epochs = 8, .threads = 1};
  const auto crossed = network.evaluate(set, known_vectors());
  CHECK(crossed.folds.size() == 10);
  CHECK(crossed.used == 120);
  CHECK(crossed.without_words == 0);
  CHECK(crossed.accuracy > 0.9);
  SentenceSet::Network other = network;
  other.threads = 3;
  CHECK(other.evaluate(set, known_vectors()).right == crossed.right);
  set.trained = 80;
  other.trains_vectors = true;
  const auto split = other.evaluate(set, known_vectors());
  CHECK(split.folds.size() == 1);
  CHECK(split.used == 40);
  CHECK(split.accuracy > 0.9);
  other.epochs = 0;
  CHECK_THROWS_AS(other.evaluate(set, known_vectors()), InvalidArgument);
}

TEST_CASE("long short-term memory classifies by the order of words, and has exact gradients",
          "[evaluation]") {
  Random random(4);
  RowMatrix vectors(6, 3);  // row 0 is padding
  for (std::size_t row = 1; row < vectors.rows(); ++row)
    for (float& x : vectors.row(row)) x = static_cast<float>(2 * random.uniform() - 1);
  const std::vector<std::uint32_t> texts[] = {{1, 2, 3, 2, 5}, {}, {4, 5, 4}, {2}, {3, 1, 1}};
  const std::vector<detail::Symbols> batch(std::begin(texts), std::end(texts));
  const std::vector<std::uint32_t> labels{0, 2, 1, 1, 0};
  detail::LstmNetwork network(vectors, {.classes = 3, .units = 4});
  network.differentiate(batch, labels, false);
  std::vector<RowMatrix> gradients;
  for (const auto& parameter : network.parameters()) gradients.push_back(parameter.gradient.copy());
  for (std::size_t p = 0; p < gradients.size(); ++p)
    for (std::size_t row = 0; row < gradients[p].rows(); ++row)
      for (std::size_t c = 0; c < gradients[p].columns(); ++c) {
        float& x = network.parameters()[p].value.row(row)[c];
        const float before = x, step = 0.01f;
        double losses[2];
        for (const bool up : {false, true}) {
          x = up ? before + step : before - step;
          losses[up] = network.differentiate(batch, labels, false);
        }
        x = before;
        INFO("parameter " << p << ", row " << row << ", column " << c);
        CHECK(gradients[p].row(row)[c] ==
              Approx((losses[1] - losses[0]) / (2 * double{step})).margin(5e-5).epsilon(1e-3));
      }

  SentenceSet set;  // label 7: w1 comes first; no mean vector tells them apart
  for (std::uint32_t i = 0; i < 120; ++i) {
    auto& text = set.sentences.emplace_back();
    text.label = i / 10 % 2 == 0 ? 7 : 2;
    text.words = {text.label == 7 ? "w1" : "W2", text.label == 7 ? "w2" : "w1"};
    for (std::uint64_t n = random.below(4); n > 0; --n)
      text.words.insert(text.words.begin() + static_cast<std::ptrdiff_t>(random.below(3)), "w9");
    text.words.push_back("w9");
  }
  const SentenceSet::Lstm lstm{.units = 10, .batch = 5, .epochs = 25, .threads = 1};
  const auto crossed = lstm.evaluate(set, known_vectors());
  CHECK(crossed.folds.size() == 10);
  CHECK(crossed.used == 120);
  CHECK(crossed.accuracy > 0.9);
  SentenceSet::Lstm other = lstm;
  other.threads = 2;
  CHECK(other.evaluate(set, known_vectors()).right == crossed.right);
  set.trained = 80;
  other.max_words = 1;  // the last word, w9, tells nothing
  CHECK(other.evaluate(set, known_vectors()).accuracy == 0.5);
  SentenceSet empty = set;
  for (auto& text : empty.sentences) text.words.clear();
  CHECK(other.evaluate(empty, known_vectors()).accuracy == 0.5);
  for (const auto change : {+[](SentenceSet::Lstm& bad) { bad.units = 0; },
                            +[](SentenceSet::Lstm& bad) { bad.max_words = 0; },
                            +[](SentenceSet::Lstm& bad) { bad.dropout = 1; },
                            +[](SentenceSet::Lstm& bad) { bad.max_gradient = 0; },
                            +[](SentenceSet::Lstm& bad) { bad.batch = 0; },
                            +[](SentenceSet::Lstm& bad) { bad.epochs = 0; }}) {
    SentenceSet::Lstm bad = lstm;
    change(bad);
    CHECK_THROWS_AS(bad.evaluate(set, known_vectors()), InvalidArgument);
  }
}

TEST_CASE("a network finds relations by the places of the marked words", "[evaluation]") {
  WordRelations relations;  // the words are those of all; which comes first is what tells
  Random random(3);
  for (std::size_t i = 0; i < 240; ++i) {
    WordRelations::Sentence sentence{};
    for (int n = 0; n < 8; ++n) sentence.words.push_back("w" + std::to_string(random.below(24)));
    const std::size_t first = random.below(3), second = 4 + random.below(4);
    const bool is_turned = random.below(2) == 1;
    sentence.relation = is_turned ? "A(e2,e1)" : "A(e1,e2)";
    sentence.places[is_turned ? 1 : 0] = first;
    sentence.places[is_turned ? 0 : 1] = second;
    (i < 200 ? relations.trained : relations.tested).push_back(sentence);
  }
  const WordRelations::Options options{.filters = 20, .batch = 10, .epochs = 12};
  // Vectors as long as those of words are.
  auto words = known_vectors();
  const auto report = relations.evaluate(words.normalized(), options);
  CHECK(report.f1 > 0.85);
  CHECK(report.known == 24);
  CHECK(report.words == 24);
  CHECK(relations.evaluate(words.normalized(), options).guesses == report.guesses);
}
#endif
