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
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/word_list.hpp>
#include <wordloom/corpus/text_pieces.hpp>
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

/// Counts the words of a part of a text with all threads.
inline WordCounter count_words(const std::filesystem::path& path, std::size_t threads,
                               TextPart part = {}) {
  threads = resolve_threads(threads);
  TextPieces pieces(path, TextPieces::default_piece_bytes, part);
  std::vector<WordCounter> counters(threads);
  run_threads(threads, [&](std::size_t thread) {
    while (const auto piece = pieces.next()) {
      for_each_token(
          piece->text, [&](std::string_view word) { counters[thread].add(word); }, [] {});
      pieces.release(*piece);
    }
  });
  for (std::size_t i = 1; i < threads; ++i) {
    counters[0].merge(counters[i]);
    counters[i] = {};
  }
  return std::move(counters[0]);
}

}  // namespace detail

/// Words and their counts by falling count, then in order of their bytes: id 0 is the most frequent
/// word. Immutable; copies share the words and are cheap; all members are thread-safe. There is no
/// end-of-sentence word (word2vec.c counts each newline as </s>): a sentence ends at its line's
/// end.
class Vocabulary {
 public:
  using Counted = std::pair<std::string_view, std::uint64_t>;

  /// Empty.
  Vocabulary() : store_(std::make_shared<const Store>()) {}

  /// Counts the words of a text file, plain or .gz. Throws IoError, FormatError for a damaged .gz,
  /// and CorpusError when no word is left. The same for any number of threads.
  static Vocabulary from_text(const std::filesystem::path& path, VocabularyOptions options = {}) {
    const auto counter = detail::count_words(path, options.threads);
    std::vector<Counted> counted;
    counted.reserve(counter.size());
    counter.for_each(
        [&](std::string_view word, std::uint64_t count) { counted.emplace_back(word, count); });
    return select(std::move(counted), options, path);
  }

  /// From words and counts in any order. Throws InvalidArgument for a word that stands twice, is
  /// empty, holds white space or has a count of 0; CorpusError when no word is left.
  static Vocabulary from_counts(std::span<const std::pair<std::string, std::uint64_t>> counts,
                                VocabularyOptions options = {.min_count = 1}) {
    std::vector<Counted> counted;
    counted.reserve(counts.size());
    for (const auto& [word, count] : counts) {
      if (word.empty() || std::any_of(word.begin(), word.end(), is_white_space))
        throw InvalidArgument("a word of a vocabulary is empty or holds white space: '" + word +
                              "'");
      if (count == 0) throw InvalidArgument("the word '" + word + "' has a count of 0");
      counted.emplace_back(word, count);
    }
    auto result = select(std::move(counted), options, "the list of counts");
    for (std::size_t i = 0; i < result.size(); ++i)
      if (const auto first = result.find(result.word(static_cast<WordId>(i))); first != i)
        throw InvalidArgument("the word '" + std::string(result.word(*first)) + "' stands twice");
    return result;
  }

  /// Reads `word count` lines in any order, as `save` and word2vec's -save-vocab write them. Throws
  /// IoError, FormatError with the line, CorpusError when no word is left.
  static Vocabulary load(const std::filesystem::path& path,
                         VocabularyOptions options = {.min_count = 1}) {
    const MappedFile file(path);
    std::vector<Counted> counted;
    std::string_view rest = file.text();
    for (std::uint64_t line = 1; !rest.empty(); ++line) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      counted.push_back(parse_line(path, line, rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    refuse_repeats(path, counted);
    return select(std::move(counted), options, path);
  }

  /// Writes a `word count` line for each word, by id. Throws IoError; all or nothing is written.
  void save(const std::filesystem::path& path) const {
    AtomicFile file(path);
    write(file);
    file.commit();
  }

  /// The same into a file that is already open; does not commit.
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

  /// What is thrown where no word of `types` is left.
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
    std::uint64_t fingerprint = detail::fnv_basis;
  };

  static bool before(const Counted& a, const Counted& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
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
    store->counts.reserve(counted.size());
    for (const auto& [word, count] : counted) {
      words.add(word);
      store->counts.push_back(count);
      store->total += count;
      store->fingerprint = detail::fnv(word, store->fingerprint);
      store->fingerprint = detail::fnv(' ' + std::to_string(count) + '\n', store->fingerprint);
    }
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

  static void refuse_repeats(const std::filesystem::path& path, std::span<const Counted> counted) {
    WordList::Builder builder;
    for (const auto& [word, count] : counted) builder.add(word);
    const WordList words = std::move(builder).build();
    for (std::size_t i = 0; i < words.size(); ++i)
      if (const auto first = words.find(words[i]); first != i)
        throw FormatError::at_line(
            path, i + 1, "each word once",
            detail::shown(words[i]) + " as in line " + std::to_string(*first + 1));
  }

  std::shared_ptr<const Store> store_;
};

}  // namespace wordloom
