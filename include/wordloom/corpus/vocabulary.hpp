#pragma once
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/atomic_file.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/hash.hpp>
#include <wordloom/core/mapped_file.hpp>
#include <wordloom/core/text.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/core/word_list.hpp>
#include <wordloom/corpus/word_counter.hpp>

namespace wordloom {

/// Which words a vocabulary keeps.
struct VocabularyOptions {
  /// Rarer words are dropped; 0 and 1 keep all.
  std::uint64_t min_count = 5;
  /// At most so many words, the most frequent; 0 = no limit.
  std::size_t max_size = 0;
  /// Threads that count; 0 = all that the machine offers.
  std::size_t threads = 0;
};

namespace detail {

/// Returns the error for a word that a text cannot have: "sentences[7]: the word 'a b' holds white
/// space".
inline InvalidArgument not_a_word(std::string_view word, const char* where, std::size_t index) {
  return InvalidArgument(
      std::string(where) + "[" + std::to_string(index) +
      (word.empty() ? "]: a word is empty" : "]: the word " + shown(word) + " holds white space"));
}

}  // namespace detail

/// Words and their counts by falling count, then in order of their bytes: id 0 is the most frequent
/// word. Immutable; copies share the words and are cheap; all members are thread-safe. There is no
/// end-of-sentence word (word2vec.c counts each newline as </s>): a sentence ends at its line's
/// end.
class Vocabulary {
 public:
  using Counted = std::pair<std::string_view, std::uint64_t>;

  /// Makes an empty vocabulary.
  Vocabulary() : store_(std::make_shared<const Store>()) {}

  /// Counts the words of a text file, plain or .gz. Throws IoError, FormatError for a damaged .gz,
  /// and CorpusError when no word is left. The same for any number of threads.
  static Vocabulary from_text(const std::filesystem::path& path,
                              const VocabularyOptions& options = {}) {
    return from_counter(detail::count_words(path, options.threads), options, path);
  }

  /// Counts the words of sentences in memory, with one thread. Throws InvalidArgument for a word
  /// that is empty or holds white space, and CorpusError when no word is left.
  template <SentencesOfWords Sentences>
  static Vocabulary from_sentences(Sentences&& sentences, const VocabularyOptions& options = {}) {
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
  /// a duplicate, is empty, holds white space or has a count of 0; CorpusError when no word is
  /// left.
  static Vocabulary from_counts(std::span<const std::pair<std::string, std::uint64_t>> counts,
                                const VocabularyOptions& options = {.min_count = 1}) {
    std::vector<Counted> counted;
    counted.reserve(counts.size());
    WordList::Builder seen;
    for (const auto& [word, count] : counts) {
      if (!is_word(word)) throw detail::not_a_word(word, "counts", counted.size());
      if (count == 0) throw InvalidArgument("the word '" + word + "' has a count of 0");
      if (!seen.add(word)) throw InvalidArgument("duplicate word '" + word + "'");
      counted.emplace_back(word, count);
    }
    return select(std::move(counted), options, "the list of counts");
  }

  /// Reads `word count` lines in any order, as `save` and word2vec's -save-vocab write them. Throws
  /// IoError, FormatError with the line, CorpusError when no word is left.
  static Vocabulary load(const std::filesystem::path& path,
                         const VocabularyOptions& options = {.min_count = 1}) {
    const MappedFile file(path);
    std::vector<Counted> counted;
    WordList::Builder seen;
    std::string_view rest = file.text();
    for (std::uint64_t line = 1; !rest.empty(); ++line) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      counted.push_back(parse_line(path, line, rest.substr(0, end)));
      if (const auto word = counted.back().first; !seen.add(word))
        throw FormatError::at_line(
            path, line, "each word once",
            detail::shown(word) + " as in line " + std::to_string(*seen.find(word) + 1));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return select(std::move(counted), options, path);
  }

  /// Writes a `word count` line for each word, by id. Throws IoError; all or nothing is written.
  void save(const std::filesystem::path& path) const {
    AtomicFile file(path);
    write(file);
    file.commit();
  }

  /// Writes the same into a file that is already open; does not commit.
  void write(AtomicFile& file) const {
    std::string line;
    for (std::size_t i = 0; i < size(); ++i) {
      line.assign(store_->words[i]).append(1, ' ').append(std::to_string(store_->counts[i]));
      file.write(line.append(1, '\n'));
    }
  }

  std::size_t size() const noexcept { return store_->counts.size(); }
  bool empty() const noexcept { return size() == 0; }
  const WordList& words() const noexcept { return store_->words; }
  std::string_view word(WordId id) const noexcept { return store_->words[id]; }
  std::uint64_t count(WordId id) const noexcept { return store_->counts[id]; }
  /// [size()] by id.
  std::span<const std::uint64_t> counts() const noexcept { return store_->counts; }
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
    if (types == 0) return CorpusError(source.string() + ": no words");
    return CorpusError(source.string() + ": none of its " + std::to_string(types) +
                       " words occurs min_count = " + std::to_string(options.min_count) + " times");
  }

 private:
  struct Store {
    WordList words;
    std::vector<std::uint64_t> counts;
    std::uint64_t total = 0;
    std::uint64_t fingerprint = 0;
  };

  static bool before(const Counted& a, const Counted& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  }

  static Vocabulary from_counter(const detail::WordCounter& counter,
                                 const VocabularyOptions& options,
                                 const std::filesystem::path& source) {
    std::vector<Counted> counted;
    counted.reserve(counter.size());
    counter.for_each(
        [&](std::string_view word, std::uint64_t count) { counted.emplace_back(word, count); });
    return select(std::move(counted), options, source);
  }

  static Vocabulary select(std::vector<Counted> counted, const VocabularyOptions& options,
                           const std::filesystem::path& source) {
    const std::size_t types = counted.size();
    std::erase_if(counted, [&](const Counted& c) { return c.second < options.min_count; });
    if (counted.empty()) throw none_left(types, options, source);
    std::sort(counted.begin(), counted.end(), before);
    if (options.max_size != 0 && counted.size() > options.max_size)
      counted.resize(options.max_size);

    auto store = std::make_shared<Store>();
    WordList::Builder words;
    detail::Hash hash;
    words.reserve(counted.size(), 0);
    store->counts.reserve(counted.size());
    for (const auto& [word, count] : counted) {
      words.add(word);
      store->counts.push_back(count);
      store->total += count;
      hash.add(word);
      hash.add(count);
    }
    store->fingerprint = hash.value();
    store->words = std::move(words).build();
    Vocabulary result;
    result.store_ = std::move(store);
    return result;
  }

  static Counted parse_line(const std::filesystem::path& path, std::uint64_t number,
                            std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto refuse = [&](std::string_view got) {
      return FormatError::at_line(path, number, "a word, a space and a count above 0", got);
    };
    const std::size_t space = line.find_first_of(" \t");
    if (line.empty()) throw refuse("an empty line");
    if (space == 0 || space == std::string_view::npos) throw refuse(detail::shown(line));
    std::uint64_t count = 0;
    const char* const end = line.data() + line.size();
    const auto [stop, error] = std::from_chars(line.data() + space + 1, end, count);
    if (error != std::errc() || stop != end || count == 0) throw refuse(detail::shown(line));
    return {line.substr(0, space), count};
  }

  std::shared_ptr<const Store> store_;
};

}  // namespace wordloom
