#include "corpus/corpus_checks.hpp"

using namespace wordloom;

TEST_CASE("a kept encoding is used again only for the same text and vocabulary", "[corpus]") {
  const Text text(random_text(2000, 3));
  const auto cache = text.folder / "cache";
  const CorpusOptions options{.cache = cache};
  const auto expected = sentences_of(EncodedCorpus::from_text(text.path, text.vocabulary));
  const auto read = [&](const Vocabulary& vocabulary, const CorpusOptions& how) {
    return sentences_of(EncodedCorpus::from_text(text.path, vocabulary, how));
  };
  CHECK(read(text.vocabulary, options) == expected);
  CHECK(text.folder.entry_count() == 2);

  const auto made = std::filesystem::last_write_time(cache);
  const auto again = [&] { return std::filesystem::last_write_time(cache) == made; };
  CHECK(read(text.vocabulary, options) == expected);
  CHECK(again());

  SECTION("pieces of another size make the same file") {
    const auto other = text.folder / "other";
    CHECK(read(text.vocabulary, {.threads = 3, .cache = other, .piece_bytes = 17}) == expected);
    CHECK(read_file(other) == read_file(cache));
  }
  SECTION("another vocabulary") {
    const auto fewer = Vocabulary::from_text(text.path, {.min_count = 100});
    CHECK(read(fewer, options) == plain_sentences(text.bytes, fewer, 1000));
    CHECK_FALSE(again());
  }
  SECTION("another sentence length") {
    CHECK(read(text.vocabulary, {.max_sentence_length = 2, .cache = cache}) ==
          plain_sentences(text.bytes, text.vocabulary, 2));
    CHECK_FALSE(again());
  }
  SECTION("joined lines") {
    CHECK(read(text.vocabulary, {.join_lines = true, .cache = cache}) != expected);
    CHECK_FALSE(again());
  }
  SECTION("another way of separating words") {
    CHECK(read(text.vocabulary, {.cache = cache, .unicode_spaces = true}) == expected);
    CHECK_FALSE(again());
  }
  SECTION("another text") {
    write_file(text.path, "w1 w2\n");
    CHECK(read(text.vocabulary, options) == plain_sentences("w1 w2\n", text.vocabulary, 1000));
  }
  SECTION("a file of an older version") {
    std::string old = read_file(cache);
    old.replace(0, 8, std::string("CORPUS1\0", 8));
    write_file(cache, old);
    CHECK(read(text.vocabulary, options) == expected);
    CHECK_FALSE(read_file(cache) == old);
  }
  SECTION("a file that was cut short at any byte, or changed") {
    const std::string whole = read_file(cache);
    for (std::size_t size = 6; size < whole.size(); size += size < 64 ? 1 : 97) {
      write_file(cache, whole.substr(0, size));
      REQUIRE(read(text.vocabulary, options) == expected);
    }
    const auto source =
        detail::CorpusSource::of(text.path, text.vocabulary.fingerprint(), 1000, {});
    write_file(cache, whole);
    REQUIRE(detail::open_corpus_file(cache, source));
    // Every bit of the first ids, the last ends of sentences and the numbers after them.
    for (std::size_t bit = 6 * 8; bit < whole.size() * 8; ++bit) {
      if (bit == 200 * 8) bit = (whole.size() - 400) * 8;
      std::string changed = whole;
      changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
      write_file(cache, changed);
      REQUIRE_FALSE(detail::open_corpus_file(cache, source));
    }
  }
}

TEST_CASE("a changed text of the same size and time is encoded anew", "[corpus]") {
  Text text(random_text(60'000, 3));
  const CorpusOptions options{.cache = text.folder / "cache"};
  static_cast<void>(EncodedCorpus::from_text(text.path, text.vocabulary, options));
  const auto time = std::filesystem::last_write_time(text.path);
  // A word that no sample of the bytes covers.
  const std::size_t at = text.bytes.find(" w1 ", 1100);
  REQUIRE(at < text.bytes.size() / 63);
  text.bytes[at + 2] = '2';
  write_file(text.path, text.bytes);
  const auto changed = [&] {
    return detail::CorpusSource::of(text.path, 0, 0, {}).text_changed_ns;
  };
  // The clock of files goes in steps of some milliseconds.
  for (const auto before = changed(); changed() == before;)
    std::filesystem::last_write_time(text.path, time);
  CHECK(sentences_of(EncodedCorpus::from_text(text.path, text.vocabulary, options)) ==
        plain_sentences(text.bytes, text.vocabulary, 1000));
}

TEST_CASE("a file that is not an encoded corpus is refused as a cache and kept", "[corpus]") {
  const Text text("a b c\n");
  write_file(text.folder / "notes", "years of work");
  write_file(text.folder / "empty", "");
  for (const auto& cache : {text.folder / "notes", text.path}) {
    const std::string before = read_file(cache);
    CHECK(message_of<FormatError>([&] {
            return EncodedCorpus::from_text(text.path, text.vocabulary, {.cache = cache});
          }) == "'" + cache.string() +
                    "' is not an encoded corpus and was not overwritten: name another file, or "
                    "remove it");
    CHECK(read_file(cache) == before);
  }
  CHECK(EncodedCorpus::from_text(text.path, text.vocabulary, {.cache = text.folder / "empty"})
            .token_count() == 3);
}
