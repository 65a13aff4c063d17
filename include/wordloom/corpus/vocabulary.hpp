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

#include <wordloom/core/error.hpp>
#include <wordloom/core/files.hpp>
#include <wordloom/core/hash.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/corpus/text_pieces.hpp>
#include <wordloom/corpus/unicode_spaces.hpp>

namespace wordloom::inline WORDLOOM_ABI {

/// Which words a vocabulary keeps.
struct VocabularyOptions {
  /// Rarer words are dropped; 0 and 1 keep all.
  std::uint64_t min_count = 5;
  /// Maximum number of words, of which the most frequent are kept; 0: no limit.
  std::size_t max_size = 0;
  /// Threads that count, up to 65536; 0 = all that the machine offers.
  std::size_t threads = 0;
  /// Called before each piece of a text is counted, by one thread at a time; what it throws ends
  /// the counting and reaches the caller.
  std::function<void()> before_piece = {};
  /// Whether Unicode's spaces, such as U+00A0 and U+3000, separate words too. Use the same for the
  /// corpus.
  bool unicode_spaces = false;
};

namespace detail {

/// Counts words. Not thread-safe: each thread counts into its own, and `merge` adds them up.
class WordCounter {
 public:
  /// Returns whether the word is new. Throws InvalidArgument past 2^32 - 2 different words and when
  /// its counts add up to more than 2^64 - 1.
  bool add(std::string_view word, std::uint64_t count = 1) {
    const WordId id = words_.insert(word);
    const bool is_new = id == counts_.size();
    if (is_new) counts_.push_back(0);
    if (__builtin_add_overflow(counts_[id], count, &counts_[id]))
      throw InvalidArgument{"the counts of the word '", word, "' add up to more than 2^64 - 1"};
    return is_new;
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

  /// Calls `use(word, count)` for each word, first seen first; the views are valid until the next
  /// `add`.
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

/// Returns the error for a word that a text cannot have: "sentences[7]: the word 'a b' holds white
/// space".
inline InvalidArgument not_a_word(std::string_view word, const char* where, std::size_t index) {
  if (word.empty()) return InvalidArgument{where, "[", index, "]: a word is empty"};
  return InvalidArgument{where, "[", index, "]: the word ", shown(word), " holds white space"};
}

}  // namespace detail

/// Words and their counts by falling count, then in order of their bytes: id 0 is the most frequent
/// word. Immutable; copies share the words and are cheap; all members are thread-safe. There is no
/// end-of-sentence word (word2vec.c counts each newline as `</s>`): a sentence ends with its line.
/// References, spans and views that members return are valid as long as any copy; a temporary does
/// not give them out. A moved-from object may only be assigned to or destroyed.
class Vocabulary {
 public:
  Vocabulary() : store_(std::make_shared<const Store>()) {}

  /// Counts the words of a text file, plain or .gz. Throws IoError, FormatError for a damaged .gz,
  /// and CorpusError when no word is left. The same for any number of threads.
  [[nodiscard]] static Vocabulary from_text(const std::filesystem::path& path,
                                            const VocabularyOptions& options = {}) {
    return from_counter(detail::count_words(path, options), options, path);
  }

  /// Counts the words of sentences in memory, with one thread. Throws InvalidArgument for a word
  /// that is empty or holds white space, and CorpusError when no word is left.
  template <SentencesOfWords Sentences>
  [[nodiscard]] static Vocabulary from_sentences(Sentences&& sentences,
                                                 const VocabularyOptions& options = {}) {
    detail::WordCounter counter;
    std::size_t number = 0;
    for (auto&& sentence : sentences) {
      for (auto&& word : sentence)
        if (const std::string_view text = word; counter.add(text) && !is_word(text))
          throw detail::not_a_word(text, "sentences", number);
      ++number;
    }
    return from_counter(counter, options, "the sentences");
  }

  /// Makes a vocabulary of words and counts in any order. Throws InvalidArgument for a word that is
  /// a duplicate, is empty, holds white space or has a count of 0, and for counts that add up to
  /// more than 2^64 - 1; CorpusError when no word is left.
  [[nodiscard]] static Vocabulary from_counts(
      std::span<const std::pair<std::string, std::uint64_t>> counts,
      const VocabularyOptions& options = {.min_count = 1});

  /// Makes a vocabulary of counted words. Throws CorpusError, which names their `source`, when no
  /// word is left, and InvalidArgument when their counts add up to more than 2^64 - 1.
  static Vocabulary from_counter(const detail::WordCounter& counter,
                                 const VocabularyOptions& options,
                                 const std::filesystem::path& source);

  /// Reads `word count` lines in any order, as `save` and word2vec's -save-vocab write them. Throws
  /// IoError, FormatError with the line, CorpusError when no word is left.
  [[nodiscard]] static Vocabulary load(const std::filesystem::path& path,
                                       const VocabularyOptions& options = {.min_count = 1});

  /// Writes a `word count` line for each word, by id. Throws IoError; all or nothing is written.
  void save(const std::filesystem::path& path) const {
    AtomicFile file(path);
    write(file);
    file.commit();
  }

  /// Writes the same into a file that is already open; does not commit.
  void write(AtomicFile& file) const;

