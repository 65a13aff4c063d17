#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <vector>
#include <wordloom/core/random.hpp>
#include <wordloom/corpus/word_context_matrix.hpp>

#include "corpus/word_contexts.hpp"
#include "statistics.hpp"

using namespace wordloom;

namespace {

/// How often each word occurs in the windows of each other word: [word][context].
using Windows = std::map<WordId, std::map<WordId, std::uint64_t>>;

Windows windows_of(const SentenceList& sentences, std::size_t window) {
  Windows windows;
  for (const auto& sentence : sentences)
    for (std::size_t i = 0; i < sentence.size(); ++i)
      for (std::size_t j = 0; j < sentence.size(); ++j)
        if (i != j && (i < j ? j - i : i - j) <= window) ++windows[sentence[i]][sentence[j]];
  return windows;
}

}  // namespace

TEST_CASE("each word has a context from its own windows in each column", "[corpus]") {
  const Text text(random_text(3000, 4));
  const auto corpus = EncodedCorpus::from_text(text.path, text.vocabulary);
  for (const std::size_t window : {1u, 2u, 5u, 8u, 9u, 20u, 1000u}) {
    const auto windows = windows_of(sentences_of(corpus), window);
    const auto matrix = WordContextMatrix::from(corpus, text.vocabulary,
                                                {.columns = 50, .window = window, .threads = 2});
    CHECK_FALSE(matrix.is_mapped());
    CHECK(matrix.columns() == 50);
    CHECK(matrix.token_count() == 50 * matrix.words().size());
    CHECK(matrix.vocabulary_fingerprint() == text.vocabulary.fingerprint());
    REQUIRE(std::ranges::equal(matrix.words(), windows, {}, {}, &Windows::value_type::first));
    for (const std::uint64_t epoch : {std::uint64_t{0}, std::uint64_t{1} << 40})
      for (const auto& column : columns_of(matrix, epoch))
        for (std::size_t i = 0; i < column.size(); ++i)
          REQUIRE(windows.at(matrix.words()[i]).contains(column[i]));
  }
}

TEST_CASE("contexts are drawn as often as they occur in the windows of a word", "[corpus]") {
  const Text text(random_text(3000, 5));
  const auto corpus = EncodedCorpus::from_text(text.path, text.vocabulary);
  for (const std::size_t window : {1u, 2u, 5u}) {
    const auto windows = windows_of(sentences_of(corpus), window);
    const auto matrix = WordContextMatrix::from(corpus, text.vocabulary,
                                                {.columns = 4000, .window = window, .seed = 7});
    const std::size_t size = text.vocabulary.size();
    std::vector<std::vector<std::uint64_t>> counts(size, std::vector<std::uint64_t>(size));
    for (const auto& column : columns_of(matrix, 3))
      for (std::size_t i = 0; i < column.size(); ++i) ++counts[matrix.words()[i]][column[i]];
    for (const auto& [word, contexts] : windows) {
      double total = 0;
      std::vector<double> shares(size);
      for (const auto& [context, count] : contexts) total += static_cast<double>(count);
      for (const auto& [context, count] : contexts)
        shares[context] = static_cast<double>(count) / total;
      CHECK(chi_squared_deviation(counts[word], shares) < 4);
    }
  }
}

TEST_CASE("the contexts of a word are spread evenly over its windows", "[corpus]") {
  for (const std::size_t occurrences : {1u, 2u, 7u, 50u, 300u}) {
    const OneWordsSlots text(occurrences);
    const auto corpus =
        EncodedCorpus::from_sentences(text.sentences, text.vocabulary, {.max_sentence_length = 3});
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      const auto matrix =
          WordContextMatrix::from(corpus, text.vocabulary, {.window = 1, .seed = seed});
      for (const std::size_t columns : {10u, 100u, 1000u, 10'000u}) {
        std::map<WordId, std::size_t> counts;
        const WordId x = *text.vocabulary.find("x");
        for (std::size_t j = 0; j < columns; ++j) {
          WordId context = 0;
          matrix.contexts(17 * columns + j, x, {&context, 1});
          ++counts[context];
        }
        const std::size_t each = columns / (2 * occurrences);
        for (WordId word = 0; word < text.vocabulary.size(); ++word) {
          if (word == x) continue;
          REQUIRE(counts[word] >= each);
          REQUIRE(counts[word] <= each + (columns % (2 * occurrences) > 0));
        }
      }
    }
  }
}

