#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/core/random.hpp>
#include <wordloom/core/word_list.hpp>
#include <wordloom/core/word_table.hpp>

#include "catch.hpp"

using namespace wordloom;
using detail::WordTable;

TEST_CASE("an empty word table finds nothing", "[word_table]") {
  WordTable table;
  CHECK(table.size() == 0);
  CHECK_FALSE(table.find(""));
  CHECK_FALSE(table.find("a"));
  CHECK(table == WordTable());
}

TEST_CASE("a word table numbers words in the order of their first place", "[word_table]") {
  WordTable table;
  CHECK(table.insert("b") == 0);
  CHECK(table.insert("") == 1);
  CHECK(table.insert("b") == 0);
  CHECK(table.append("a"));
  CHECK_FALSE(table.append("b"));
  CHECK(table.insert("c") == 4);
  REQUIRE(table.size() == 5);
  CHECK(table[1] == "");
  CHECK(table[3] == "b");
  CHECK(table.find("b") == 0u);
  CHECK(table.find("c") == 4u);
}

TEST_CASE("a word table grows like a map, with duplicates and words in common slots",
          "[word_table]") {
  Random random(3);
  WordTable table;
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
      REQUIRE(table.append(word) == is_new);
      words.push_back(word);
    } else {
      REQUIRE(table.insert(word) == place->second);
      if (is_new) words.push_back(word);
    }
  }
  REQUIRE(table.size() == words.size());
  for (std::size_t i = 0; i < words.size(); ++i) REQUIRE(table[i] == words[i]);
  for (const auto& [word, id] : expected) REQUIRE(table.find(word) == id);
  CHECK_FALSE(table.find("aaaaaaaaa"));
  WordTable reserved;
  reserved.reserve(words.size(), 100);
  for (const auto& word : words) reserved.append(word);
  CHECK(reserved == table);
  for (const auto& [word, id] : expected) REQUIRE(reserved.find(word) == id);
}

TEST_CASE("a word list's builder tells duplicates and their first place", "[word_list]") {
  WordList::Builder builder;
  CHECK(builder.add("a"));
  CHECK(builder.add("b"));
  CHECK_FALSE(builder.add("a"));
  CHECK(builder.find("b") == 1u);
  const auto list = std::move(builder).build();
  CHECK(list.size() == 3);
  CHECK(list.find("a") == 0u);
}
