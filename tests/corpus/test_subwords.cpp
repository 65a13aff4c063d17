#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <wordloom/core/random.hpp>
#include <wordloom/corpus/subwords.hpp>

#include "catch.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

using Words = std::vector<std::string>;
using Rows = std::vector<RowId>;

Vocabulary vocabulary_of(const Words& words) {
  std::vector<std::pair<std::string, std::uint64_t>> counts;
  for (std::size_t i = 0; i < words.size(); ++i) counts.emplace_back(words[i], words.size() - i);
  return Vocabulary::from_counts(counts);
}

/// The plainest form of the n-grams: the characters of "<word>", then all windows over them.
Words plain_ngrams(const std::string& word, std::size_t minn, std::size_t maxn) {
  if (word == "</s>") return {};
  Words characters;
  for (const char byte : "<" + word + ">") {
    const auto bits = static_cast<unsigned char>(byte);
    if (bits >= 0x80 && bits < 0xc0)
      characters.back() += byte;
    else
      characters.emplace_back(1, byte);
  }
  Words result;
  for (std::size_t first = 0; first < characters.size(); ++first)
    for (std::size_t n = std::max<std::size_t>(minn, 1); n <= maxn; ++n) {
      if (first + n > characters.size()) break;
      if (n == 1 && (first == 0 || first + 1 == characters.size())) continue;
      std::string& ngram = result.emplace_back();
      for (std::size_t i = 0; i < n; ++i) ngram += characters[first + i];
    }
  return result;
}

/// FNV-1a as fastText computes it, where char is signed.
std::uint32_t plain_hash(std::string_view ngram) {
  std::uint32_t hash = 0x811c9dc5;
  for (const char byte : ngram) {
    const auto bits = static_cast<std::uint32_t>(static_cast<unsigned char>(byte));
    hash = (hash ^ (bits < 0x80 ? bits : bits | 0xffffff00u)) * 0x01000193;
  }
  return hash;
}

Rows plain_bag(const std::string& word, WordId id, std::size_t words, const SubwordOptions& with) {
  Rows rows{id};
  for (const auto& ngram : plain_ngrams(word, with.minn, with.maxn))
    rows.push_back(static_cast<RowId>(words + plain_hash(ngram) % with.buckets));
  return rows;
}

Rows rows_of(const detail::SubwordTable& table, WordId word) {
  return {table[word].begin(), table[word].end()};
}

Words ngrams(std::string_view word, std::size_t minn, std::size_t maxn) {
  return detail::ngrams_of(word, {.minn = minn, .maxn = maxn});
}

}  // namespace

TEST_CASE("n-grams are taken from the word between < and >", "[subwords]") {
  CHECK(ngrams("where", 3, 3) == Words{"<wh", "whe", "her", "ere", "re>"});
  const Words of_where{"<wh",    "<whe", "<wher", "<where", "whe", "wher", "where",
                       "where>", "her",  "here",  "here>",  "ere", "ere>", "re>"};
  CHECK(ngrams("where", 3, 6) == of_where);
  CHECK(detail::ngrams_of("where") == of_where);
  CHECK(ngrams("where", 7, 9) == Words{"<where>"});
  CHECK(ngrams("where", 8, 9).empty());
  CHECK(ngrams("where", 3, 0).empty());
  CHECK(ngrams("where", 0, 0).empty());
}

TEST_CASE("n-grams consist of UTF-8 characters", "[subwords]") {
  CHECK(ngrams("na\u00efve", 3, 4) == Words{"<na", "<na\u00ef", "na\u00ef", "na\u00efv", "a\u00efv",
                                            "a\u00efve", "\u00efve", "\u00efve>", "ve>"});
  CHECK(ngrams("\u65e5\u672c\u8a9e", 2, 3) == Words{"<\u65e5", "<\u65e5\u672c", "\u65e5\u672c",
                                                    "\u65e5\u672c\u8a9e", "\u672c\u8a9e",
                                                    "\u672c\u8a9e>", "\u8a9e>"});
  CHECK(ngrams("\U0001f642", 1, 3) ==
        Words{"<\U0001f642", "<\U0001f642>", "\U0001f642", "\U0001f642>"});
}

