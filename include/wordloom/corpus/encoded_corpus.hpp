#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/text.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/corpus_file.hpp>
#include <wordloom/corpus/encoding.hpp>
#include <wordloom/corpus/sentence_range.hpp>
#include <wordloom/corpus/vocabulary.hpp>

namespace wordloom {

/// A text as word ids: 4 bytes for each in-vocabulary word and 8 for each sentence, in memory or in
/// a mapped file. Immutable; copies share the ids; all members are thread-safe.
class EncodedCorpus {
  struct View {
    std::span<const WordId> ids;          // [tokens]
    std::span<const std::uint64_t> ends;  // [sentences], in tokens
    std::shared_ptr<const void> owner;

    std::span<const WordId> sentence(std::size_t i) const noexcept {
      const std::uint64_t begin = i == 0 ? 0 : ends[i - 1];
      return ids.subspan(begin, ends[i] - begin);
    }
  };

  struct Reader {
    View view;
    std::size_t next_index, last;

    bool next() noexcept { return next_index++ < last; }
    std::span<const WordId> sentence() const noexcept { return view.sentence(next_index - 1); }
  };

 public:
  /// Encodes a text file, plain or .gz, with all threads. With `options.cache` the result is kept
  /// in that file; a file that was made from the same text, vocabulary and options is used as it
  /// is, any other is replaced. Throws IoError, FormatError (damaged .gz), InvalidArgument, and
  /// CorpusError when the whole text has no word of the vocabulary.
  static EncodedCorpus from_text(const std::filesystem::path& path, const Vocabulary& vocabulary,
                                 const CorpusOptions& options = {}) {
    options.validate();
    EncodedCorpus corpus = options.cache.empty() ? in_memory(path, vocabulary, options)
                                                 : in_file(path, vocabulary, options);
    if (corpus.token_count() == 0 && options.part.count == 1)
      throw CorpusError::no_known_word(path);
    return corpus;
  }

  /// Encodes sentences in memory with one thread: words that the vocabulary does not have are left
  /// out, and a sentence of more than `options.max_sentence_length` others is split. The other
  /// options have no effect. Throws InvalidArgument for a word that is empty or holds white space,
  /// and CorpusError when no word is in the vocabulary.
  template <SentencesOfWords Words>
  static EncodedCorpus from_sentences(Words&& sentences, const Vocabulary& vocabulary,
                                      const CorpusOptions& options = {}) {
    options.validate();
    auto memory = std::make_shared<Memory>();
    detail::SentenceSplitter splitter(options.max_sentence_length);
    std::vector<WordId> ids, words;
    std::size_t number = 0;
    for (auto&& sentence : sentences) {
      ids.clear();
      words.clear();
      for (auto&& word : sentence) {
        const std::string_view text = word;
        if (const auto id = vocabulary.find(text))
          ids.push_back(*id);
        else if (!is_word(text))
          throw detail::not_a_word(text, "sentences", number);
      }
      ids.push_back(detail::end_of_line);
      std::span<const WordId> rest = ids;
      while (splitter.next(rest, words)) memory->ends.push_back(memory->ids.size() + words.size());
      memory->ids.append(words);
      ++number;
    }
    if (memory->ends.empty()) throw CorpusError::no_known_word("the sentences");
    return EncodedCorpus(std::move(memory), vocabulary.fingerprint());
  }

  /// Makes a corpus of sentences of ids; empty ones are left out. Throws InvalidArgument for an id
  /// that the vocabulary does not have.
  static EncodedCorpus from_sentences(std::span<const std::vector<WordId>> sentences,
                                      const Vocabulary& vocabulary) {
    auto memory = std::make_shared<Memory>();
    for (const auto& sentence : sentences) {
      for (const WordId id : sentence)
        if (id >= vocabulary.size())
          throw InvalidArgument("word id " + std::to_string(id) + " in a vocabulary of " +
                                std::to_string(vocabulary.size()) + " words");
      if (sentence.empty()) continue;
      memory->ids.append(sentence);
      memory->ends.push_back(memory->ids.size());
    }
    return EncodedCorpus(std::move(memory), vocabulary.fingerprint());
  }

