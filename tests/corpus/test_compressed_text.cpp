#if WORDLOOM_HAS_ZLIB
#include <zlib.h>

#include "corpus/corpus_checks.hpp"

using namespace wordloom;

namespace {

std::string gzip(const std::string& text) {
  const TemporaryFolder folder;
  const auto path = (folder / "a.gz").string();
  gzFile file = ::gzopen(path.c_str(), "wb");
  ::gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  ::gzclose(file);
  return read_file(path);
}

}  // namespace

TEST_CASE("a .gz text of one or several members is read like the plain text", "[corpus]") {
  const Text text(random_text(5000, 4));
  const std::size_t half = text.bytes.size() / 2;
  const auto path = text.folder / "text.gz";
  for (const std::string& packed :
       {gzip(text.bytes), gzip(text.bytes.substr(0, half)) + gzip(text.bytes.substr(half)),
        gzip(text.bytes) + std::string(5, '\0')}) {
    write_file(path, packed);
    CHECK(Vocabulary::from_text(path, {.min_count = 1}).fingerprint() ==
          text.vocabulary.fingerprint());
    const auto expected = plain_sentences(text.bytes, text.vocabulary, 1000);
    for (const std::size_t piece : {1u, 13u, 1000u, 1u << 20}) {
      const CorpusOptions options{.threads = 3, .piece_bytes = piece};
      CHECK(sentences_of(EncodedCorpus::from_text(path, text.vocabulary, options)) == expected);
      CHECK(sentences_of(TextCorpus(path, text.vocabulary, options)) == expected);
      std::vector<WordId> all = joined(sentences_of(TextCorpus(path, text.vocabulary, options), 3));
      std::vector<WordId> sorted = joined(expected);
      std::sort(all.begin(), all.end());
      std::sort(sorted.begin(), sorted.end());
      CHECK(all == sorted);
    }
  }
}

TEST_CASE("a damaged .gz text is refused with its byte", "[corpus]") {
  const Text text(random_text(500, 4));
  const std::string packed = gzip(text.bytes);
  const auto path = text.folder / "text.gz";
  for (std::size_t size = 2; size < packed.size(); size += 7) {
    write_file(path, packed.substr(0, size));
    CHECK(contains(message_of<FormatError>([&] { return Vocabulary::from_text(path); }),
                   "text.gz: byte " + std::to_string(size) + ": expected gzip data, got the end"));
  }
  std::string changed = packed;
  changed[packed.size() / 2] = static_cast<char>(changed[packed.size() / 2] ^ 0xff);
  write_file(path, changed);
  CHECK_THROWS_AS(Vocabulary::from_text(path), FormatError);
  CHECK_THROWS_AS(EncodedCorpus::from_text(path, text.vocabulary), FormatError);
  write_file(path, text.bytes);
  CHECK(contains(message_of<FormatError>([&] { return Vocabulary::from_text(path); }),
                 "byte 0: expected gzip data, as its name says"));
}
#endif
