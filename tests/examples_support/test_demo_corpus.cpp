#include <set>
#include <string>
#include <string_view>

#include "catch.hpp"
#include "demo_corpus.hpp"

using namespace wordloom;

TEST_CASE("the demo corpus is the same for the same seed and has the given size", "[demo]") {
  const std::string text = demo::make_corpus({.tokens = 20'000});
  CHECK(text == demo::make_corpus({.tokens = 20'000}));
  CHECK(text != demo::make_corpus({.tokens = 20'000, .seed = 2}));
  const auto tokens = demo::split(text).size();
  CHECK(tokens >= 20'000);
  CHECK(tokens < 20'020);
  CHECK(text.back() == '\n');
}

TEST_CASE("every gold word occurs in the demo corpus often enough to be learnt", "[demo]") {
  const std::string text = demo::make_corpus({.tokens = 200'000});
  std::multiset<std::string_view> words;
  for (const auto word : demo::split(text)) words.insert(word);
  for (const auto& section : demo::analogies()) {
    CHECK(section.questions.size() >= 100);
    for (const auto& question : section.questions) {
      REQUIRE(words.count(question.a) >= 20);
      REQUIRE(words.count(question.d) >= 20);
    }
  }
  for (const auto& pair : demo::similarity_pairs()) {
    REQUIRE(words.count(pair.first) >= 20);
    REQUIRE(words.count(pair.second) >= 20);
  }
}

TEST_CASE("no word of the demo corpus has two meanings", "[demo]") {
  std::multiset<std::string_view> words;
  for (const auto& kind : demo::kinds) {
    for (const auto line : kind.members)
      for (const auto word : demo::split(line)) words.insert(word);
    CHECK(kind.patterns.size() % kind.forms == 0);
    CHECK(kind.relations.size() == kind.forms - 1);
  }
  for (const auto& group : demo::groups)
    for (const auto word : demo::split(group.members)) words.insert(word);
  std::set<std::string_view> used_in_patterns;
  for (const auto& kind : demo::kinds)
    for (const auto pattern : kind.patterns)
      for (const auto word : demo::split(pattern)) used_in_patterns.insert(word);
  for (const auto word : words) {
    CHECK(words.count(word) == 1);
    CHECK(used_in_patterns.count(word) == 0);
  }
}
