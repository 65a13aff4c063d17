#include <cstdint>
#include <span>
#include <vector>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/corpus/text_corpus.hpp>

#include "catch.hpp"

using namespace wordloom;

namespace {

using Sentences = std::vector<std::span<const WordId>>;

struct Plainest {
  static constexpr bool repeats = false;
  std::uint64_t token_count() const { return 0; }
  Sentences sentences(const Shard&) const { return {}; }
};
struct WithoutSentences {
  static constexpr bool repeats = true;
  std::uint64_t token_count() const { return 0; }
};
struct SentencesOfAnotherType : WithoutSentences {
  std::vector<std::vector<std::uint64_t>> sentences(const Shard&) const { return {}; }
};
struct ShardsOfBefore : WithoutSentences {
  Sentences shard(std::size_t, std::size_t) const { return {}; }
};
struct WithoutTokenCount {
  static constexpr bool repeats = true;
  Sentences sentences(const Shard&) const { return {}; }
};
struct WithoutRepeats {
  std::uint64_t token_count() const { return 0; }
  Sentences sentences(const Shard&) const { return {}; }
};
struct RepeatsByVariable : WithoutRepeats {
  static inline bool repeats = true;
};
struct RepeatsByFunction : WithoutRepeats {
  bool repeats() const { return true; }
};

}  // namespace

TEST_CASE("a corpus is token_count, sentences and repeats", "[corpus]") {
  STATIC_REQUIRE(Corpus<Plainest>);
  STATIC_REQUIRE(detail::require_corpus<Plainest>());
  STATIC_REQUIRE(Corpus<EncodedCorpus>);
  STATIC_REQUIRE(Corpus<TextCorpus>);
  STATIC_REQUIRE_FALSE(Corpus<WithoutSentences>);
  STATIC_REQUIRE_FALSE(Corpus<SentencesOfAnotherType>);
  STATIC_REQUIRE_FALSE(Corpus<ShardsOfBefore>);
  STATIC_REQUIRE_FALSE(Corpus<WithoutTokenCount>);
  STATIC_REQUIRE_FALSE(Corpus<WithoutRepeats>);
  STATIC_REQUIRE_FALSE(Corpus<RepeatsByVariable>);
  STATIC_REQUIRE(Corpus<RepeatsByFunction>);
}

TEST_CASE("a shard is the whole corpus by default", "[corpus]") {
  constexpr Shard shard;
  STATIC_REQUIRE(shard.index == 0);
  STATIC_REQUIRE(shard.count == 1);
  STATIC_REQUIRE(shard.epoch == 0);
}
