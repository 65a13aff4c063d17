#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/detail/hash.hpp>
#include <wordloom/core/detail/input_file.hpp>
#include <wordloom/core/detail/text_fields.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/files.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/corpus/detail/sentences_in_memory.hpp>
#include <wordloom/corpus/detail/unicode_spaces.hpp>
#include <wordloom/corpus/text_pieces.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// The choice of the words that a vocabulary keeps.
struct VocabularyOptions {
  /// Rarer words are dropped; 0 and 1 keep all.
  std::uint64_t min_count = 5;
  /// Maximum number of words; the most frequent are kept. 0: no limit.
  std::size_t max_size = 0;
  /// Threads that count, up to 65536; 0 = all processors of the machine.
  std::size_t threads = 0;
  /// Called before each piece of a text is counted, never by two threads at once. An exception that
  /// it throws ends the counting and reaches the caller.
  std::function<void()> before_piece = {};
  /// True if Unicode's spaces, such as U+00A0 and U+3000, separate words too. Use the same for the
  /// corpus.
  bool unicode_spaces = false;
};

namespace detail {

/// Counts words. Not thread-safe: each thread uses its own counter, and `merge` adds them up.
class WordCounter {
 public:
  /// Returns how many different words were seen before `word`. Throws InvalidArgument for more than
  /// 2^32 - 2 different words and if its counts add up to more than 2^64 - 1.
  WordId count(std::string_view word, std::uint64_t count = 1);

  /// Returns whether the word is new. Throws as `count`.
  bool add(std::string_view word, std::uint64_t count = 1) {
    const std::size_t before = size();
    return this->count(word, count) == before;
  }

  /// Adds the counts of `other`, which is empty afterwards.
  void merge(WordCounter& other) {
    if (size() == 0) std::swap(*this, other);
    other.for_each([this](std::string_view word, std::uint64_t count) { add(word, count); });
    other = {};
  }

  /// Returns the number of different words.
  std::size_t size() const noexcept { return counts_.size(); }
  /// Returns how many different words were seen before `word`, which was added.
  std::size_t index_of(std::string_view word) const { return words_.at(word); }

  /// Calls `use(word, count)` for each word, in the order of their first occurrences; the views are
  /// valid until the next `add`.
  template <class Use>
  void for_each(Use&& use) const {
    for (std::size_t i = 0; i < size(); ++i) use(words_[i], counts_[i]);
  }

 private:
  WordList words_;
  std::vector<std::uint64_t> counts_;
};

/// Counts the words of a part of a text with all threads. Memory: the words, and for each thread
/// some 10 MB.
WordCounter count_words(const std::filesystem::path& path, const VocabularyOptions& options,
                        TextPart part = {});

}  // namespace detail

/// Words and their counts by descending count, then in order of their bytes: id 0 is the most
/// frequent word. Immutable; copies share the words and are cheap; all members are thread-safe.
/// There is no end-of-sentence word (word2vec.c counts each newline as `</s>`): a sentence ends
/// with its line. References, spans and views that members return are valid as long as any copy.
/// These members cannot be called on a temporary. A moved-from object may only be assigned to or
/// destroyed.
class Vocabulary {
 public:
  Vocabulary() : store_(std::make_shared<const Store>()) {}

  /// Counts the words of a text file, plain or .gz. The number of threads does not change the
  /// result. Throws IoError, FormatError for a damaged .gz, and CorpusError if no word is left.
  [[nodiscard]] static Vocabulary from_text(const std::filesystem::path& path,
                                            const VocabularyOptions& options = {}) {
    return from_counter(detail::count_words(path, options), options, path);
  }

  /// Counts the words of sentences in memory, with one thread. Words may hold white space. If the
  /// sentences can be read only once, see EncodedCorpus::encode. Throws InvalidArgument for a word
  /// that is empty, and CorpusError when no word is left.
  template <SentencesOfWords Sentences>
  [[nodiscard]] static Vocabulary from_sentences(Sentences&& sentences,
                                                 const VocabularyOptions& options = {}) {
    detail::WordCounter counter;
    detail::read_sentences(
        sentences, [&](std::string_view word) { counter.count(word); }, [] {});
    return from_counter(counter, options, "the sentences");
  }

