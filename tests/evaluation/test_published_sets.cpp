#include <zlib.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>
#include <wordloom/evaluation/word_tests.hpp>

#include "catch.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

const TemporaryFolder& folder() {
  static const TemporaryFolder one;
  return one;
}

std::vector<SimilarityPair> pairs_in(std::string_view text) {
  write_file(folder() / "p", text);
  return SimilarityPair::load(folder() / "p");
}
std::vector<AnalogySection> sections_in(std::string_view text) {
  write_file(folder() / "q", text);
  return AnalogySection::load(folder() / "q");
}

/// The words and scores of pairs, for a comparison.
std::string shown(const std::vector<SimilarityPair>& pairs) {
  std::string text;
  for (const auto& [first, second, score] : pairs)
    text += first + "|" + second + "|" + std::to_string(score).substr(0, 4) + "\n";
  return text;
}
const std::string two_pairs = "love|sex|6.77\ntiger|Cat D|7.35\n";

/// Returns the part of the error behind the name of the file.
std::string refused_pairs(std::string_view text) {
  const auto message = message_of<FormatError>([&] { static_cast<void>(pairs_in(text)); });
  return message.substr(message.find("p: ") + 3);
}
std::string refused_questions(std::string_view text) {
  const auto message = message_of<FormatError>([&] { static_cast<void>(sections_in(text)); });
  return message.substr(message.find("q: ") + 3);
}

}  // namespace

TEST_CASE("word pairs are read in their published formats", "[evaluation]") {
  const std::string expected = two_pairs;
  // WS-353: combined.csv, set1.csv with the ratings of each person.
  CHECK(shown(pairs_in("Word 1,Word 2,Human (mean)\r\nlove,sex,6.77\r\ntiger,Cat D,7.35\r\n")) ==
        expected);
  CHECK(
      shown(pairs_in("Word 1,Word 2,Human (mean),1,2\nlove,sex,6.77,9,6\ntiger,Cat D,7.35,9,7")) ==
      expected);
  // SimLex-999, and SimVerb-3500, which has no header.
  CHECK(shown(pairs_in("word1\tword2\tPOS\tSimLex999\tconc(w1)\tSD(SimLex)\n"
                       "love\tsex\tN\t6.77\t1.5\t0.4\ntiger\tCat D\tA\t7.35\t2\t1\n")) == expected);
  CHECK(shown(pairs_in("love\tsex\tV\t6.77\tSYNONYMS\ntiger\tCat D\tV\t7.35\tNONE\n")) == expected);
  // RW: the mean and ten ratings. RG-65, MTurk, Card-660.
  CHECK(shown(pairs_in("love\tsex\t6.77\t7\t6\ntiger\tCat D\t7.35\t1\t2\n")) == expected);
  CHECK(shown(pairs_in("love;sex;6.77\ntiger;Cat D;7.35")) == expected);
  CHECK(shown(pairs_in("love,sex,6.77\n\"tiger\",\"Cat D\",\"7.35\"\n")) == expected);
  // MEN, in both forms.
  CHECK(shown(pairs_in("sun sunlight 50.000000\nred-hot blood 3\n")) ==
        "sun|sunlight|50.0\nred-hot|blood|3.00\n");
  CHECK(shown(pairs_in("sun-n sunlight-n 50.000000\nrun-v red-j 3\n")) ==
        "sun|sunlight|50.0\nrun|red|3.00\n");
}

TEST_CASE("word pairs may have a byte order mark, comments, quotes and any line ends",
          "[evaluation]") {
  CHECK(shown(pairs_in("\xef\xbb\xbflove\tsex\t6.77\n# no\n\n \t\ntiger \t Cat D\t7.35\t")) ==
        two_pairs);
  CHECK(shown(pairs_in("love\tsex\t6.77\rtiger\tCat D\t7.35\r")) == two_pairs);
  // Old Macintosh lines behind a header of another system.
  CHECK(shown(pairs_in("love sex 6.77\rtiger Cat_D 7.35\r\r\nnew York 1\n")) ==
        "love|sex|6.77\ntiger|Cat_D|7.35\nnew|York|1.00\n");
  CHECK(shown(pairs_in("\"love\" \"sex\" 6.77\n")) == "love|sex|6.77\n");
  CHECK(shown(pairs_in("\"Smith, J\" , \"a \"\"b\"\"\" , +3\n")) == "Smith, J|a \"b\"|3.00\n");
  CHECK(shown(pairs_in("\"a;b\";\"c;d\";-3\n")) == "a;b|c;d|-3.0\n");
  CHECK(shown(pairs_in("\"New York\"\t\"\t3\n")) == "New York|\"|3.00\n");
  CHECK(shown(pairs_in("a b -2 more\nc\td 1e1\n")) == "a|b|-2.0\nc|d|10.0\n");
}

