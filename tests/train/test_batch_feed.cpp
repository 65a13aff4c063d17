// The batches of a device: complete, in order, and the same for any number of threads.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <thread>
#include <vector>
#include <wordloom/core/error.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/detail/sentence_batch.hpp>
#include <wordloom/train/detail/batch_feed.hpp>

#include "catch.hpp"

using namespace wordloom;

namespace {

constexpr std::size_t sentence_count = 3000;

/// Sentence i of all is i + 1, i + 2, ..., of 1 to 211 words.
struct Numbers {
  bool is_split = true;
  std::size_t fails_at = sentence_count + 1;
  std::thread::id reads_in = {};  // the only thread that may read it, if any

  static constexpr bool repeats = false;
  bool splits() const { return is_split; }
  static std::uint64_t token_count() { return 318'000; }
  static std::vector<WordId> sentence(std::size_t i) {
    std::vector<WordId> words(1 + i % 211);
    for (std::size_t w = 0; w < words.size(); ++w) words[w] = static_cast<WordId>(i + 1 + w);
    return words;
  }
  auto sentences(const Shard& shard) const {
    return SentenceRange([corpus = *this, shard] {
      return [corpus, at = shard.part_of(sentence_count),
              words = std::vector<WordId>()]() mutable -> detail::NextSentence {
        if (corpus.reads_in != std::thread::id())
          CHECK(corpus.reads_in == std::this_thread::get_id());
        if (at.first == corpus.fails_at) throw IoError("cannot read on");
        if (at.first == at.second) return std::nullopt;
        words = sentence(at.first++);
        return words;
      };
    });
  }
};

constexpr std::uint64_t many = std::uint64_t{1} << 22;  // words: enough for several readers
constexpr std::size_t batch_words = std::size_t{1} << 16, longest = 100;

struct Copy {
  std::vector<WordId> words;
  std::vector<std::uint32_t> ends;
  bool operator==(const Copy&) const = default;
};

template <class Corpus>
std::vector<Copy> batches_of(const Corpus& corpus, std::uint64_t words, std::size_t threads) {
  detail::BatchFeed feed(corpus, {0, 1, 2, 5}, words, batch_words, longest, threads,
                         [] { return false; });
  std::vector<Copy> result;
  detail::SentenceBatch batch;
  while (feed.next(batch)) {
    Copy& copy = result.emplace_back();
    batch.for_each_part(
        [&](auto part) { copy.words.insert(copy.words.end(), part.begin(), part.end()); });
    copy.ends = batch.ends;
    CHECK(copy.words.size() == batch.word_count());
  }
  CHECK(feed.has_contexts());
  return result;
}

/// Sentences of several rows in one array.
struct Held {
  std::vector<WordId> words = std::vector<WordId>(1000, 7);
  static constexpr bool repeats = true, holds_sentences = true;
  std::uint64_t token_count() const { return words.size(); }
  auto sentences(const Shard&) const {
    return SentenceRange([this] {
      return [this, at = std::size_t{0}]() mutable -> detail::NextSentence {
        if (at == words.size()) return std::nullopt;
        at += 250;
        return std::span(words).subspan(at - 250, 250);
      };
    });
  }
};

}  // namespace

TEST_CASE("Batches have all sentences in order, cut into pieces that differ by at most one word") {
  std::vector<Copy> all = batches_of(Numbers{.is_split = false}, many, 1);
  REQUIRE(all.size() > 3);
  std::size_t batch = 0, piece = 0, begin = 0;
  for (std::size_t i = 0; i < sentence_count; ++i) {
    const auto expected = Numbers::sentence(i);
    const std::size_t pieces = (expected.size() + longest - 1) / longest;
    std::vector<WordId> found;
    for (std::size_t p = 0; p < pieces; ++p) {
      if (piece == all[batch].ends.size()) {
        CHECK(p == 0);
        CHECK(all[batch].words.size() >= batch_words);
        ++batch;
        piece = begin = 0;
        REQUIRE(batch < all.size());
      }
      const std::size_t end = all[batch].ends[piece++], size = end - begin;
      CHECK((size == expected.size() / pieces || size == (expected.size() + pieces - 1) / pieces));
      found.insert(found.end(), all[batch].words.begin() + static_cast<std::ptrdiff_t>(begin),
                   all[batch].words.begin() + static_cast<std::ptrdiff_t>(end));
      begin = end;
    }
    if (found != expected) FAIL("sentence " << i);
  }
  CHECK(batch + 1 == all.size());
}

TEST_CASE("Batches of a corpus that splits do not depend on the number of threads") {
  const auto by_one = batches_of(Numbers{}, many, 1);
  for (const std::size_t threads : {2u, 3u, 9u})
    CHECK(batches_of(Numbers{}, many, threads) == by_one);
  // Four readers: the words of all sentences, once, in another order.
  const auto in_order = batches_of(Numbers{.is_split = false}, many, 1);
  CHECK(by_one != in_order);
  std::vector<std::uint64_t> counts[2];
  for (const auto* of : {&by_one, &in_order}) {
    auto& count = counts[of == &by_one];
    count.resize(sentence_count + 300);
    for (const Copy& batch : *of)
      for (const WordId word : batch.words) ++count[word];
  }
  CHECK(counts[0] == counts[1]);
  // A small shard has one reader.
  CHECK(batches_of(Numbers{}, Numbers::token_count(), 4) == in_order);
}

TEST_CASE("A corpus that does not split, or is small, is read by the thread that trains") {
  const auto self = std::this_thread::get_id();
  batches_of(Numbers{.is_split = false, .reads_in = self}, many, 4);
  batches_of(Numbers{.reads_in = self}, Numbers::token_count(), 4);
}

TEST_CASE("Sentences that a corpus holds are not copied") {
  const Held corpus;
  detail::BatchFeed feed(corpus, {}, 1000, 600, longest, 1, [] { return false; });
  detail::SentenceBatch batch;
  REQUIRE(feed.next(batch));
  REQUIRE(batch.held.size() == 1);
  CHECK(batch.held[0].data() == corpus.words.data());
  CHECK(batch.held[0].size() == 750);
  CHECK(batch.ends == std::vector<std::uint32_t>{83, 166, 250, 333, 416, 500, 583, 666, 750});
  REQUIRE(feed.next(batch));
  CHECK(batch.held[0].data() == corpus.words.data() + 750);
  CHECK_FALSE(feed.next(batch));
}

TEST_CASE("Errors of a corpus reach the trainer, and a stop ends the reading") {
  for (const std::size_t threads : {1u, 3u})
    CHECK_THROWS_AS(batches_of(Numbers{.fails_at = 2500}, many, threads), IoError);
  for (const bool splits : {false, true}) {
    std::atomic<bool> stops{false};
    const Numbers corpus{.is_split = splits};
    detail::BatchFeed feed(corpus, {}, many, batch_words, longest, 2, [&] { return stops.load(); });
    detail::SentenceBatch batch;
    CHECK(feed.next(batch));
    stops = true;
    CHECK_FALSE(feed.next(batch));
  }
  const Numbers corpus;
  detail::BatchFeed never_read(corpus, {}, many, batch_words, longest, 2, [] { return false; });
}