  std::size_t size() const noexcept { return store_->counts.size(); }
  bool empty() const noexcept { return size() == 0; }
  const WordList& words() const& noexcept { return store_->words; }
  void words() const&& = delete;
  std::string_view word(WordId id) const& noexcept { return store_->words[id]; }
  void word(WordId id) const&& = delete;
  std::uint64_t count(WordId id) const noexcept { return store_->counts[id]; }
  /// [size()] by id.
  std::span<const std::uint64_t> counts() const& noexcept { return store_->counts; }
  void counts() const&& = delete;
  std::optional<WordId> find(std::string_view word) const noexcept {
    return store_->words.find(word);
  }
  /// The sum of all counts: the in-vocabulary words of the text.
  std::uint64_t total_count() const noexcept { return store_->total; }
  /// A hash of words and counts, to tell vocabularies apart; the same on every machine.
  std::uint64_t fingerprint() const noexcept { return store_->fingerprint; }

  /// Returns the error for a text of whose `types` different words none is left.
  static CorpusError none_left(std::size_t types, const VocabularyOptions& options,
                               const std::filesystem::path& source) {
    if (types == 0) return CorpusError{source, ": no words"};
    return CorpusError{source, ": none of its ", types, " words occurs min_count = ",
                       options.min_count, " times"};
  }

 private:
  struct Store {
    WordList words;
    std::vector<std::uint64_t> counts;
    std::uint64_t total = 0;
    std::uint64_t fingerprint = 0;
  };

  std::shared_ptr<const Store> store_;
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION detail::WordCounter detail::count_words(const std::filesystem::path& path,
                                                          const VocabularyOptions& options,
                                                          TextPart part) {
  constexpr std::size_t max_types = std::size_t{1} << 17;  // of a thread
  TextPieces pieces(path, TextPieces::default_piece_bytes, part, options.before_piece);
  WordCounter all;
  std::mutex guard;
  run_threads(pieces.threads(options.threads), [&](std::size_t) {
    WordCounter own;
    while (const auto piece = pieces.next()) {
      for_each_word(
          piece->text, options.unicode_spaces, [&](std::string_view word) { own.add(word); },
          [] {});
      if (own.size() < max_types) continue;
      const std::lock_guard lock(guard);
      all.merge(own);
    }
    const std::lock_guard lock(guard);
    all.merge(own);
  });
  return all;
}

WORDLOOM_FUNCTION Vocabulary
Vocabulary::from_counts(std::span<const std::pair<std::string, std::uint64_t>> counts,
                        const VocabularyOptions& options) {
  detail::WordCounter counter;
  for (const auto& [word, count] : counts) {
    if (!is_word(word)) throw detail::not_a_word(word, "counts", counter.size());
    if (count == 0) throw InvalidArgument{"the word '", word, "' has a count of 0"};
    if (!counter.add(word, count)) throw InvalidArgument{"duplicate word '", word, "'"};
  }
  return from_counter(counter, options, "the list of counts");
}

WORDLOOM_FUNCTION Vocabulary Vocabulary::from_counter(const detail::WordCounter& counter,
                                                      const VocabularyOptions& options,
                                                      const std::filesystem::path& source) {
  std::vector<std::pair<std::string_view, std::uint64_t>> counted;
  counted.reserve(counter.size());
  counter.for_each([&](std::string_view word, std::uint64_t count) {
    if (count >= options.min_count) counted.emplace_back(word, count);
  });
  if (counted.empty()) throw none_left(counter.size(), options, source);
  std::sort(counted.begin(), counted.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  if (options.max_size != 0 && counted.size() > options.max_size) counted.resize(options.max_size);

  auto store = std::make_shared<Store>();
  WordList words;
  detail::Hash hash;
  store->counts.reserve(counted.size());
  for (const auto& [word, count] : counted) {
    words.append(word);
    store->counts.push_back(count);
    if (__builtin_add_overflow(store->total, count, &store->total))
      throw InvalidArgument{source, ": the counts add up to more than 2^64 - 1"};
    hash.add(word);
    hash.add(count);
  }
  store->fingerprint = hash.value();
  store->words = std::move(words);
  Vocabulary result;
  result.store_ = std::move(store);
  return result;
}

WORDLOOM_FUNCTION Vocabulary Vocabulary::load(const std::filesystem::path& path,
                                              const VocabularyOptions& options) {
  const MappedFile file(path);
  detail::WordCounter counter;
  std::uint64_t total = 0;
  for_each_line(file.text(), [&](std::string_view line, std::uint64_t number) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t space = std::min(line.find_first_of(" \t"), line.size());
    const auto word = line.substr(0, space);
    const auto count = number_in<std::uint64_t>(line.substr(std::min(space + 1, line.size())));
    if (!is_word(word) || !count || *count == 0)
      throw FormatError::at(path, "line", number, "a word, a space and a count above 0",
                            line.empty() ? "an empty line" : detail::shown(line));
    if (__builtin_add_overflow(total, *count, &total))
      throw FormatError::at(path, "line", number, "counts that add up to less than 2^64",
                            detail::shown(line));
    if (!counter.add(word, *count))
      throw FormatError::at(
          path, "line", number, "each word once",
          detail::joined({detail::shown(word), " as in line ", counter.index_of(word) + 1}));
  });
  return from_counter(counter, options, path);
}

WORDLOOM_FUNCTION void Vocabulary::write(AtomicFile& file) const {
  std::string line;
  for (std::size_t i = 0; i < size(); ++i) {
    line.assign(store_->words[i]).append(1, ' ').append(std::to_string(store_->counts[i]));
    file.write(line.append(1, '\n'));
  }
}

#endif

}  // namespace wordloom::inline WORDLOOM_ABI