TEST_CASE("successive contexts of a word are spread over the corpus", "[corpus]") {
  constexpr std::size_t occurrences = 1000, columns = 60;
  const OneWordsSlots text(occurrences);
  const auto corpus =
      EncodedCorpus::from_sentences(text.sentences, text.vocabulary, {.max_sentence_length = 3});
  const auto& words = text.sentences[0];
  std::map<WordId, double> place_of;  // in the corpus, 0 to 1
  for (std::size_t i = 0; i < words.size(); ++i)
    place_of[*text.vocabulary.find(words[i])] =
        static_cast<double>(i) / static_cast<double>(words.size());
  const WordId x = *text.vocabulary.find("x");
  const auto matrix = WordContextMatrix::from(corpus, text.vocabulary, {.window = 1});
  for (const std::uint64_t begin : {0u, 100u, 1234u}) {
    std::vector<double> places;
    for (std::size_t j = 0; j < columns; ++j) {
      WordId context = 0;
      matrix.contexts(begin + j, x, {&context, 1});
      places.push_back(place_of.at(context));
    }
    std::ranges::sort(places);
    // Sixty random places would leave a gap of 0.09.
    for (std::size_t j = 1; j < columns; ++j) REQUIRE(places[j] - places[j - 1] < 0.05);
  }
}

TEST_CASE("no word keeps more contexts than the maximum", "[corpus]") {
  const Text text(random_text(2000, 8));
  const auto corpus = EncodedCorpus::from_text(text.path, text.vocabulary);
  const detail::WordContextLists all(corpus, text.vocabulary, {}, 1 << 20);
  const std::size_t words = all.words().size();
  const auto column_of = [words](const detail::WordContextLists& lists, std::uint64_t column) {
    std::vector<WordId> contexts(words);
    lists.contexts(column, 0, contexts.size(), contexts);
    return contexts;
  };
  for (const std::size_t max_contexts : {1u, 3u, 40u}) {
    const detail::WordContextLists some(corpus, text.vocabulary, {.threads = 3}, max_contexts);
    for (const detail::ContextList& list : some.lists()) CHECK(list.size <= max_contexts);
    for (std::uint64_t column = 0; column < max_contexts; ++column) {
      CHECK(column_of(some, column) == column_of(all, column));
      const auto again = column_of(some, column + 5 * max_contexts);
      const auto first = column_of(all, column);
      for (std::size_t i = 0; i < words; ++i)
        if (some.lists()[i].size == max_contexts) CHECK(again[i] == first[i]);
    }
  }
}

