#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <wordloom/corpus/vocabulary.hpp>

#include "catch.hpp"
#include "corpus/corpus_checks.hpp"
#include "corpus/texts.hpp"
#include "support.hpp"

using namespace wordloom;

TEST_CASE("words are sorted by descending count, then by their bytes", "[vocabulary]") {
  const TemporaryFolder folder;
  write_file(folder / "t", "b a c b a\nd c b \xff\n");
  const auto vocabulary = Vocabulary::from_text(folder / "t", {.min_count = 1});
  const std::vector<std::pair<std::string, std::uint64_t>> expected{
      {"b", 3}, {"a", 2}, {"c", 2}, {"d", 1}, {"\xff", 1}};
  REQUIRE(vocabulary.size() == expected.size());
  for (WordId id = 0; id < expected.size(); ++id) {
    CHECK(vocabulary.word(id) == expected[id].first);
    CHECK(vocabulary.count(id) == expected[id].second);
    CHECK(vocabulary.find(expected[id].first) == id);
  }
  CHECK(vocabulary.total_count() == 9);
}

TEST_CASE("min_count and max_size limit a vocabulary", "[vocabulary]") {
  const TemporaryFolder folder;
  write_file(folder / "t", "a a a b b c");
  CHECK(Vocabulary::from_text(folder / "t", {.min_count = 2}).size() == 2);
  const auto one = Vocabulary::from_text(folder / "t", {.min_count = 1, .max_size = 1});
  CHECK(one.size() == 1);
  CHECK(one.word(0) == "a");
  CHECK(one.total_count() == 3);
  CHECK(one.words_read() == 6);
}

