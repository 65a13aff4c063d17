#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>
#include <wordloom/core/random.hpp>
#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/corpus/phrases.hpp>
#include <wordloom/corpus/text_corpus.hpp>

#include "catch.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

using Scoring = Phrases::Scoring;
using Lines = std::vector<std::vector<std::string>>;

Vocabulary all_words(const std::filesystem::path& path) {
  return Vocabulary::from_text(path, {.min_count = 1});
}

Phrases learn(const std::filesystem::path& path, const Phrases::Options& options) {
  const auto words = all_words(path);
  return Phrases::learn(EncodedCorpus::from_text(path, words), words, options);
}

std::string joined(const Phrases& phrases, const std::filesystem::path& path,
                   const CorpusOptions& reading = {}) {
  TemporaryFolder folder;
  AtomicFile file(folder / "joined");
  phrases.join_text(path, file, reading);
  file.commit();
  return read_file(folder / "joined");
}

std::string text_of(const Lines& lines) {
  std::string text;
  for (const auto& line : lines) {
    for (const auto& word : line) (text += &word == &line[0] ? "" : " ") += word;
    text += '\n';
  }
  return text;
}

/// One pass in the plainest code: counts of strings, as in the originals.
Lines plain_pass(const Lines& lines, const Phrases::Options& options) {
  const std::set<std::string> connectors(options.connectors.begin(), options.connectors.end());
  std::map<std::string, std::uint64_t> counts;
  std::uint64_t words = 0;
  std::vector<std::string> chain;
  const auto join = [&](const std::vector<std::string>& parts) {
    std::string text = parts[0];
    for (std::size_t i = 1; i < parts.size(); ++i) text += options.delimiter + parts[i];
    return text;
  };
  for (const auto& line : lines) {
    if (!options.across_sentences) chain.clear();
    for (const auto& word : line) {
      ++words;
      if (connectors.contains(word)) {
        if (!chain.empty()) chain.push_back(word);
        continue;
      }
      ++counts[word];
      if (!chain.empty()) {
        chain.push_back(word);
        ++counts[join(chain)];
      }
      chain = {word};
    }
  }
  const auto is_phrase = [&](const std::vector<std::string>& parts) {
    const auto count = [&](const std::string& text) {
      const auto found = counts.find(text);
      return static_cast<double>(found == counts.end() ? 0 : found->second);
    };
    const double a = count(parts.front()), b = count(parts.back()), ab = count(join(parts));
    const auto least = static_cast<double>(options.min_count), n = static_cast<double>(words);
    if (ab < least) return false;
    if (options.scoring == Scoring::npmi)
      return std::log(ab / n / (a / n * (b / n))) / -std::log(ab / n) > options.threshold;
    if (options.scoring == Scoring::gensim)
      return (ab - least) / (a * b) * static_cast<double>(counts.size()) > options.threshold;
    return a >= least && b >= least &&
           static_cast<float>(ab - least) / static_cast<float>(a) / static_cast<float>(b) *
                   static_cast<float>(n) >
               static_cast<float>(options.threshold);
  };
  Lines result;
  for (const auto& line : lines) {
    auto& out = result.emplace_back();
    chain.clear();
    for (const auto& word : line) {
      if (connectors.contains(word)) {
        (chain.empty() ? out : chain).push_back(word);
        continue;
      }
      chain.push_back(word);
      if (chain.size() == 1) continue;
      if (is_phrase(chain)) {
        out.push_back(join(chain));
        chain.clear();
      } else {
        out.insert(out.end(), chain.begin(), chain.end() - 1);
        chain = {word};
      }
    }
    out.insert(out.end(), chain.begin(), chain.end());
  }
  return result;
}

// Words with the delimiter, and a line that is blank.
const std::string cities =
    "new york is big and new york is old\n"
    "new york city is in new york\n"
    "los angeles is far from new york city\n"
    "the bank of america is in los angeles\n"
    "the bank of america and the bank of england\n"
    "bank of the america\n"
    "\n"
    "a los_angeles los angeles bank of america\n"
    "is new\n"
    "york new york city of los angeles\n"
    "the city is the city of new york\n";

}  // namespace