TEST_CASE("a vocabulary of more than 65,536 words has contexts", "[corpus]") {
  // The same text, once with 70,000 more frequent words in the vocabulary.
  std::vector<std::pair<std::string, std::uint64_t>> counts, more;
  for (int i = 0; i < 50; ++i) counts.emplace_back("w" + std::to_string(i), 1000 - i);
  for (int i = 0; i < 70'000; ++i) more.emplace_back("x" + std::to_string(i), 5000);
  more.insert(more.end(), counts.begin(), counts.end());
  const auto small = Vocabulary::from_counts(counts), large = Vocabulary::from_counts(more);
  Random random(4);
  SentenceList sentences(200), shifted;
  for (auto& sentence : sentences)
    for (int i = 0; i < 12; ++i) sentence.push_back(static_cast<WordId>(random.below(50)));
  for (auto sentence : sentences) {
    for (WordId& word : sentence) word += 70'000;
    shifted.push_back(sentence);
  }
  const auto windows = windows_of(shifted, 2);
  const WordContextMatrix::Options options{.columns = 600};
  const auto matrix =
      WordContextMatrix::from(EncodedCorpus::from_sentences(shifted, large), large, options);
  CHECK(matrix.lists()->short_ids().empty());
  const auto short_matrix =
      WordContextMatrix::from(EncodedCorpus::from_sentences(sentences, small), small, options);
  CHECK(short_matrix.lists()->long_ids().empty());
  // Each context comes as often as it occurs in the windows of the word.
  for (std::size_t i = 0; i < matrix.words().size(); ++i) {
    const std::map<WordId, std::uint64_t>& expected = windows.at(matrix.words()[i]);
    std::uint64_t total = 0;
    for (const auto& [context, count] : expected) total += count;
    std::map<WordId, std::uint64_t> found;
    for (std::uint64_t column = 1000; column < 1000 + total; ++column) {
      WordId context = 0;
      matrix.contexts(column, i, {&context, 1});
      ++found[context];
    }
    CHECK(found == expected);
  }
}

TEST_CASE("several columns at once equal one at a time", "[corpus]") {
  const Text text(random_text(500, 8));
  const auto corpus = EncodedCorpus::from_text(text.path, text.vocabulary);
  // Some words have fewer contexts than are read at once; a mapped epoch ends meanwhile.
  const TemporaryFolder folder;
  const bool is_mapped = GENERATE(false, true);
  const auto file = is_mapped ? folder / "matrix" : std::filesystem::path();
  const auto matrix =
      WordContextMatrix::from(corpus, text.vocabulary, {.columns = 30, .file = file});
  const std::size_t words = matrix.words().size();
  REQUIRE(words > 30);
  for (const std::uint64_t column : {0u, 1u, 29u, 61u})
    for (const std::size_t first : {std::size_t{0}, std::size_t{7}, words - 1, words})
      for (const std::size_t columns : {1u, 2u, 100u}) {
        const std::size_t count = words - first;
        std::vector<WordId> together(columns * count), expected;
        matrix.contexts(column, first, count, together);
        for (std::size_t j = 0; j < columns; ++j) {
          const auto one = column_of(matrix, column + j);
          expected.insert(expected.end(), one.begin() + static_cast<std::ptrdiff_t>(first),
                          one.end());
        }
        CHECK(together == expected);
      }
}

TEST_CASE("contexts do not depend on the pieces read or the number of threads", "[corpus]") {
  // Long enough for several blocks of words and several pieces of the index.
  Random random(3);
  SentenceList sentences(700);
  std::vector<std::pair<std::string, std::uint64_t>> counts;
  for (int i = 0; i < 900; ++i) counts.emplace_back("w" + std::to_string(i), 1 + i);
  const auto vocabulary = Vocabulary::from_counts(counts);
  for (auto& sentence : sentences)
    for (std::uint64_t i = 2 + random.below(60); i > 0; --i)
      sentence.push_back(static_cast<WordId>(random.below(vocabulary.size())));
  const auto corpus = EncodedCorpus::from_sentences(sentences, vocabulary);
  const WordContextMatrix::Options options{
      .columns = 20, .window = 3, .subsample = 1e-3, .threads = 1};
  const auto matrix = WordContextMatrix::from(corpus, vocabulary, options);
  REQUIRE(matrix.words().size() > 600);
  const auto expected = columns_of(matrix);

  for (const std::size_t piece : {1u, 3u, 63u, 256u, 257u, 500u}) {
    std::vector<WordId> column(matrix.words().size());
    for (std::size_t first = 0; first < column.size(); first += piece)
      matrix.contexts(5, first,
                      std::span(column).subspan(first, std::min(piece, column.size() - first)));
    CHECK(column == expected[5]);
  }
  for (const std::size_t threads : {2u, 5u, 100u}) {
    auto more = options;
    more.threads = threads;
    const auto other = WordContextMatrix::from(corpus, vocabulary, more);
    CHECK(columns_of(other) == expected);
    CHECK(other.fingerprint() == matrix.fingerprint());
  }
  const WordContextMatrix copy = matrix;
  CHECK(copy.words().data() == matrix.words().data());
  CHECK(columns_of(WordContextMatrix::from(AnyCorpus(corpus), vocabulary, options)) == expected);
}

TEST_CASE("the fingerprint depends on everything that determines the contexts", "[corpus]") {
  const Text text(random_text(500, 6));
  const auto corpus = EncodedCorpus::from_text(text.path, text.vocabulary);
  const Text longer(text.bytes + "\nw1 w2\n");
  const auto fingerprint = [&](const WordContextMatrix::Options& options) {
    return WordContextMatrix::from(corpus, text.vocabulary, options).fingerprint();
  };
  std::set<std::uint64_t> fingerprints{
      fingerprint({}),
      fingerprint({.columns = 1023}),
      fingerprint({.window = 3}),
      fingerprint({.subsample = 1e-2}),
      fingerprint({.seed = 2}),
      fingerprint({.file = text.folder / "matrix"}),
      fingerprint({.seed = 2, .file = text.folder / "matrix"}),
      WordContextMatrix::from(EncodedCorpus::from_text(longer.path, longer.vocabulary),
                              longer.vocabulary)
          .fingerprint()};
  CHECK(fingerprints.size() == 8);
  const auto one = WordContextMatrix::from(corpus, text.vocabulary);
  CHECK(columns_of(one) !=
        columns_of(WordContextMatrix::from(corpus, text.vocabulary, {.seed = 2})));
  CHECK(columns_of(one, 0) != columns_of(one, 1));
}

TEST_CASE("words that occur only in one-word sentences have no contexts", "[corpus]") {
  const Text text("a b\nc\nd\na a b\nc\n");
  const auto corpus = EncodedCorpus::from_text(text.path, text.vocabulary);
  const auto matrix = WordContextMatrix::from(corpus, text.vocabulary, {.columns = 30});
  REQUIRE(matrix.words().size() == 2);
  CHECK(text.vocabulary.word(matrix.words()[0]) == "a");
  CHECK(text.vocabulary.word(matrix.words()[1]) == "b");
  CHECK(matrix.token_count() == 60);
  for (const auto& column : columns_of(matrix)) CHECK(text.vocabulary.word(column[1]) == "a");
}

TEST_CASE("subsampling drops words before windows are formed", "[corpus]") {
  // A window of 1 is all of "the", unless it was dropped.
  std::vector<std::vector<std::string>> sentences;
  for (int i = 0; i < 2000; ++i) sentences.push_back({"a", "the", "b"});
  for (int i = 0; i < 2000; ++i) sentences.push_back({"the", "the", "the", "the", "the"});
  const auto vocabulary = Vocabulary::from_sentences(sentences, {.min_count = 1});
  const auto corpus = EncodedCorpus::from_sentences(sentences, vocabulary);
  const double threshold = 0.12;
  const double keep = detail::Subsampling(vocabulary, threshold).keep_probability(0);
  REQUIRE(keep < 0.6);
  REQUIRE(detail::Subsampling(vocabulary, threshold).keep_probability(1) == 1.0);
  const WordContextMatrix::Options options{
      .columns = 5000, .window = 1, .subsample = threshold, .threads = 2};
  const auto matrix = WordContextMatrix::from(corpus, vocabulary, options);
  double with_the = 0;
  for (const auto& column : columns_of(matrix)) with_the += column[1] == 0;
  CHECK(with_the / 5000 > keep - 0.05);
  CHECK(with_the / 5000 < keep + 0.05);
}

TEST_CASE("all shards together have each pair of an epoch once", "[corpus]") {
  const Text text(random_text(1500, 10));
  const auto corpus = EncodedCorpus::from_text(text.path, text.vocabulary);
  const auto check = [&](const WordContextMatrix& matrix) {
    for (const std::size_t epoch : {0u, 3u}) {
      std::vector<WordId> expected;
      for (const auto& column : columns_of(matrix, epoch))
        for (std::size_t i = 0; i < column.size(); ++i)
          expected.insert(expected.end(), {matrix.words()[i], column[i]});
      CHECK(expected.size() == 2 * matrix.token_count());
      for (const std::size_t shards : {1u, 2u, 3u, 7u, 64u, 500u}) {
        std::vector<WordId> pairs;
        for (std::size_t i = 0; i < shards; ++i)
          for (const auto& sentence :
               sentences_of(matrix, {.index = i, .count = shards, .epoch = epoch, .seed = i})) {
            REQUIRE(sentence.size() <= 2 * WordContextMatrix::max_pairs);
            REQUIRE(sentence.size() % 2 == 0);
            pairs.insert(pairs.end(), sentence.begin(), sentence.end());
          }
        REQUIRE(pairs == expected);
      }
    }
  };
  check(WordContextMatrix::from(corpus, text.vocabulary, {.columns = 1}));
  check(WordContextMatrix::from(corpus, text.vocabulary, {.columns = 5000}));
  check(WordContextMatrix::from(corpus, text.vocabulary,
                                {.columns = 50, .file = text.folder / "matrix"}));
  const auto range =
      WordContextMatrix::from(corpus, text.vocabulary, {.columns = 20}).sentences({});
  CHECK(std::ranges::equal(*range.begin(), *range.begin()));
}

TEST_CASE("bad options, and a corpus without contexts or of another vocabulary, are refused",
          "[corpus]") {
  const Text text("a b\na b c\n"), other("a a b\n");
  const auto corpus = EncodedCorpus::from_text(text.path, text.vocabulary);
  const auto refusal = [&](const WordContextMatrix::Options& options) {
    return message_of<InvalidArgument>(
        [&] { return WordContextMatrix::from(corpus, text.vocabulary, options); });
  };
  CHECK(refusal({.columns = 0}) == "columns is 0, must be from 1 to 16777216");
  CHECK(refusal({.columns = (1 << 24) + 1}) == "columns is 16777217, must be from 1 to 16777216");
  CHECK(refusal({.window = 0}) == "window is 0, must be from 1 to 1000");
  CHECK(refusal({.window = 1001}) == "window is 1001, must be from 1 to 1000");
  CHECK(refusal({.subsample = -0.5}) == "subsample is -0.5, must be from 0 to 1");
  CHECK(contains(refusal({.threads = 65537}), "threads is 65537"));
  CHECK(message_of<CorpusError>([&] {
          return WordContextMatrix::from(corpus, other.vocabulary);
        }) == "the corpus was encoded with another vocabulary");
  std::size_t reads = 0;
  const SentenceList alone{{0}, {}, {1}}, wrong{{0, 1, 3}};
  CHECK(
      message_of<CorpusError>([&] {
        return WordContextMatrix::from(PlainCorpus{&alone, &reads}, text.vocabulary);
      }) ==
      "nothing to train on: no word of the corpus has a context: each of its 3 sentences (2 words) "
      "has one word; is there one word a line? A line is a sentence");
  const SentenceList repeated{{0, 0}, {1, 1, 1}};
  CHECK(message_of<CorpusError>([&] {
          return WordContextMatrix::from(PlainCorpus{&repeated, &reads}, text.vocabulary);
        }) ==
        "nothing to train on: no word of the corpus has a context: each of its 2 sentences (5 "
        "words) repeats one word; a sentence needs two different ones");
  CHECK(
      message_of<CorpusError>(
          [&] { return WordContextMatrix::from(corpus, text.vocabulary, {.subsample = 1e-12}); }) ==
      "nothing to train on: no word of the corpus has a context: each of its 2 sentences (5 words) "
      "has at most one word after subsampling with the threshold 1e-12; use a higher one, or 0 to "
      "keep all words");
  CHECK(message_of<CorpusError>([&] {
          return WordContextMatrix::from(PlainCorpus{&wrong, &reads}, text.vocabulary);
        }) == "the corpus has the word id 3, the vocabulary has only 3 words");
}
