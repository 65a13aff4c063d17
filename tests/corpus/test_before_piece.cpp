#include <stdexcept>
#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/corpus/text_corpus.hpp>
#include <wordloom/corpus/vocabulary.hpp>

#include "catch.hpp"
#include "support.hpp"

using namespace wordloom;

TEST_CASE("an exception before a piece ends counting and encoding and leaves no cache",
          "[corpus]") {
  const TemporaryFolder folder;
  write_file(folder / "text", "a b c\na b\n");
  const auto vocabulary = Vocabulary::from_text(folder / "text", {.min_count = 1});
  for (const std::size_t threads : {1u, 4u}) {
    std::size_t pieces = 0;
    const auto stop = [&] {
      if (++pieces == 3) throw std::runtime_error("stop");
    };
    const CorpusOptions options{
        .threads = threads, .cache = folder / "cache", .piece_bytes = 1, .before_piece = stop};
    CHECK_THROWS_WITH(EncodedCorpus::from_text(folder / "text", vocabulary, options), "stop");
    CHECK(folder.entry_count() == 1);
    pieces = 0;
    CHECK_THROWS_WITH(TextCorpus(folder / "text", vocabulary, options), "stop");
    pieces = 2;
    CHECK_THROWS_WITH(
        Vocabulary::from_text(folder / "text",
                              {.min_count = 1, .threads = threads, .before_piece = stop}),
        "stop");
  }
}