TEST_CASE("the shortest words have the n-grams of fastText", "[subwords]") {
  CHECK(ngrams("a", 3, 6) == Words{"<a>"});
  CHECK(ngrams("a", 4, 6).empty());
  CHECK(ngrams("", 1, 6) == Words{"<>"});
  CHECK(ngrams("", 3, 6).empty());
  // The marks alone are no n-grams, the same characters in the word are.
  CHECK(ngrams("a", 1, 3) == Words{"<a", "<a>", "a", "a>"});
  CHECK(ngrams("a", 0, 3) == ngrams("a", 1, 3));
  CHECK(ngrams("<", 1, 3) == Words{"<<", "<<>", "<", "<>"});
  CHECK(ngrams(">", 1, 3) == Words{"<>", "<>>", ">", ">>"});
  CHECK(ngrams("<", 3, 3) == Words{"<<>"});
  CHECK(ngrams(">", 3, 3) == Words{"<>>"});
}

TEST_CASE("the end of a sentence has no n-grams", "[subwords]") {
  CHECK(ngrams("</s>", 1, 6).empty());
  CHECK(ngrams("</s", 5, 5) == Words{"<</s>"});
  const detail::SubwordTable table(vocabulary_of({"a", "</s>"}),
                                   {.minn = 1, .maxn = 3, .buckets = 10});
  CHECK(rows_of(table, 0).size() == 5);
  CHECK(rows_of(table, 1) == Rows{1});
}

TEST_CASE("bytes that are not UTF-8 belong to the character before them", "[subwords]") {
  // As `fasttext print-ngrams` shows them.
  CHECK(ngrams("\x80", 1, 3) == Words{"<\x80>"});
  CHECK(ngrams("a\xc3", 1, 3) == Words{"<a", "<a\xc3", "a", "a\xc3", "a\xc3>", "\xc3", "\xc3>"});
  CHECK(ngrams("\xe3\x81", 1, 3) == Words{"<\xe3\x81", "<\xe3\x81>", "\xe3\x81", "\xe3\x81>"});
  CHECK(ngrams("\x80\x80z", 1, 3) == Words{"<\x80\x80z", "<\x80\x80z>", "z", "z>"});
  Random random(4);
  for (int i = 0; i < 2000; ++i) {
    std::string word;
    for (std::uint64_t n = random.below(9); n > 0; --n)
      word += static_cast<char>(random.below(3) == 0 ? 0x61 : 0x80 + random.below(0x80));
    const std::size_t minn = 1 + random.below(4), maxn = minn + random.below(4);
    REQUIRE(ngrams(word, minn, maxn) == plain_ngrams(word, minn, maxn));
  }
}

TEST_CASE("the n-grams of a word of a megabyte are found quickly", "[subwords]") {
  const std::size_t size = 1 << 20;
  const auto count = [](const std::string& word) {
    std::size_t found = 0;
    detail::for_each_ngram(word, {}, [&](std::string_view, std::uint32_t) { ++found; });
    return found;
  };
  CHECK(count(std::string(size, 'x')) == 4 * (size + 2) - (2 + 3 + 4 + 5));
  CHECK(count(std::string(size, '\x80')) == 0);
  CHECK(count("a\xc3" + std::string(size, '\x80')) == 3);  // <aC, <aC>, aC>
}