  static constexpr bool repeats = true;
  /// Returns the number of in-vocabulary words.
  std::uint64_t token_count() const noexcept { return view_.ids.size(); }
  std::size_t sentence_count() const noexcept { return view_.ends.size(); }
  /// Returns a view that is valid as long as any copy of this corpus lives; i < sentence_count().
  std::span<const WordId> sentence(std::size_t i) const noexcept { return view_.sentence(i); }
  /// Returns the fingerprint of the vocabulary that the text was encoded with.
  std::uint64_t vocabulary_fingerprint() const noexcept { return fingerprint_; }

  /// Returns consecutive sentences. All shards have nearly the same number of tokens.
  auto sentences(const Shard& shard) const {
    const auto [begin, end] = part_of(token_count(), shard.index, shard.count);
    return SentenceRange([reader = Reader{view_, sentence_at(begin), sentence_at(end)}] {
      return std::make_shared<Reader>(reader);
    });
  }

 private:
  /// Ids in memory that realloc can grow in place: a vector would hold them twice while it grows.
  class Ids {
   public:
    void append(std::span<const WordId> more) {
      if (size_ + more.size() > capacity_) reserve(std::max(size_ + more.size(), size_ * 3 / 2));
      std::copy(more.begin(), more.end(), data_.get() + size_);
      size_ += more.size();
    }
    void shrink() {
      if (size_ > 0) reserve(size_);
    }
    std::size_t size() const noexcept { return size_; }
    std::span<const WordId> span() const noexcept { return {data_.get(), size_}; }

   private:
    void reserve(std::size_t capacity) {
      void* const grown = std::realloc(data_.get(), capacity * sizeof(WordId));
      if (grown == nullptr) throw std::bad_alloc();
      static_cast<void>(data_.release());
      data_.reset(static_cast<WordId*>(grown));
      capacity_ = capacity;
    }
    struct Free {
      void operator()(WordId* p) const noexcept { std::free(p); }
    };
    std::unique_ptr<WordId[], Free> data_;
    std::size_t size_ = 0, capacity_ = 0;
  };

  struct Memory {
    Ids ids;
    std::vector<std::uint64_t> ends;
  };

  EncodedCorpus(const std::shared_ptr<const Memory>& memory, std::uint64_t fingerprint)
      : view_{memory->ids.span(), memory->ends, memory}, fingerprint_(fingerprint) {}

  EncodedCorpus(detail::CorpusFile file, std::uint64_t fingerprint) : fingerprint_(fingerprint) {
    const auto owner = std::make_shared<const detail::CorpusFile>(std::move(file));
    view_ = {owner->ids, owner->ends, owner};
  }

  static EncodedCorpus in_memory(const std::filesystem::path& path, const Vocabulary& vocabulary,
                                 const CorpusOptions& options) {
    auto memory = std::make_shared<Memory>();
    memory->ends = detail::encode_in_order(
        path, vocabulary, options, [&](std::span<const WordId> ids) { memory->ids.append(ids); });
    memory->ids.shrink();
    memory->ends.shrink_to_fit();
    return EncodedCorpus(std::move(memory), vocabulary.fingerprint());
  }

  static EncodedCorpus in_file(const std::filesystem::path& path, const Vocabulary& vocabulary,
                               const CorpusOptions& options) {
    const auto source = detail::CorpusSource::of(path, vocabulary.fingerprint(),
                                                 options.max_sentence_length, options.part);
    if (auto file = detail::CorpusFile::open(options.cache, source))
      return EncodedCorpus(std::move(*file), vocabulary.fingerprint());
    detail::CorpusFileWriter writer(options.cache);
    const auto ends = detail::encode_in_order(
        path, vocabulary, options, [&](std::span<const WordId> ids) { writer.add(ids); });
    writer.finish(source, ends);
    auto file = detail::CorpusFile::open(options.cache, source);
    if (!file) throw IoError("'" + options.cache.string() + "' changed while it was written");
    return EncodedCorpus(std::move(*file), vocabulary.fingerprint());
  }

  /// Returns the first sentence that begins at `token` or later.
  std::size_t sentence_at(std::uint64_t token) const noexcept {
    if (token == 0) return 0;
    return static_cast<std::size_t>(std::lower_bound(view_.ends.begin(), view_.ends.end(), token) -
                                    view_.ends.begin()) +
           1;
  }

  View view_;
  std::uint64_t fingerprint_ = 0;
};

static_assert(Corpus<EncodedCorpus>);

}  // namespace wordloom
