#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/detail/hash.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/detail/corpus_file.hpp>
#include <wordloom/corpus/detail/encoded_memory.hpp>
#include <wordloom/corpus/detail/sentences_in_memory.hpp>
#include <wordloom/corpus/detail/turns.hpp>
#include <wordloom/corpus/text_corpus.hpp>
#include <wordloom/corpus/text_pieces.hpp>
#include <wordloom/corpus/vocabulary.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// A text as word ids: 4 bytes for each in-vocabulary word and 8 for each sentence, in memory or in
/// a mapped file. Immutable; copies share the ids; all members are thread-safe.
class EncodedCorpus {
 public:
  /// Encodes a text file, plain or .gz, with all threads. With `options.cache` the result is kept
  /// in that file. An existing file is used as it is if it was made from the same text, vocabulary
  /// and options; another encoded corpus is replaced, any other file is refused. Throws IoError,
  /// FormatError (damaged .gz, a cache that is not an encoded corpus), InvalidArgument, and
  /// CorpusError if the whole text has no word of the vocabulary.
  [[nodiscard]] static EncodedCorpus from_text(const std::filesystem::path& path,
                                               const Vocabulary& vocabulary,
                                               const CorpusOptions& options = {}) {
    options.validate();
    EncodedCorpus corpus(encoded(path, vocabulary, options), vocabulary);
    if (corpus.token_count() == 0 && options.part.count == 1)
      throw CorpusError::no_known_word(path, corpus.words_read());
    return corpus;
  }

  /// Counts and encodes sentences in one pass with one thread, for ranges that can be read only
  /// once: `auto [vocabulary, corpus] = EncodedCorpus::encode(sentences, {.min_count = 5})`. Both
  /// are those of Vocabulary::from_sentences and from_sentences. Memory until it returns, besides
  /// all different words: 4 bytes for each word, known or not, and 12 for each sentence. Words may
  /// hold white space. `counting.threads` and `before_piece`, and all of `options` but
  /// max_sentence_length, have no effect. Throws as those functions, and what the range throws.
  template <SentencesOfWords Sentences>
  [[nodiscard]] static std::pair<Vocabulary, EncodedCorpus> encode(
      Sentences&& sentences, const VocabularyOptions& counting = {},
      const CorpusOptions& options = {}) {
    return counted(sentences, counting, options);
  }

  /// Counts and encodes sentences of a host's own ids, such as std::vector<std::vector<long>>: any
  /// integers from 0 to 2^63 - 1, with gaps of any size. The id 42 is the word "42", and words are
  /// numbered by falling count as ever: `words.vector(std::to_string(42))`, or row 42 of
  /// `words.by_id()`. Throws as `encode`, and InvalidArgument with the place of an id out of
  /// bounds: "sentences[7][2]: the id is -1, ...".
  template <detail::SentencesOfIds Sentences>
  [[nodiscard]] static std::pair<Vocabulary, EncodedCorpus> from_ids(
      Sentences&& sentences, const VocabularyOptions& counting = {},
      const CorpusOptions& options = {}) {
    return counted(sentences, counting, options);
  }
  /// Encodes sentences of a host's own ids by a vocabulary of `from_ids`, as from_sentences does.
  template <detail::SentencesOfIds Sentences>
  [[nodiscard]] static EncodedCorpus from_ids(Sentences&& sentences, const Vocabulary& vocabulary,
                                              const CorpusOptions& options = {}) {
    return known(sentences, vocabulary, options);
  }

  /// Encodes sentences in memory with one thread: unknown words are left out, and a sentence of
  /// more than `options.max_sentence_length` known words is split. The other options have no
  /// effect. Throws InvalidArgument for a word that is empty, and CorpusError if no word is in the
  /// vocabulary.
  template <SentencesOfWords Words>
  [[nodiscard]] static EncodedCorpus from_sentences(Words&& sentences, const Vocabulary& vocabulary,
                                                    const CorpusOptions& options = {}) {
    return known(sentences, vocabulary, options);
  }

  /// Makes a corpus of sentences of ids; empty ones are left out. Throws InvalidArgument for an id
  /// that is not in the vocabulary.
  [[nodiscard]] static EncodedCorpus from_sentences(std::span<const std::vector<WordId>> sentences,
                                                    const Vocabulary& vocabulary);