TEST_CASE("columns of word pairs are found by their names", "[evaluation]") {
  CHECK(shown(pairs_in("id,word1,word2,score\n1,a,b,3\n2,c,d,4\n")) == "a|b|3.00\nc|d|4.00\n");
  CHECK(shown(pairs_in("word_1\tword_2\tsd\tsimilarity\na\tb\t9\t3\n")) == "a|b|3.00\n");
  CHECK(shown(pairs_in("first second value\na b 3\n")) == "a|b|3.00\n");
  CHECK(shown(pairs_in("first second sd score\na b 9 3\n")) == "a|b|3.00\n");
  CHECK(shown(pairs_in("word1,word2,rank,Human score\na,b,9,3\n")) == "a|b|3.00\n");
  CHECK(shown(pairs_in("word1,word2,rating 1,rating 2,Average rating\na,b,9,8,3\n")) ==
        "a|b|3.00\n");
  CHECK(shown(pairs_in("\xd1\x81,\xd0\xb2,\xd0\xb3\na,b,3\n")) == "a|b|3.00\n");
  CHECK(shown(pairs_in("word1,word2,value,,\na,b,3,x,y\n")) == "a|b|3.00\n");
}

TEST_CASE("a bad line of word pairs is named", "[evaluation]") {
  CHECK(refused_pairs("a b 1\na b\n") ==
        "line 2, column 3: expected two words and a number, got 2 fields");
  CHECK(refused_pairs("a b c\n") == "line 1, column 5: expected two words and a number, got 'c'");
  CHECK(refused_pairs("a,b,1\nc,d\n") ==
        "line 2, column 3: expected two words and a number, got 2 fields separated by commas");
  CHECK(refused_pairs("Word 1,Word 2,Human (mean)\na,b,x\n") ==
        "line 2, column 5: expected two words and a number, got 'x'");
  CHECK(
      refused_pairs("a\tb\t9,1\n") ==
      "line 1, column 5: expected two words and a number, got '9,1'; write decimals with a point");
  CHECK(refused_pairs("a\tb\tnan\n") ==
        "line 1, column 5: expected two words and a number, got 'nan'");
  CHECK(refused_pairs("a\t\t3\n") == "line 1, column 3: expected a word, got nothing");
  CHECK(refused_pairs("a,\"b,3\n\n") ==
        "line 1, column 1: expected two words and a number, got 1 field");
  CHECK(refused_pairs("a,b,3\nc,\"d,3\n") ==
        "line 2, column 3: expected a field with a quotation mark at its end, got the end of the "
        "line");
  CHECK(refused_pairs("a,b,3\n\"c\"x,d,3\n") ==
        "line 2, column 4: expected a ',' after a field, got 'x'");
  // It is not clear which number is the score, or the first line is no header.
  CHECK(refused_pairs("word1,word2,1,2\na,b,9,8\n") ==
        "line 1, column 13: expected a column of scores, named score, similarity, relatedness, "
        "rating or mean, got '1'");
  CHECK(refused_pairs("word1,word2,score\na,b,9,1\n") ==
        "line 2, column 7: expected at most 3 fields, as the header, got 4 fields separated by "
        "commas");
  for (const std::string score : {"NA", "n/a", "?", "-", "NULL"})
    CHECK(refused_pairs("a,b," + score + "\nc,d,1\n") ==
          "line 1, column 5: expected two words and a number, got '" + score + "'");
  // The words are in other columns, or one has a blank.
  CHECK(refused_pairs("1\tbrazil\tn\tnut\tn\t1.1\n") ==
        "line 1, column 10: expected two words and a number, got 'n'");
  CHECK(refused_pairs(",word,other,score\n0,a,b,3\n") ==
        "line 2, column 5: expected two words and a number, got 'b'");
  CHECK(refused_pairs("a b V 3\nNew York Paris 3\n") ==
        "line 2, column 10: expected a part of speech, as before, got 'Paris'");
  CHECK(refused_pairs("Italy Rome 3\nNew York Paris 3\n") ==
        "line 2, column 10: expected two words and a number, got 'Paris'");
  CHECK(refused_pairs("# nothing\n") == "line 1: expected word pairs, got none");
  CHECK_THROWS_AS(SimilarityPair::load(folder() / "missing"), IoError);
  CHECK_THROWS_AS(pairs_in("\xff\xfe"
                           "a\0\t\0"),
                  FormatError);
}

TEST_CASE("questions are read in sections", "[evaluation]") {
  const auto sections =
      sections_in("\xef\xbb\xbf: capital  world\na b c d\n\n:gram1\r\n# no\ne f g h\r\ni j k l");
  REQUIRE(sections.size() == 2);
  CHECK(sections[0].name == "capital world");
  CHECK_FALSE(sections[0].syntactic());
  CHECK(sections[1].name == "gram1");
  CHECK(sections[1].syntactic());
  CHECK(sections[1].questions.size() == 2);
  CHECK(sections[1].questions[1].d == "l");
  CHECK(sections[1].pairs.empty());
}

