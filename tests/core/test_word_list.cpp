#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/core/random.hpp>
#include <wordloom/core/words.hpp>

#include "catch.hpp"

using namespace wordloom;

TEST_CASE("an empty word list finds nothing", "[word_list]") {
  WordList list;
  CHECK(list.size() == 0);
  CHECK_FALSE(list.find(""));
  CHECK_FALSE(list.find("a"));
  CHECK(list == WordList());
}

TEST_CASE("a word list numbers words in the order of their first occurrence", "[word_list]") {
  WordList list;
  CHECK(list.insert("b") == 0);
  CHECK(list.insert("") == 1);
  CHECK(list.insert("b") == 0);
  CHECK(list.append("a"));
  CHECK_FALSE(list.append("b"));
  CHECK(list.insert("c") == 4);
  REQUIRE(list.size() == 5);
  CHECK(list[1] == "");
  CHECK(list[3] == "b");
  CHECK(list.find("b") == 0u);
  CHECK(list.find("c") == 4u);
}

TEST_CASE("a word list grows like a map, with duplicates and words in common slots",
          "[word_list]") {
  Random random(3);
  WordList list;
  std::map<std::string, WordId> expected;
  std::vector<std::string> words;
  for (int i = 0; i < 20'000; ++i) {
    // Up to 8 letters of 6, so that many words come again.
    std::string word;
    for (auto length = random.below(9); length > 0; --length)
      word += static_cast<char>('a' + random.below(6));
    const bool twice = random.below(10) == 0;
    const auto [place, is_new] = expected.emplace(word, static_cast<WordId>(words.size()));
    if (twice) {
      REQUIRE(list.append(word) == is_new);
      words.push_back(word);
    } else {
      REQUIRE(list.insert(word) == place->second);
      if (is_new) words.push_back(word);
    }
  }
  REQUIRE(list.size() == words.size());
  for (std::size_t i = 0; i < words.size(); ++i) REQUIRE(list[i] == words[i]);
  for (const auto& [word, id] : expected) REQUIRE(list.find(word) == id);
  CHECK_FALSE(list.find("aaaaaaaaa"));
  CHECK(WordList::from(words) == list);
}

TEST_CASE("a word list reports duplicates and finds their first occurrence", "[word_list]") {
  WordList list;
  CHECK(list.append("a"));
  CHECK(list.append("b"));
  CHECK_FALSE(list.append("a"));
  CHECK(list.find("b") == 1u);
  CHECK(list.size() == 3);
  CHECK(list.find("a") == 0u);
}