  static constexpr bool repeats = true, holds_sentences = true;
  std::uint64_t token_count() const noexcept { return text_.ids.size(); }
  /// Returns the number of words of the text, unknown ones included.
  std::uint64_t words_read() const noexcept { return text_.words_read; }
  std::size_t sentence_count() const noexcept { return text_.ends.size(); }
  /// Returns a view that is valid as long as any copy of this corpus lives; i < sentence_count().
  std::span<const WordId> sentence(std::size_t i) const& noexcept {
    const std::uint64_t begin = i == 0 ? 0 : text_.ends[i - 1];
    return text_.ids.subspan(begin, text_.ends[i] - begin);
  }
  void sentence(std::size_t i) const&& = delete;
  std::uint64_t vocabulary_fingerprint() const noexcept { return fingerprint_; }
  /// Returns a hash of all sentences. Reads every word (some GB/s).
  std::uint64_t fingerprint() const noexcept {
    detail::Hash hash;
    hash.add(text_.ids.data(), text_.ids.size_bytes());
    hash.add(text_.ends.data(), text_.ends.size_bytes());
    return hash.value();
  }

  /// Returns consecutive sentences. All shards have nearly the same number of tokens.
  auto sentences(const Shard& shard) const {
    const auto [begin, end] = shard.part_of(token_count());
    return SentenceRange([corpus = *this, first = sentence_at(begin), last = sentence_at(end)] {
      return [corpus, i = first, last]() mutable -> detail::NextSentence {
        if (i == last) return std::nullopt;
        return corpus.sentence(i++);
      };
    });
  }

 private:
  using Memory = detail::EncodedMemory;

  EncodedCorpus(detail::EncodedText text, const Vocabulary& vocabulary)
      : text_(std::move(text)), fingerprint_(vocabulary.fingerprint()) {}

  template <class Sentences>
  static std::pair<Vocabulary, EncodedCorpus> counted(Sentences& sentences,
                                                      const VocabularyOptions& counting,
                                                      const CorpusOptions& options) {
    options.validate();
    const auto memory = std::make_shared<Memory>();
    detail::WordCounter counter;
    detail::read_sentences(
        sentences, [&](std::string_view word) { memory->ids.push_back(counter.count(word)); },
        [&] { memory->ids.push_back(detail::end_of_line); });
    return renumbered(memory, std::move(counter), counting, options);
  }

  /// Makes the vocabulary and replaces the numbers of the counter by its ids.
  static std::pair<Vocabulary, EncodedCorpus> renumbered(const std::shared_ptr<Memory>& memory,
                                                         detail::WordCounter counter,
                                                         const VocabularyOptions& counting,
                                                         const CorpusOptions& options);

  template <class Sentences>
  static EncodedCorpus known(Sentences& sentences, const Vocabulary& vocabulary,
                             const CorpusOptions& options) {
    options.validate();
    const auto memory = std::make_shared<Memory>();
    std::uint64_t words_read = 0;
    detail::read_sentences(
        sentences,
        [&](std::string_view word) {
          ++words_read;
          if (const auto id = vocabulary.find(word)) memory->ids.push_back(*id);
        },
        [&] { memory->ids.push_back(detail::end_of_line); });
    if (words_read == 0)
      throw CorpusError(
          "the sentences: no words (if they can be read only once: EncodedCorpus::encode)");
    memory->split(options.max_sentence_length);
    if (memory->ends.empty()) throw CorpusError::no_known_word("the sentences", words_read);
    return EncodedCorpus(Memory::text(memory, words_read), vocabulary);
  }

  static detail::EncodedText encoded(const std::filesystem::path& path,
                                     const Vocabulary& vocabulary, const CorpusOptions& options);