TEST_CASE("scores of phrases are those of their formulas", "[phrases]") {
  const TemporaryFolder folder;
  // x and y 4 times each, 3 times together, among 13 words.
  write_file(folder / "t", "x y a\nx y b\nx y c\nd x e y\n");
  const auto score = [&](Phrases::Options options) {
    options.min_count = 2;
    options.threshold = 0;
    const auto phrases = learn(folder / "t", options);
    REQUIRE(phrases.size() == 1);
    CHECK(phrases.pass(0)[0].words == std::vector<std::string>{"x", "y"});
    return phrases.pass(0)[0].score;
  };
  CHECK(score({}) == 1.0 / 4 / 4 * 13);
  // x, y, a, b, c, d, e; x_y, y_a, y_b, y_c, d_x, x_e, e_y within lines.
  CHECK(score(Phrases::Options::gensim()) == 1.0 / 16 * 14);
  auto npmi = Phrases::Options::gensim();
  npmi.scoring = Scoring::npmi;
  CHECK(score(npmi) == Approx(std::log(3.0 * 13 / 16) / std::log(13.0 / 3)));
  // Pairs across line ends are three strings more: a_x, b_x, c_d.
  auto across = Phrases::Options::gensim();
  across.across_sentences = true;
  CHECK(score(across) == 1.0 / 16 * 17);
}

TEST_CASE("phrases are those of word2phrase.c and gensim", "[phrases]") {
  const TemporaryFolder folder;
  write_file(folder / "t", cities);
  // word2phrase -threshold 3 -min-count 2, without the blank that it writes before each line; a
  // second run changes nothing.
  for (const std::size_t passes : {1u, 2u})
    CHECK(joined(learn(folder / "t", {.min_count = 2, .threshold = 3, .passes = passes}),
                 folder / "t") ==
          "new_york is big and new_york is old\n"
          "new_york city is in new_york\n"
          "los_angeles is far from new_york city\n"
          "the bank_of america is in los_angeles\n"
          "the bank_of america and the bank_of england\n"
          "bank_of the america\n"
          "\n"
          "a los_angeles los_angeles bank_of america\n"
          "is new\n"
          "york new_york city of los_angeles\n"
          "the city is the city of new_york\n");
  // gensim 4.4: m = Phrases(sentences, min_count=1, threshold=2), and another one on m[sentences].
  auto options = Phrases::Options::gensim();
  options.min_count = 1;
  options.threshold = 2;
  options.passes = 2;
  CHECK(joined(learn(folder / "t", options), folder / "t") ==
        "new_york is big and new_york is old\n"
        "new_york_city is_in new_york\n"
        "los_angeles is far from new_york_city\n"
        "the_bank_of_america is_in los_angeles\n"
        "the_bank_of_america and the_bank of england\n"
        "bank_of the america\n"
        "\n"
        "a los_angeles los_angeles bank_of america\n"
        "is new\n"
        "york new_york_city of los_angeles\n"
        "the_city is the_city of new_york\n");
  // gensim: scoring='npmi', threshold=0.4, connector_words={'of', 'the', 'is'}.
  options.scoring = Scoring::npmi;
  options.threshold = 0.4;
  options.passes = 1;
  options.connectors = {"of", "the", "is"};
  const auto phrases = learn(folder / "t", options);
  CHECK(joined(phrases, folder / "t") ==
        "new_york is big_and new_york is old\n"
        "new_york city_is_in new_york\n"
        "los_angeles is far_from new_york city\n"
        "the bank_of_america is in_los angeles\n"
        "the bank_of_america and_the_bank of england\n"
        "bank of the america\n"
        "\n"
        "a_los_angeles los_angeles bank_of_america\n"
        "is new\n"
        "york new_york city of los_angeles\n"
        "the city is the city of new_york\n");
  CHECK(phrases.pass(0)[0].words == std::vector<std::string>{"los", "angeles"});
  CHECK(phrases.pass(0)[0].score == Approx(1.1700356014321052));
}