TEST_CASE("counting with any number of threads equals a plain count", "[vocabulary]") {
  const TemporaryFolder folder;
  const std::string text = random_text(60'000, 5);
  write_file(folder / "t", text);
  std::map<std::string, std::uint64_t> plain;
  std::istringstream in(text);
  for (std::string word; in >> word;) ++plain[word];
  std::uint64_t fingerprint = 0;
  for (const std::size_t threads : {1u, 2u, 5u}) {
    const auto vocabulary =
        Vocabulary::from_text(folder / "t", {.min_count = 1, .threads = threads});
    REQUIRE(vocabulary.size() == plain.size());
    for (const auto& [word, count] : plain)
      CHECK(vocabulary.count(vocabulary.find(word).value()) == count);
    CHECK((fingerprint == 0 || fingerprint == vocabulary.fingerprint()));
    fingerprint = vocabulary.fingerprint();
  }
}

TEST_CASE("a text without words is refused with the reason", "[vocabulary]") {
  const TemporaryFolder folder;
  write_file(folder / "empty", "");
  write_file(folder / "blank", " \n\t\r\n\v\f ");
  write_file(folder / "rare", "a b c a\n");
  const auto refusal = [&](const std::filesystem::path& path) {
    return message_of<CorpusError>([&] { return Vocabulary::from_text(path); });
  };
  CHECK(contains(refusal(folder / "empty"), "empty: no words"));
  CHECK(contains(refusal(folder / "blank"), "blank: no words"));
  CHECK(contains(refusal(folder / "rare"), "none of its 3 words occurs min_count = 5 times"));
  CHECK(contains(message_of<IoError>([&] { return Vocabulary::from_text(folder / "missing"); }),
                 "No such file"));
  CHECK(contains(message_of<IoError>([&] { return Vocabulary::from_text(folder.path()); }),
                 "is a directory"));
}

TEST_CASE("a saved vocabulary is equal after loading", "[vocabulary]") {
  const TemporaryFolder folder;
  write_file(folder / "t", random_text(5000, 6));
  const auto vocabulary = Vocabulary::from_text(folder / "t", {.min_count = 1});
  vocabulary.save(folder / "v");
  const auto loaded = Vocabulary::load(folder / "v");
  CHECK(loaded.words() == vocabulary.words());
  CHECK(loaded.fingerprint() == vocabulary.fingerprint());
  CHECK(folder.entry_count() == 2);
  // Any order and line end will do.
  write_file(folder / "mixed", "x 1\r\n</s> 9\r\ny 5");
  const auto mixed = Vocabulary::load(folder / "mixed");
  CHECK(mixed.word(0) == "</s>");
  CHECK(mixed.word(1) == "y");
  CHECK(Vocabulary::load(folder / "mixed", {.min_count = 5}).size() == 2);
}

TEST_CASE("a damaged vocabulary file is refused by line", "[vocabulary]") {
  const TemporaryFolder folder;
  const auto refusal = [&](std::string_view text) {
    write_file(folder / "v", text);
    return message_of<FormatError>([&] { return Vocabulary::load(folder / "v"); });
  };
  CHECK(contains(refusal("a 1\nb\n"), "v: line 2: expected a word, a space and a count"));
  CHECK(contains(refusal("a 1\n\nb 2\n"), "line 2"));
  CHECK(contains(refusal("a x\n"), "got 'a x'"));
  CHECK(contains(refusal("a 1 2.5\n"), "line 1"));
  CHECK(contains(refusal("a 0\n"), "line 1"));
  CHECK(contains(refusal("5 the\n"), "got '5 the'"));
  CHECK(contains(refusal("5\n"), "line 1"));
  CHECK(contains(refusal("a 1\n</s> 0\n"), "line 2"));
  CHECK(contains(refusal("</s> x\na 1\n"), "line 1"));
  CHECK(contains(refusal("a -3\n"), "line 1"));
  CHECK(contains(refusal("a 3\rb 2\r"), "line 1: expected lines that end in a newline"));
  CHECK(contains(refusal("0\ta\t3\n1\tb\t2\n"), "line 1: expected a word and a count, got more"));
  CHECK(contains(refusal("a 99999999999999999999\n"), "line 1"));
  CHECK(contains(refusal("a 18446744073709551615\nb 1\n"),
                 "v: line 2: expected counts that add up to less than 2^64, got 'b 1'"));
  CHECK(contains(refusal("a 3\nb 2\na 1\n"),
                 "line 3: expected each word once, got 'a' as in line 1"));
  CHECK_THROWS_AS(Vocabulary::from_counts(
                      std::vector<std::pair<std::string, std::uint64_t>>{{"a", 1}, {"a", 2}}),
                  InvalidArgument);
  CHECK_THROWS_AS(
      Vocabulary::from_counts(std::vector<std::pair<std::string, std::uint64_t>>{{"", 1}}),
      InvalidArgument);
}

TEST_CASE("vocabularies of word2vec, GloVe, gensim and fastText are read", "[vocabulary]") {
  const TemporaryFolder folder;
  using Counts = std::vector<std::pair<std::string, std::uint64_t>>;
  const auto read = [&](const std::string& text) {
    write_file(folder / "v", text);
    const auto vocabulary = Vocabulary::load(folder / "v");
    Counts counts;
    for (WordId id = 0; id < vocabulary.size(); ++id)
      counts.emplace_back(vocabulary.word(id), vocabulary.count(id));
    return counts;
  };
  const Counts expected{{"the", 5}, {"of", 3}};
  // The end of a sentence is not a word; word2vec writes it first, whatever its count.
  CHECK(read("</s> 0\nthe 5\nof 3\n") == expected);
  CHECK(read("</s> 5000\nthe 5\nof 3\n") == expected);
  CHECK(read("\xef\xbb\xbf</s> 0\r\nthe 5\r\nof 3\r\n\r\n") == expected);
  CHECK(read("the\t5\nof\t3") == expected);
  // `fasttext dump model.bin dict`
  CHECK(read("5\nthe 5 word\n</s> 4 word\nof 3 word\n__label__a 9 label\n__label__b 1 label\n") ==
        expected);
  const auto refusal = [&](const std::string& text) {
    return message_of<FormatError>([&] { read(text); });
  };
  CHECK(contains(refusal("5\nthe 5 word\nof 3 word\n"),
                 "line 1: expected the number of lines that follow, 2, got 5"));
  CHECK(contains(refusal("2\nthe 5 word\nof 3\n"), "line 3: expected a word, a count above 0 and"));
  CHECK(contains(refusal("3\na 5 word\nof 3 word\na 1 word\n"), "line 4: expected each word once"));
  CHECK(contains(refusal("9\n0\tthe\t5\n"), "line 1"));  // gensim's Dictionary
  // Odd words.
  CHECK(read("New York 3\n\fof 2\n  \t  1\n") ==
        Counts{{"New York", 3}, {"\fof", 2}, {"  \t ", 1}});
  CHECK(read("the    5\n") == Counts{{"the", 5}});
}

TEST_CASE("a vocabulary with unusual words is read back equal, or not written", "[vocabulary]") {
  const TemporaryFolder folder;
  using Counts = std::vector<std::pair<std::string, std::uint64_t>>;
  const auto check = [&](const Counts& counts) {
    const auto vocabulary = Vocabulary::from_counts(counts);
    vocabulary.check_words();
    vocabulary.save(folder / "v");
    const auto loaded = Vocabulary::load(folder / "v");
    CHECK(loaded.words() == vocabulary.words());
    CHECK(loaded.fingerprint() == vocabulary.fingerprint());
  };
  using namespace std::string_literals;
  check({{"New York", 9},
         {" ", 8},
         {"\t\t", 7},
         {"a\fb", 6},
         {"\v", 5},
         {"c\r", 4},
         {"n\0l"s, 3},
         {"a  b 5", 2},
         {"\xff", 1}});
  // These do not begin the file.
  check({{"</s>", 9}, {"a", 1}});
  check({{"\xef\xbb\xbfx", 9}, {"\xef\xbb\xbf", 8}, {"%PDF-", 8}, {"a", 1}});
  std::filesystem::remove(folder / "v");
  for (const char* word : {"a\nb", "5\rb", " a", "a\t", "\n", "</s>", "\xef\xbb\xbfx"}) {
    const auto vocabulary = Vocabulary::from_counts(Counts{{word, 1}});
    CHECK_THROWS_AS(vocabulary.check_words(), InvalidArgument);
    CHECK_THROWS_AS(vocabulary.save(folder / "v"), InvalidArgument);
  }
  CHECK(folder.entry_count() == 0);
}

TEST_CASE("counts that add up to more than 64 bits are refused", "[vocabulary]") {
  using Counts = std::vector<std::pair<std::string, std::uint64_t>>;
  const std::uint64_t half = std::uint64_t{1} << 63;
  CHECK(message_of<InvalidArgument>([&] {
          return Vocabulary::from_counts(Counts{{"a", half}, {"b", half}});
        }) == "the list of counts: the counts add up to more than 2^64 - 1");
  CHECK(Vocabulary::from_counts(Counts{{"a", half}, {"b", half - 1}}).total_count() ==
        2 * half - 1);
  detail::WordCounter counter;
  counter.add("a", half);
  CHECK_THROWS_AS(counter.add("a", half), InvalidArgument);
}

TEST_CASE("counting uses no more threads than there are pieces of text", "[vocabulary]") {
  const TemporaryFolder folder;
  write_file(folder / "t", "a b c\n");
  CHECK(detail::TextPieces(folder / "t").threads(1000) == 1);
  CHECK(detail::TextPieces(folder / "t", 2).threads(1000) == 4);
  CHECK(detail::TextPieces(folder / "t", 2).threads(3) == 3);
}

TEST_CASE("more words than a thread holds are counted once each", "[vocabulary]") {
  const TemporaryFolder folder;
  std::string text;
  for (int pass = 0; pass < 3; ++pass)
    for (int i = 0; i < 300'000; ++i) text += "word" + std::to_string(i) + ' ';
  write_file(folder / "t", text);
  for (const std::size_t threads : {1u, 3u}) {
    const auto words = Vocabulary::from_text(folder / "t", {.min_count = 3, .threads = threads});
    CHECK(words.size() == 300'000);
    CHECK(words.total_count() == 900'000);
  }
}

TEST_CASE("a word counter counts, merges and keeps the order of first occurrences",
          "[word_counter]") {
  detail::WordCounter counter, other;
  CHECK(counter.size() == 0);
  CHECK(counter.add("x"));
  CHECK_FALSE(counter.add("x"));
  counter.add("y", 5);
  other.add("z", 7);
  other.add("x", 10);
  counter.merge(other);
  CHECK(other.size() == 0);
  std::vector<std::pair<std::string, std::uint64_t>> counts;
  counter.for_each(
      [&](std::string_view word, std::uint64_t count) { counts.emplace_back(word, count); });
  CHECK(counts ==
        std::vector<std::pair<std::string, std::uint64_t>>{{"x", 12}, {"y", 5}, {"z", 7}});
}

TEST_CASE("ids of a host are the words of their digits", "[corpus]") {
  const auto check = [](const auto& sentences, const WordLists& digits) {
    const auto [vocabulary, corpus] = EncodedCorpus::from_ids(Once(sentences), {.min_count = 2});
    const auto [expected, words] = EncodedCorpus::encode(digits, {.min_count = 2});
    CHECK(vocabulary.fingerprint() == expected.fingerprint());
    CHECK(corpus.fingerprint() == words.fingerprint());
    CHECK(EncodedCorpus::from_ids(sentences, vocabulary).fingerprint() == words.fingerprint());
    return vocabulary.size();
  };
  CHECK(check(std::vector<std::vector<int>>{{7, 10, 7}, {}, {0, 10, 0, 3}},
              {{"7", "10", "7"}, {}, {"0", "10", "0", "3"}}) == 3);
  CHECK(check(std::vector<std::vector<signed char>>{{127, 127}}, {{"127", "127"}}) == 1);
  constexpr auto most = std::uint64_t{1} << 63;
  CHECK(check(std::vector<std::vector<std::uint64_t>>{{most - 1, 5, most - 1}},
              {{"9223372036854775807", "5", "9223372036854775807"}}) == 1);
  const auto refusal = [](const auto& sentences) {
    return message_of<InvalidArgument>([&] { return EncodedCorpus::from_ids(sentences); });
  };
  CHECK(refusal(std::vector<std::vector<int>>{{1, 2}, {}, {3, -1}}) ==
        "sentences[2][1]: the id is -1, must be from 0 to 9223372036854775807");
  CHECK(contains(refusal(std::vector<std::vector<std::uint64_t>>{{most}}),
                 "sentences[0][0]: the id is 9223372036854775808, must"));
  CHECK(message_of<CorpusError>([] {
          return EncodedCorpus::from_ids(std::vector<std::vector<int>>{{}});
        }) == "the sentences: no words");
  STATIC_REQUIRE_FALSE(detail::SentencesOfIds<WordLists>);  // of characters
  STATIC_REQUIRE_FALSE(detail::SentencesOfIds<std::vector<std::vector<bool>>>);
}
