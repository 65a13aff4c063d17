// Functions of Vocabulary (corpus/vocabulary.hpp).
namespace wordloom { inline namespace WORDLOOM_ABI {

WORDLOOM_FUNCTION WordId detail::WordCounter::count(std::string_view word, std::uint64_t count) {
  const WordId number = words_.insert(word);
  if (number == counts_.size()) counts_.push_back(0);
  if (__builtin_add_overflow(counts_[number], count, &counts_[number]))
    throw InvalidArgument{"the counts of the word '", word, "' add up to more than 2^64 - 1"};
  return number;
}

WORDLOOM_FUNCTION detail::WordCounter detail::count_words(const std::filesystem::path& path,
                                                          const VocabularyOptions& options,
                                                          detail::TextPart part) {
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
    if (word.empty()) throw InvalidArgument{"counts[", counter.size(), "]: the word is empty"};
    if (count == 0) throw InvalidArgument{"the word '", word, "' has a count of 0"};
    if (!counter.add(word, count)) throw InvalidArgument{"duplicate word '", word, "'"};
  }
  return from_counter(counter, options, "the list of counts");
}

WORDLOOM_FUNCTION Vocabulary Vocabulary::from_counter(const detail::WordCounter& counter,
                                                      const VocabularyOptions& options,
                                                      const detail::MessagePart& source) {
  std::vector<std::pair<std::string_view, std::uint64_t>> counted;
  counted.reserve(counter.size());
  std::uint64_t read = 0;
  counter.for_each([&](std::string_view word, std::uint64_t count) {
    read += count;
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
  store->read = read;
  store->fingerprint = hash.value();
  store->words = std::move(words);
  Vocabulary result;
  result.store_ = std::move(store);
  return result;
}

namespace detail {

/// Returns whether a carriage return follows a digit, as in a text whose lines end in it alone.
inline bool holds_line_end(std::string_view line) noexcept {
  std::size_t at = 0;
  while ((at = line.find('\r', at + 1)) != line.npos)
    if (line[at - 1] >= '0' && line[at - 1] <= '9') return true;
  return false;
}

/// A line of a file of a vocabulary, without its end.
struct VocabularyLine {
  std::string_view word;  // empty: the line is bad
  std::uint64_t count = 0;
  bool is_label = false;
};

/// Parses a line; in fastText's dump, the type of the word follows its count.
inline VocabularyLine vocabulary_line(std::string_view line, bool is_dump) {
  VocabularyLine result;
  std::string_view before = line;
  if (is_dump) {
    const auto type = take_last_field(before);
    result.is_label = type == "label";
    if (!result.is_label && type != "word") return {};
  }
  const auto digits = take_last_field(before);
  const auto count = number_in<std::uint64_t>(digits);
  if (!count) return {};
  result.count = *count;
  // A word that consists of blanks only is what precedes the blank before the count.
  const auto blanks_before = line.substr(0, static_cast<std::size_t>(digits.data() - line.data()));
  result.word = before.empty() && !blanks_before.empty()
                    ? blanks_before.substr(0, blanks_before.size() - 1)
                    : before;
  return result;
}

/// Returns the number of entries if a text is fastText's dump of a dictionary: its first line is
/// that number, the other lines end in their type.
inline std::optional<std::uint64_t> dumped_entries(LineReader reader) {
  reader.next();
  const auto entries = number_in<std::uint64_t>(reader.line());
  if (!reader.next() || vocabulary_line(reader.line(), true).word.empty()) return std::nullopt;
  return entries;
}

}  // namespace detail

WORDLOOM_FUNCTION Vocabulary Vocabulary::load(const std::filesystem::path& path,
                                              const VocabularyOptions& options) {
  const detail::InputFile file(path, detail::Content::text);
  detail::LineReader reader(file);
  const auto entries = detail::dumped_entries(reader);
  detail::WordCounter counter;
  std::vector<std::uint64_t> lines;  // of the words in `counter`
  std::uint64_t total = 0;
  while (reader.next()) {
    const std::uint64_t number = reader.number();
    if (number == 1 && entries) continue;
    const std::string_view line = reader.line();
    const auto refuse = [&](std::string_view expected, std::string_view got) {
      throw FormatError::at_line(path, number, expected, got);
    };
    if (reader.ends_blank()) break;
    if (detail::holds_line_end(line))
      refuse("lines that end in a newline", "a carriage return in " + detail::shown(line));
    const auto [word, count, is_label] = detail::vocabulary_line(line, entries.has_value());
    const bool ends_sentence = word == "</s>" && (number == 1 || entries);
    if (word.empty() || (count == 0 && !ends_sentence))
      refuse(entries ? "a word, a count above 0 and 'word' or 'label'"
                     : "a word, a space and a count above 0",
             detail::trimmed(line).empty() ? "an empty line" : detail::shown(line));
    // If a tab precedes the count, other tabs separate further columns.
    if (word.find('\t') != word.npos && line.rfind('\t') > line.rfind(' ') + 1)
      refuse("a word and a count", "more columns: " + detail::shown(line));
    if (ends_sentence || is_label) continue;
    if (__builtin_add_overflow(total, count, &total))
      refuse("counts that add up to less than 2^64", detail::shown(line));
    if (!counter.add(word, count))
      refuse("each word once",
             detail::joined({detail::shown(word), " as in line ", lines[counter.index_of(word)]}));
    lines.push_back(number);
  }
  if (const std::uint64_t number = reader.number(); entries && number != *entries + 1)
    throw FormatError::at_line(path, 1,
                               detail::joined({"the number of lines that follow, ", number - 1}),
                               std::to_string(*entries));
  return from_counter(counter, options, path);
}

WORDLOOM_FUNCTION WordId Vocabulary::first_line() const {
  for (WordId id = 0; id < size(); ++id) {
    const auto inner = detail::trimmed(word(id));
    const bool has_newline = word(id).find('\n') != inner.npos || detail::holds_line_end(word(id));
    if (has_newline || (!inner.empty() && inner.size() != word(id).size()))
      throw InvalidArgument{
          "the word ", detail::shown(word(id)),
          has_newline ? " holds the end of a line" : " begins or ends with a blank",
          ": a file of a vocabulary cannot hold it"};
  }
  for (WordId id = 0; id < size(); ++id) {
    if (word(id) == "</s>" || word(id).starts_with(detail::byte_order_mark)) continue;
    try {
      detail::refuse_foreign("words", word(id), detail::Content::text);
    } catch (const ForeignFormat&) {
      continue;
    }
    return id;
  }
  if (empty()) return 0;
  throw InvalidArgument{"the word ", detail::shown(word(0)),
                        " cannot begin a file of a vocabulary"};
}

WORDLOOM_FUNCTION void Vocabulary::write(AtomicFile& file) const {
  const WordId first = first_line();
  std::string line;
  const auto write_line = [&](WordId id) {
    line.assign(word(id)).append(1, ' ').append(std::to_string(count(id))).append(1, '\n');
    file.write(line);
  };
  if (!empty()) write_line(first);
  for (WordId id = 0; id < size(); ++id)
    if (id != first) write_line(id);
}

}}  // namespace wordloom::WORDLOOM_ABI