TEST_CASE("questions may have a header, no section and other separators", "[evaluation]") {
  for (const char* const text : {"New_York b c d\n", "word1 word2 word3 word4\nNew_York b c d\n",
                                 "Word 1,Word 2,Word 3,Word 4\r\nNew_York,b,c,d\r\n",
                                 "New_York;b;c;d", "New_York\tb\tc\td\t"}) {
    const auto sections = sections_in(text);
    REQUIRE(sections.size() == 1);
    CHECK(sections[0].name == "questions");
    REQUIRE(sections[0].questions.size() == 1);
    CHECK(sections[0].questions[0].a == "New_York");
    CHECK(sections[0].questions[0].d == "d");
  }
  CHECK(sections_in(": x\nNew York\tb\tc\td\n")[0].questions[0].a == "New York");
}

TEST_CASE("a bad line of questions is named", "[evaluation]") {
  CHECK(refused_questions(": s\na b c\n") ==
        "line 2, column 5: expected four words or ': section', got 3 fields");
  CHECK(refused_questions("a b c d\na b c d e\n") ==
        "line 2, column 9: expected four words or ': section', got 5 fields");
  CHECK(refused_questions("a,,c,d\n") == "line 1, column 3: expected a word, got nothing");
  CHECK(refused_questions("a b\n") ==
        "line 1, column 3: expected four words or ': section', got 2 fields");
  CHECK(refused_questions("a b\tc d\n") ==
        "line 1, column 1: expected four words with one kind of separator, or a word and its "
        "answers, got two and two words");
  CHECK(refused_questions("\n") == "line 1: expected questions, got none");
}

TEST_CASE("a file of BATS has a word and its answers", "[evaluation]") {
  const auto sections = sections_in("france\tparis\r\nitaly\trome/roma/\r\nnew york\tusa, us");
  REQUIRE(sections.size() == 1);
  CHECK(sections[0].name == "q");
  CHECK(sections[0].questions.empty());
  REQUIRE(sections[0].pairs.size() == 3);
  CHECK(sections[0].pairs[1].answers == std::vector<std::string>{"rome", "roma"});
  CHECK(sections[0].pairs[2].word == "new york");
  CHECK(sections[0].pairs[2].answers == std::vector<std::string>{"usa", "us"});
  CHECK(refused_questions("a\tb\nc\n") ==
        "line 2, column 1: expected a word, a tab and its answers, got 1 field separated by tabs");
  CHECK(refused_questions("a\t/\nc\td\n") ==
        "line 1, column 3: expected a word, a tab and its answers, got '/'");
  CHECK(refused_questions("a\tb\n") ==
        "line 1, column 1: expected pairs of words, of which two make a question, got one pair");
}

TEST_CASE("a folder of BATS has a section for each file, in groups", "[evaluation]") {
  const TemporaryFolder bats;
  for (const char* const name : {"2_Encyclopedic_semantics", "1_Inflectional_morphology"})
    std::filesystem::create_directory(bats / name);
  write_file(bats / "1_Inflectional_morphology/I01 [noun - plural_reg].txt",
             "cat\tcats\ndog\tdogs\n");
  write_file(bats / "2_Encyclopedic_semantics/E01.txt", "france\tparis\nitaly\trome\n");
  write_file(bats / "2_Encyclopedic_semantics/E02.txt", "a b c d\n");
  write_file(bats / "2_Encyclopedic_semantics/.hidden.txt", "not BATS\n");
  write_file(bats / "metadata.json", "{}\n");
  const auto sections = AnalogySection::load(bats / "");
  REQUIRE(sections.size() == 3);
  CHECK(sections[0].name == "I01 [noun - plural_reg]");
  CHECK(sections[0].group == "1_Inflectional_morphology");
  CHECK(sections[0].syntactic());
  CHECK(sections[0].pairs[1].answers == std::vector<std::string>{"dogs"});
  CHECK(sections[1].name == "E01");
  CHECK_FALSE(sections[1].syntactic());
  CHECK(sections[2].name == "E02");
  CHECK(sections[2].questions.size() == 1);
  CHECK(AnalogySection::load(bats / "1_Inflectional_morphology/I01 [noun - plural_reg].txt")[0]
            .syntactic());
  write_file(bats / "2_Encyclopedic_semantics/E03.txt", "x\n");
  CHECK(
      contains(message_of<FormatError>([&] { static_cast<void>(AnalogySection::load(bats / "")); }),
               "E03.txt: line 1, column 1: expected four words"));
  const TemporaryFolder empty;
  CHECK(contains(
      message_of<FormatError>([&] { static_cast<void>(AnalogySection::load(empty / "")); }),
      "expected files *.txt of questions, got none"));
}

TEST_CASE("test sets may be compressed", "[evaluation]") {
  const std::string path = (folder() / "p.gz").string();
  const gzFile file = gzopen(path.c_str(), "wb");
  gzputs(file, "love\tsex\t6.77\ntiger\tCat D\t7.35\n");
  gzclose(file);
  CHECK(shown(SimilarityPair::load(path)) == two_pairs);
}