  /// Encodes a text with all threads and calls `append(ids)` with its in-vocabulary words, in
  /// order. Returns the ends of the sentences, in words from the start, which do not depend on the
  /// number of threads, and adds the number of all words to `words_read`. Throws what TextPieces
  /// and `append` throw.
  template <class Append>
  static std::vector<std::uint64_t> encode_text(const std::filesystem::path& path,
                                                const Vocabulary& vocabulary,
                                                const CorpusOptions& options, const Append& append,
                                                std::uint64_t& words_read) {
    detail::TextPieces pieces(path, options.piece_bytes, options.part, options.before_piece);
    detail::SentenceSplitter splitter(options.max_sentence_length);
    std::vector<std::uint64_t> ends;
    std::uint64_t tokens = 0;  // of the pieces before
    detail::Turns turns;
    detail::run_threads(pieces.threads(options.threads), [&](std::size_t) {
      std::vector<WordId> ids, words;
      try {
        while (auto piece = pieces.next()) {
          ids.clear();
          const auto read = detail::encode(piece->text, vocabulary, options, ids);
          piece->memory.reset();
          const bool goes_on = turns.take(piece->index, [&] {
            words_read += read;
            words.clear();
            std::span<const WordId> rest = ids;
            while (splitter.next(rest, words)) ends.push_back(tokens + words.size());
            tokens += words.size();
            if (!pieces.is_contiguous() && splitter.end_sentence()) ends.push_back(tokens);
            append(words);
          });
          if (!goes_on) return;
        }
      } catch (...) {
        turns.fail();
        throw;
      }
    });
    if (splitter.end_sentence()) ends.push_back(tokens);
    return ends;
  }

  /// Returns the first sentence that begins at `token` or later.
  std::size_t sentence_at(std::uint64_t token) const noexcept {
    const auto& ends = text_.ends;
    const auto before = std::lower_bound(ends.begin(), ends.end(), token) - ends.begin();
    return token == 0 ? 0 : static_cast<std::size_t>(before) + 1;
  }

  detail::EncodedText text_;
  std::uint64_t fingerprint_;
};

static_assert(Corpus<EncodedCorpus>);

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION detail::EncodedText EncodedCorpus::encoded(const std::filesystem::path& path,
                                                             const Vocabulary& vocabulary,
                                                             const CorpusOptions& options) {
  std::uint64_t words_read = 0;
  if (!options.cache.empty()) {
    // The highest bits of the length, which no text reaches, encode how words and sentences end.
    const std::uint64_t splitting = std::uint64_t{options.max_sentence_length} ^
                                    (std::uint64_t{options.unicode_spaces} << 63) ^
                                    (std::uint64_t{options.join_lines} << 62);
    const auto source =
        detail::CorpusSource::of(path, vocabulary.fingerprint(), splitting, options.part);
    if (auto text = detail::open_corpus_file(options.cache, source)) return *text;
    detail::HashedWriter file(options.cache);
    file.array(detail::corpus_magic);
    const auto append = [&](std::span<const WordId> ids) { file.array(ids); };
    const auto ends = encode_text(path, vocabulary, options, append, words_read);
    detail::finish_corpus_file(file, source, ends, words_read);
    if (auto text = detail::open_corpus_file(options.cache, source)) return *text;
    // Another process has put its own corpus there in the meantime.
    words_read = 0;
  }
  const auto memory = std::make_shared<Memory>();
  const auto append = [&](std::span<const WordId> ids) { memory->ids.append(ids); };
  memory->ends = encode_text(path, vocabulary, options, append, words_read);
  return Memory::text(memory, words_read);
}

WORDLOOM_FUNCTION EncodedCorpus EncodedCorpus::from_sentences(
    std::span<const std::vector<WordId>> sentences, const Vocabulary& vocabulary) {
  const auto memory = std::make_shared<Memory>();
  for (const auto& sentence : sentences) {
    for (const WordId id : sentence)
      if (id >= vocabulary.size())
        throw InvalidArgument{"word id ", id, " in a vocabulary of ", vocabulary.size(), " words"};
    if (sentence.empty()) continue;
    memory->ids.append(sentence);
    memory->ends.push_back(memory->ids.size());
  }
  return EncodedCorpus(Memory::text(memory, memory->ids.size()), vocabulary);
}

WORDLOOM_FUNCTION std::pair<Vocabulary, EncodedCorpus> EncodedCorpus::renumbered(
    const std::shared_ptr<Memory>& memory, detail::WordCounter counter,
    const VocabularyOptions& counting, const CorpusOptions& options) {
  const Vocabulary vocabulary = Vocabulary::from_counter(counter, counting, "the sentences");
  std::vector<WordId> id_of;
  id_of.reserve(counter.size());
  counter.for_each([&](std::string_view word, std::uint64_t) {
    id_of.push_back(vocabulary.find(word).value_or(detail::end_of_line));
  });
  counter = {};
  memory->split(options.max_sentence_length, id_of);
  return {vocabulary, EncodedCorpus(Memory::text(memory, vocabulary.words_read()), vocabulary)};
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