TEST_CASE("phrases are those of a plain map of strings, by any number of threads", "[phrases]") {
  const TemporaryFolder folder;
  const std::vector<std::string> words{"a",    "b",     "c",   "d", "of",   "a_b", "b_c", "of_c",
                                       "a_of", "a_b_c", "c_d", "_", "a__b", "e",   "f",   "g"};
  std::uint64_t joins = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    Random random(seed);
    Lines lines(200);
    for (auto& line : lines)
      for (auto i = random.below(12); i > 0; --i)
        line.push_back(words[random.below(seed % 2 == 0 ? words.size() : 6)]);
    write_file(folder / "t", text_of(lines));
    for (const auto scoring : {Scoring::word2vec, Scoring::gensim, Scoring::npmi}) {
      Phrases::Options options{.min_count = 1 + seed % 3,
                               .threshold = scoring == Scoring::npmi ? 0.05 : 1.3,
                               .scoring = scoring,
                               .across_sentences = seed % 4 < 2,
                               .passes = 1 + seed % 3,
                               .threads = 1 + seed % 2 * 4};
      if (seed > 4) options.connectors = {"of", "d", "absent"};
      Lines expected = lines;
      for (std::size_t pass = 0; pass < options.passes; ++pass)
        expected = plain_pass(expected, options);
      const auto phrases = learn(folder / "t", options);
      CHECK(joined(phrases, folder / "t") == text_of(expected));
      CHECK(joined(phrases, folder / "t", {.threads = 3, .piece_bytes = 50}) == text_of(expected));
      const auto all = all_words(folder / "t");
      options.threads = 2;
      CHECK(Phrases::learn(TextCorpus(folder / "t", all), all, options) == phrases);
      joins += text_of(lines) != text_of(expected);
    }
  }
  CHECK(joins >= 20);  // of 24
}

TEST_CASE("a joined corpus has the sentences and the vocabulary of the joined text", "[phrases]") {
  const TemporaryFolder folder;
  write_file(folder / "t", cities + cities);
  const auto words = all_words(folder / "t");
  const TextCorpus corpus(folder / "t", words);
  const auto phrases = Phrases::learn(corpus, words, {.min_count = 2, .threshold = 3, .passes = 2});
  write_file(folder / "joined", joined(phrases, folder / "t"));
  const VocabularyOptions counting{.min_count = 4};
  const auto expected = Vocabulary::from_text(folder / "joined", counting);
  const auto text = EncodedCorpus::from_text(folder / "joined", expected);
  const auto [vocabulary, sentences] = phrases.apply(corpus, words, counting);
  static_assert(Corpus<decltype(sentences)>);
  CHECK(vocabulary.find("new_york"));
  CHECK(vocabulary.fingerprint() == expected.fingerprint());
  CHECK(sentences.vocabulary_fingerprint() == expected.fingerprint());
  CHECK(sentences.words_read() == text.words_read());
  REQUIRE(sentences.token_count() == text.token_count());
  CHECK(sentences.fingerprint() != corpus.fingerprint());
  const AnyCorpus any(sentences);  // no copy of the words
  std::size_t number = 0;
  for (const auto sentence : any.sentences(Shard{})) {
    const auto other = text.sentence(number++);
    CHECK(std::vector<WordId>(sentence.begin(), sentence.end()) ==
          std::vector<WordId>(other.begin(), other.end()));
  }
  CHECK(number == text.sentence_count());
  std::size_t tokens = 0;
  for (std::size_t i = 0; i < 3; ++i)
    for (const auto sentence : any.sentences(Shard{.index = i, .count = 3}))
      tokens += sentence.size();
  CHECK(tokens == text.token_count());
}

TEST_CASE("too many pairs are dropped by rising counts, frequent phrases stay", "[phrases]") {
  const TemporaryFolder folder;
  Random random(1);
  std::string text;
  for (std::size_t i = 0; i < 20000; ++i) {
    text += "w" + std::to_string(random.below(300)) + (i % 10 == 9 ? "\n" : " ");
    if (i % 50 == 0) text += "san jose ";
  }
  write_file(folder / "t", text);
  auto options = Phrases::Options::gensim();
  options.threshold = 3;
  const auto exact = learn(folder / "t", options);
  CHECK(exact.dropped() == 0);
  options.max_pairs = 3200;
  options.threads = 1;
  const auto bounded = learn(folder / "t", options);
  CHECK(bounded.dropped() > 0);
  options.threads = 4;
  CHECK(learn(folder / "t", options) == bounded);
  REQUIRE(!bounded.empty());
  CHECK(bounded.pass(0)[0].words == exact.pass(0)[0].words);
  CHECK(bounded.pass(0)[0].words == std::vector<std::string>{"san", "jose"});
}