TEST_CASE("n-grams have the row numbers of fastText", "[subwords]") {
  // get_subwords() of Python's fasttext 0.9.2 with 2,000,000 buckets, less the number of words.
  const std::vector<std::pair<std::string, RowId>> known{
      {"<wh", 167652},
      {"where", 969176},
      {"here>", 114991},
      {"re>", 867498},
      {"<a>", 1087600},
      {"<<>", 1984289},
      {"<na\u00ef", 1907692},
      {"\u00ef", 599015},
      {"\u00efve>", 1788548},
      {"\u65e5", 1514749},
      {"<\u65e5\u672c", 758587},
      {"\u672c\u8a9e>", 1674355},
      {"\U0001f642ok", 1384901},
      {"\u00df", 1040919},
      {"\u03a9\u03bc\u03ad\u03b3\u03b1>", 1528545}};
  for (const auto& [ngram, row] : known) {
    INFO(ngram);
    CHECK(plain_hash(ngram) % 2'000'000 == row);
    std::string word = ngram;
    std::erase(word, '<');
    std::erase(word, '>');
    if (ngram == "<<>") word = "<";
    const SubwordOptions options{.minn = 1, .maxn = 9};
    const detail::SubwordTable table(vocabulary_of({word}), options);
    const Words all = detail::ngrams_of(word, options);
    const auto at = std::find(all.begin(), all.end(), ngram) - all.begin();
    REQUIRE(static_cast<std::size_t>(at) < all.size());
    CHECK(table[0][static_cast<std::size_t>(at) + 1] == 1 + row);
  }
  // All of a word, in fastText's order, its own row first.
  const detail::SubwordTable table(vocabulary_of({"\u65e5\u672c\u8a9e"}), {.minn = 1});
  Rows expected{0};
  for (const RowId row : Rows{1752687, 758587, 4581, 524609, 1514749, 387409, 35559, 928923,
                              1825417, 460575, 1674355, 1408283, 1432255})
    expected.push_back(1 + row);
  CHECK(rows_of(table, 0) == expected);
}

TEST_CASE("a table has the bag of each word, made by any number of threads", "[subwords]") {
  Words words;
  Random random(8);
  for (std::size_t i = 0; i < 9000; ++i) {
    words.push_back(std::to_string(i) + "-");
    for (std::uint64_t n = random.below(8); n > 0; --n)
      words.back() += static_cast<char>(33 + random.below(223));
  }
  const Vocabulary vocabulary = vocabulary_of(words);
  for (const SubwordOptions& options :
       {SubwordOptions{}, SubwordOptions{.minn = 1, .maxn = 2, .buckets = 7},
        SubwordOptions{.minn = 4, .maxn = 4, .buckets = 0x7fff'ffff}, SubwordOptions{.maxn = 0}})
    for (const std::size_t threads : {1u, 2u, 7u, 0u}) {
      const detail::SubwordTable table(vocabulary, options, threads);
      REQUIRE(table.words() == words.size());
      CHECK(table.input_rows() == words.size() + options.rows());
      std::size_t longest = 0;
      for (WordId w = 0; w < words.size(); ++w) {
        const Rows expected = plain_bag(words[w], w, words.size(), options);
        longest = std::max(longest, expected.size());
        if (rows_of(table, w) != expected) FAIL("word " << w << " with " << threads << " threads");
      }
      CHECK(table.longest() == longest);
    }
}

TEST_CASE("copies share a table, and n-grams may share a row", "[subwords]") {
  const detail::SubwordTable table(vocabulary_of({"ab", "c"}),
                                   {.minn = 1, .maxn = 2, .buckets = 1});
  const detail::SubwordTable copy = table;
  CHECK(copy[0].data() == table[0].data());
  CHECK(rows_of(copy, 0) == Rows{0, 2, 2, 2, 2, 2});  // <a a ab b b>
  CHECK(rows_of(copy, 1) == Rows{1, 2, 2, 2});
  CHECK(detail::SubwordTable(Vocabulary(), {}).words() == 0);
}

TEST_CASE("options of subwords out of bounds are refused", "[subwords]") {
  const Vocabulary vocabulary = vocabulary_of({"word"});
  const auto refusal = [&](const SubwordOptions& options) {
    const auto of_words =
        message_of<InvalidArgument>([&] { return detail::ngrams_of("word", options); });
    CHECK(of_words ==
          message_of<InvalidArgument>([&] { detail::SubwordTable(vocabulary, options); }));
    return of_words;
  };
  CHECK(refusal({.minn = 5, .maxn = 4}) == "minn is 5, must be from 0 to 4");
  CHECK(refusal({.minn = 1, .maxn = 1001}) == "maxn is 1001, must be from 0 to 1000");
  CHECK(refusal({.buckets = 0}) == "buckets is 0, must be from 1 to 2147483647");
  CHECK(refusal({.buckets = 0x8000'0000}) == "buckets is 2147483648, must be from 1 to 2147483647");
  CHECK(SubwordOptions{.minn = 9, .maxn = 0}.rows() == 0);
  CHECK(detail::SubwordTable(vocabulary, {.minn = 9, .maxn = 0}).input_rows() == 1);
}
