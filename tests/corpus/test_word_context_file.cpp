#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>
#include <wordloom/core/random.hpp>
#include <wordloom/corpus/word_context_matrix.hpp>

#include "corpus/word_contexts.hpp"

using namespace wordloom;

TEST_CASE("a file has the contexts of the first epoch and repeats them", "[corpus]") {
  const TemporaryFolder folder;
  const auto check = [&](const auto& corpus, const Vocabulary& vocabulary, std::size_t columns,
                         std::size_t id_bytes) {
    const auto expected = WordContextMatrix::from(corpus, vocabulary, {.columns = columns});
    const auto expected_columns = columns_of(expected);
    for (const std::size_t threads : {1u, 2u, 5u}) {
      const auto path = folder / ("matrix" + std::to_string(threads));
      const auto matrix = WordContextMatrix::from(
          corpus, vocabulary, {.columns = columns, .threads = threads, .file = path});
      CHECK(matrix.is_mapped());
      CHECK(matrix.columns() == columns);
      CHECK(std::ranges::equal(matrix.words(), expected.words()));
      CHECK(matrix.token_count() == expected.token_count());
      CHECK(matrix.vocabulary_fingerprint() == expected.vocabulary_fingerprint());
      CHECK(columns_of(matrix) == expected_columns);
      CHECK(columns_of(matrix, 5) == expected_columns);
      WordId one = 0;
      matrix.contexts(columns + 1, 2, {&one, 1});
      CHECK(one == expected_columns[1][2]);
      const std::size_t ids = matrix.words().size();
      CHECK(std::filesystem::file_size(path) - ids * (4 + columns * id_bytes) < 100);
      CHECK(read_file(path) == read_file(folder / "matrix1"));
    }
  };
  SECTION("of 16-bit ids") {
    const Text text(random_text(3000, 8));
    check(EncodedCorpus::from_text(text.path, text.vocabulary), text.vocabulary, 77, 2);
  }
  SECTION("of 32-bit ids") {
    std::vector<std::pair<std::string, std::uint64_t>> counts;
    for (int i = 0; i < 66'000; ++i) counts.emplace_back("w" + std::to_string(i), 1);
    const auto vocabulary = Vocabulary::from_counts(counts);
    Random random(2);
    SentenceList sentences(9000, std::vector<WordId>(11));
    for (auto& sentence : sentences)
      for (auto& id : sentence) id = static_cast<WordId>(random.below(vocabulary.size()));
    check(EncodedCorpus::from_sentences(sentences, vocabulary), vocabulary, 3, 4);
  }
  SECTION("of more than one block") {
    const OneWordsSlots text(2500);
    check(EncodedCorpus::from_sentences(text.sentences, text.vocabulary), text.vocabulary, 1801, 2);
  }
}

TEST_CASE("a kept matrix is used again only for the same corpus and options", "[corpus]") {
  const Text text(random_text(300, 9));
  const auto sentences = sentences_of(EncodedCorpus::from_text(text.path, text.vocabulary));
  const auto path = text.folder / "matrix";
  const WordContextMatrix::Options options{.columns = 9, .threads = 2, .file = path};
  std::size_t reads = 0;
  const PlainCorpus corpus{&sentences, &reads};
  const auto expected = columns_of(WordContextMatrix::from(corpus, text.vocabulary, options));
  REQUIRE(reads == 1);
  const std::string whole = read_file(path);
  // Makes the matrix and returns whether the corpus was read for that.
  const auto read_again = [&](const auto& source, const WordContextMatrix::Options& how) {
    const std::size_t before = reads;
    CHECK(columns_of(WordContextMatrix::from(source, text.vocabulary, how)).size() == how.columns);
    return reads == before + 1;
  };
  CHECK(text.folder.entry_count() == 2);
  CHECK(columns_of(WordContextMatrix::from(PlainCorpus{&sentences, &reads, 2}, text.vocabulary,
                                           options)) == expected);
  CHECK_FALSE(read_again(corpus, {.columns = 9, .threads = 1, .file = path}));
  CHECK(read_file(path) == whole);

  SECTION("other options") {
    CHECK(read_again(corpus, {.columns = 10, .file = path}));
    CHECK(read_again(corpus, {.columns = 10, .window = 3, .file = path}));
    CHECK(read_again(corpus, {.columns = 10, .window = 3, .seed = 5, .file = path}));
    CHECK(read_again(corpus, {.columns = 10, .subsample = 0.1, .file = path}));
    CHECK(read_again(corpus, options));
    CHECK(read_file(path) == whole);
  }
  SECTION("a corpus of another size") {
    auto more = sentences;
    more.push_back({0, 1});
    CHECK(read_again(PlainCorpus{&more, &reads}, options));
  }
  SECTION("a corpus of the same size with a fingerprint") {
    const auto make = [&](const SentenceList& all) {
      const auto encoded = EncodedCorpus::from_sentences(all, text.vocabulary);
      return columns_of(WordContextMatrix::from(encoded, text.vocabulary, options));
    };
    auto other = sentences;
    other[0][0] = (other[0][0] + 1) % 5;
    CHECK(make(sentences) == expected);
    const auto time = std::filesystem::last_write_time(path);
    CHECK(make(sentences) == expected);
    CHECK(std::filesystem::last_write_time(path) == time);
    make(other);
    CHECK(std::filesystem::last_write_time(path) != time);
  }
  SECTION("another vocabulary") {
    std::vector<std::pair<std::string, std::uint64_t>> counts;
    for (WordId i = 0; i < text.vocabulary.size(); ++i)
      counts.emplace_back(text.vocabulary.word(i), text.vocabulary.count(i) + 1);
    static_cast<void>(WordContextMatrix::from(corpus, Vocabulary::from_counts(counts), options));
    CHECK(reads == 2);
  }
  SECTION("a file of another version") {
    std::string old = whole;
    old[6] = '0';
    write_file(path, old);
    CHECK(read_again(corpus, options));
    CHECK(read_file(path) == whole);
  }
  SECTION("a file that was cut short at any byte, continued or changed") {
    write_file(path, "");
    CHECK(read_again(corpus, options));
    for (std::size_t size = 6; size < whole.size(); size += size < 200 ? 1 : 61) {
      write_file(path, whole.substr(0, size));
      REQUIRE(read_again(corpus, options));
      REQUIRE(read_file(path) == whole);
    }
    detail::WordContextHeader header;
    std::memcpy(&header, whole.data() + detail::word_context_magic.size(), sizeof(header));
    REQUIRE(detail::open_word_context_file(path, header.source));
    for (const std::size_t more : {1u, 7u, 8u, 16u}) {
      write_file(path, whole + std::string(more, '\0'));
      REQUIRE_FALSE(detail::open_word_context_file(path, header.source));
    }
    for (std::size_t bit = 6 * 8; bit < whole.size() * 8; ++bit) {
      std::string changed = whole;
      changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
      write_file(path, changed);
      REQUIRE_FALSE(detail::open_word_context_file(path, header.source));
    }
  }
}

TEST_CASE("a header with any numbers does not crash the reader", "[corpus]") {
  const TemporaryFolder folder;
  const auto path = folder / "matrix";
  constexpr std::array<std::uint64_t, 9> numbers{0,          1,          2,          4,    8,
                                                 1ull << 32, 1ull << 61, 1ull << 62, ~0ull};
  for (const std::size_t rest : {0u, 8u, 16u, 24u})
    for (const auto words : numbers)
      for (const auto columns : numbers)
        for (const auto id_bytes : numbers) {
          const detail::WordContextHeader header{{}, words, columns, id_bytes};
          std::string file(detail::word_context_magic);
          file.append(reinterpret_cast<const char*>(&header), sizeof(header)).append(rest, '\0');
          const std::uint64_t hash = detail::Hash::of(file);
          file.append(reinterpret_cast<const char*>(&hash), sizeof(hash));
          write_file(path, file);
          const auto opened = detail::open_word_context_file(path, {});
          if (!opened) continue;
          // Only what the file is long enough for.
          REQUIRE((words * 4 + 7) / 8 * 8 + (words * columns * id_bytes + 7) / 8 * 8 == rest);
          std::vector<WordId> contexts(words);
          for (std::uint64_t j = 0; j <= columns; ++j) opened->read(j, 0, contexts);
        }
}

TEST_CASE("a file that is not a word-context matrix is refused and kept", "[corpus]") {
  const Text text("a b c\n");
  write_file(text.folder / "notes", "years of work");
  const auto corpus = EncodedCorpus::from_text(text.path, text.vocabulary);
  const auto from = [&](const std::filesystem::path& file) {
    return WordContextMatrix::from(corpus, text.vocabulary, {.columns = 3, .file = file});
  };
  for (const auto& file : {text.folder / "notes", text.path}) {
    const std::string before = read_file(file);
    CHECK(message_of<FormatError>([&] { return from(file); }) ==
          "'" + file.string() +
              "' is not a word-context matrix and was not overwritten: name another file, or "
              "remove it");
    CHECK(read_file(file) == before);
  }
  CHECK_THROWS_AS(from(text.folder.path()), IoError);
  CHECK_THROWS_AS(from(text.folder / "no folder" / "matrix"), IoError);
  CHECK(text.folder.entry_count() == 2);
}

TEST_CASE("a corpus that fails leaves no file", "[corpus]") {
  const Text text("a b c\n");
  const SentenceList sentences{{0, 1, 2}};
  std::size_t reads = 0;
  CHECK_THROWS_AS(WordContextMatrix::from(PlainCorpus{&sentences, &reads, 1}, text.vocabulary,
                                          {.threads = 3, .file = text.folder / "matrix"}),
                  std::runtime_error);
  CHECK(text.folder.entry_count() == 1);
}