  /// Makes a vocabulary of words and counts in any order. Words may hold white space. Throws
  /// InvalidArgument for a word that is a duplicate, is empty or has a count of 0, and for counts
  /// that add up to more than 2^64 - 1; CorpusError when no word is left.
  [[nodiscard]] static Vocabulary from_counts(
      std::span<const std::pair<std::string, std::uint64_t>> counts,
      const VocabularyOptions& options = {.min_count = 1});

  /// Makes a vocabulary of counted words. Throws CorpusError, which names their `source`, if no
  /// word is left, and InvalidArgument if their counts add up to more than 2^64 - 1.
  static Vocabulary from_counter(const detail::WordCounter& counter,
                                 const VocabularyOptions& options,
                                 const detail::MessagePart& source);

  /// Reads `word count` lines in any order, as `save`, word2vec's -save-vocab, GloVe's vocab_count
  /// and gensim's fvocab write them, plain or .gz, or the `word count type` lines of fastText's
  /// dump, except those of labels. A word may contain blanks, because the last field is the count;
  /// blanks around it do not belong to it. The end of a sentence, `</s>`, is not a word here: it is
  /// left out in the first line, where word2vec writes it, and anywhere in fastText's dump. Throws
  /// IoError, FormatError with the line, CorpusError if no word is left.
  [[nodiscard]] static Vocabulary load(const std::filesystem::path& path,
                                       const VocabularyOptions& options = {.min_count = 1});

  /// Throws InvalidArgument for a word that `save` cannot write: one that contains a newline, or a
  /// carriage return after a digit, or begins or ends with a blank or tab. Programs call this
  /// before they train.
  void check_words() const { first_line(); }

  /// Writes a `word count` line for each word, by id. If the first word would be read as something
  /// else in the first line (`</s>`, a byte order mark), it follows another word. Throws IoError,
  /// and as `check_words`; all or nothing is written.
  void save(const std::filesystem::path& path) const {
    AtomicFile file(path);
    write(file);
    file.commit();
  }

  /// Writes the lines of `save` into a file that is already open; does not commit.
  void write(AtomicFile& file) const;

  std::size_t size() const noexcept { return store_->counts.size(); }
  bool empty() const noexcept { return size() == 0; }
  const WordList& words() const& noexcept { return store_->words; }
  void words() const&& = delete;
  std::string_view word(WordId id) const& noexcept { return store_->words[id]; }
  void word(WordId id) const&& = delete;
  std::uint64_t count(WordId id) const noexcept { return store_->counts[id]; }
  /// The counts [size()] by id.
  std::span<const std::uint64_t> counts() const& noexcept { return store_->counts; }
  void counts() const&& = delete;
  std::optional<WordId> find(std::string_view word) const noexcept {
    return store_->words.find(word);
  }
  /// Returns the sum of all counts: the in-vocabulary words of the text.
  std::uint64_t total_count() const noexcept { return store_->total; }
  /// Returns the sum of the counts of all words that were counted or listed, those that the options
  /// left out included. Ranks that count together know only the words that are frequent enough.
  std::uint64_t words_read() const noexcept { return store_->read; }
  /// Returns a hash of words and counts, which identifies a vocabulary and is equal on all
  /// machines.
  std::uint64_t fingerprint() const noexcept { return store_->fingerprint; }

  /// Returns the error for a text with `types` different words, of which no word is left.
  static CorpusError none_left(std::size_t types, const VocabularyOptions& options,
                               const detail::MessagePart& source) {
    if (types == 0) return CorpusError{source, ": no words"};
    return CorpusError{
        source, ": none of its ", types, " words occurs min_count = ", options.min_count, " times"};
  }

 private:
  struct Store {
    WordList words;
    std::vector<std::uint64_t> counts;
    std::uint64_t total = 0, read = 0;
    std::uint64_t fingerprint = 0;
  };

  /// Returns the word for the first line of a file. Throws as check_words.
  WordId first_line() const;

  std::shared_ptr<const Store> store_;
};

}}  // namespace wordloom::WORDLOOM_ABI

#if WORDLOOM_DEFINES_FUNCTIONS
#include <wordloom/corpus/detail/vocabulary.inl>
#endif
