#pragma once
#include <algorithm>
#include <chrono>
#include <deque>
#include <list>
#include <ranges>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/corpus/text_corpus.hpp>
#include <wordloom/corpus/vocabulary.hpp>

#include "catch.hpp"
#include "corpus/texts.hpp"
#include "support.hpp"

/// Texts to read as corpora, and their sentences.
namespace wordloom_test {

using namespace wordloom;

using SentenceList = std::vector<std::vector<WordId>>;
using WordLists = std::vector<std::vector<std::string>>;

/// Sentences that can be read only once, like those of a generator.
template <class Sentence>
class Once {
 public:
  explicit Once(const std::vector<Sentence>& sentences)
      : rest_(sentences.begin(), sentences.end()) {}

  struct iterator {
    using value_type = Sentence;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;

    const Sentence& operator*() const { return rest->front(); }
    iterator& operator++() { return rest->pop_front(), *this; }
    void operator++(int) { rest->pop_front(); }
    friend bool operator==(const iterator& it, std::default_sentinel_t) { return it.rest->empty(); }
    std::deque<Sentence>* rest = nullptr;
  };
  iterator begin() { return {&rest_}; }
  std::default_sentinel_t end() const { return {}; }

 private:
  std::deque<Sentence> rest_;
};

template <class AnyCorpus>
SentenceList sentences_of(const AnyCorpus& corpus, const Shard& shard) {
  SentenceList all;
  for (const std::span<const WordId> sentence : corpus.sentences(shard))
    all.emplace_back(sentence.begin(), sentence.end());
  return all;
}

/// The sentences of all shards, one after the other.
template <class AnyCorpus>
SentenceList sentences_of(const AnyCorpus& corpus, std::size_t shards = 1) {
  SentenceList all;
  for (std::size_t i = 0; i < shards; ++i)
    for (auto& sentence : sentences_of(corpus, {.index = i, .count = shards}))
      all.push_back(std::move(sentence));
  return all;
}

inline std::vector<WordId> joined(const SentenceList& sentences) {
  std::vector<WordId> all;
  for (const auto& sentence : sentences) all.insert(all.end(), sentence.begin(), sentence.end());
  return all;
}

struct Text {
  TemporaryFolder folder;
  std::string bytes;
  std::filesystem::path path;
  Vocabulary vocabulary;

  explicit Text(std::string text, std::uint64_t min_count = 1)
      : bytes(std::move(text)), path(folder / "text") {
    write_file(path, bytes);
    vocabulary = Vocabulary::from_text(path, {.min_count = min_count});
  }
};

}  // namespace wordloom_test