TEST_CASE("phrases that were saved are loaded again", "[phrases]") {
  const TemporaryFolder folder;
  write_file(folder / "t", cities);
  auto options = Phrases::Options::gensim();
  options.min_count = 1;
  options.threshold = 1;
  options.passes = 2;
  options.connectors = {"of", "the"};
  options.delimiter = "~~";
  for (const auto& phrases : {learn(folder / "t", options), learn(folder / "t", {}), Phrases()}) {
    phrases.save(folder / "p");
    const auto loaded = Phrases::load(folder / "p");
    CHECK(loaded == phrases);
    CHECK(joined(loaded, folder / "t") == joined(phrases, folder / "t"));
  }
  const auto phrases = learn(folder / "t", options);
  CHECK(phrases.passes() == 2);
  CHECK(phrases.join("to  new york, new\tyork\nof") == "to new york, new~~york\nof");
  CHECK(phrases.join("new york") == "new~~york");
  CHECK(phrases.join("bank of america") == "bank~~of~~america");
  CHECK(phrases.join("") == "");
}

TEST_CASE("options and corpora that cannot be used are refused", "[phrases]") {
  const TemporaryFolder folder;
  write_file(folder / "t", cities);
  const auto error = [&](const Phrases::Options& options) {
    return message_of<InvalidArgument>([&] { static_cast<void>(learn(folder / "t", options)); });
  };
  CHECK(contains(error({.min_count = 0}), "min_count is 0"));
  CHECK(contains(error({.threshold = -1}), "threshold is -1, must be at least 0"));
  CHECK(contains(error({.threshold = std::nan("")}), "threshold is nan"));
  CHECK(
      contains(error({.threshold = std::numeric_limits<double>::infinity()}), "threshold is inf"));
  CHECK(contains(error({.threshold = 1.5, .scoring = Scoring::npmi}), "must be from -1 to 1"));
  CHECK(contains(error({.delimiter = ""}), "delimiter"));
  CHECK(contains(error({.delimiter = " "}), "delimiter"));
  CHECK(contains(error({.passes = 0}), "passes is 0"));
  CHECK(contains(error({.passes = 65}), "passes is 65, must be from 1 to 64"));
  CHECK(contains(error({.max_pairs = 0}), "max_pairs is 0"));
  CHECK(contains(error({.connectors = {""}}), "connector"));
  CHECK(contains(error({.threads = 100000}), "threads is 100000"));
  const auto words = all_words(folder / "t");
  const auto corpus = EncodedCorpus::from_text(folder / "t", words);
  const auto other = Vocabulary::from_text(folder / "t", {.min_count = 2});
  CHECK(contains(message_of<CorpusError>([&] { static_cast<void>(Phrases::learn(corpus, other)); }),
                 "another vocabulary"));
  CHECK(
      contains(message_of<CorpusError>([&] { static_cast<void>(Phrases().apply(corpus, other)); }),
               "another vocabulary"));
  const std::vector<std::vector<WordId>> none;
  CHECK(contains(message_of<CorpusError>([&] {
                   static_cast<void>(
                       Phrases::learn(EncodedCorpus::from_sentences(none, words), words));
                 }),
                 "no words"));
  // Half of the corpus: its own counts, not those of the vocabulary.
  const std::vector<std::vector<std::string>> half{{"new", "york"}, {"new", "york"}, {"is"}};
  const auto some = EncodedCorpus::from_sentences(half, words);
  const auto phrases = Phrases::learn(some, words, {.min_count = 1, .threshold = 1});
  REQUIRE(phrases.size() == 1);
  CHECK(phrases.pass(0)[0].score == 1.0 / 2 / 2 * 5);
  CHECK(contains(message_of<InvalidArgument>([&] {
                   const std::vector<std::vector<std::string>> odd{{"a b", "c"}, {"a b", "c"}};
                   const auto [v, c] = EncodedCorpus::encode(odd, {.min_count = 1});
                   Phrases::learn(c, v, {.min_count = 1, .threshold = 0.1}).save(folder / "p");
                 }),
                 "white space"));
  CHECK(!std::filesystem::exists(folder / "p"));
}
