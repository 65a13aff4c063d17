#pragma once
#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <wordloom/core/detail/hash.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/types.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// The bytes that separate tokens: those for which isspace() is true in the "C" locale. All other
/// bytes are part of a token, so that any encoding that contains ASCII works.
inline constexpr std::string_view white_space = " \t\n\v\f\r";

inline constexpr bool is_white_space(char c) noexcept {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

/// Returns whether `text` is one token: not empty and without white space.
inline bool is_word(std::string_view text) noexcept {
  return !text.empty() && std::none_of(text.begin(), text.end(), is_white_space);
}

/// Parses all of `text` as a number; empty if it is not one.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

}  // namespace detail

/// A range of elements that convert to std::string_view.
template <class Range>
concept WordRange =
    detail::InputRange<Range> && std::convertible_to<detail::ElementOf<Range>, std::string_view> &&
    !std::convertible_to<Range, std::string_view>;

/// Sentences in memory: a range of them, for example std::vector<std::vector<std::string>>.
template <class Range>
concept SentencesOfWords = detail::InputRange<Range> && WordRange<detail::ElementOf<Range>>;

namespace detail {

/// The bytes with which some editors begin a file in UTF-8. If such files were concatenated, lines
/// begin with them, too.
inline constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

/// Returns `text` without a byte order mark at its beginning.
inline constexpr std::string_view without_byte_order_mark(std::string_view text) noexcept {
  return text.starts_with(byte_order_mark) ? text.substr(byte_order_mark.size()) : text;
}

}  // namespace detail

/// Calls `use(token)` for each token of `text` and `end_of_line()` for each \n. Byte order marks
/// are removed from the beginning of every token, not only from the first one of a line: a text
/// that is read in pieces may begin in the middle of a line.
template <class Use, class EndOfLine>
void for_each_token(std::string_view text, Use&& use, EndOfLine&& end_of_line) {
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p != end) {
    if (detail::is_white_space(*p)) {
      if (*p++ == '\n') end_of_line();
      continue;
    }
    const char* const first = p;
    p = std::find_if(p, end, detail::is_white_space);
    std::string_view token(first, static_cast<std::size_t>(p - first));
    while (token.starts_with(detail::byte_order_mark))
      token.remove_prefix(detail::byte_order_mark.size());
    if (!token.empty()) use(token);
  }
}

namespace detail {

/// Calls `use(line, number)` for each line of `text`, without its \n and without a byte order mark
/// at its beginning. The first line has number 1.
template <class Use>
void for_each_line(std::string_view text, Use&& use) {
  for (std::uint64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = (std::min)(text.find('\n'), text.size());
    use(without_byte_order_mark(text.substr(0, end)), number);
    text.remove_prefix((std::min)(end + 1, text.size()));
  }
}

}  // namespace detail

/// A list of words, numbered from 0 in the order in which they were added, with a hash table (open
/// addressing, at most half full) from word to number. A word may be any bytes. Thread-safe while
/// no word is added.
class WordList {
 public:
  /// Makes a list of any range of elements that convert to std::string_view.
  template <class Words>
  static WordList from(const Words& words) {
    WordList list;
    for (const auto& word : words) list.append(word);
    return list;
  }

  std::size_t size() const noexcept { return ends_.size(); }

  /// Returns word i as a view that is valid until a word is added; i < size().
  std::string_view operator[](std::size_t i) const& noexcept {
    const std::uint64_t begin = i == 0 ? 0 : ends_[i - 1];
    return {text_.data() + begin, ends_[i] - begin};
  }
  void operator[](std::size_t i) const&& = delete;

  /// Returns the number of a word, the lowest if it was added several times; nothing if it is not
  /// in the list.
  [[nodiscard]] std::optional<WordId> find(std::string_view word) const noexcept;

  /// Returns the number of a word, the lowest if it was added several times. Throws UnknownWord if
  /// it is not in the list.
  WordId at(std::string_view word) const {
    if (const auto id = find(word)) return *id;
    throw UnknownWord(word);
  }

  /// Returns the number of `word`, after adding it if it is new. Throws InvalidArgument if the list
  /// already has 2^32 - 2 words.
  WordId insert(std::string_view word);

  /// Adds `word` even if the list has it already. Returns true if it was new. Throws as `insert`.
  bool append(std::string_view word);

  friend bool operator==(const WordList& a, const WordList& b) noexcept {
    return a.ends_ == b.ends_ && a.text_ == b.text_;
  }

 private:
  struct Slot {
    std::uint32_t tag = 0;  // the upper half of the hash; the lower half chooses the slot
    WordId number = 0;      // of the word, plus 1; 0: a free slot
  };

  static std::uint32_t tag_of(std::uint64_t hash) noexcept {
    return static_cast<std::uint32_t>(hash >> 32);
  }

  /// Returns the slot of a word, or the free one that it would take.
  std::size_t slot_of(std::string_view word, std::uint64_t hash) const noexcept {
    const std::size_t mask = slots_.size() - 1;
    const std::uint32_t tag = tag_of(hash);
    std::size_t at = hash & mask;
    while (slots_[at].number != 0 &&
           (slots_[at].tag != tag || (*this)[slots_[at].number - 1] != word))
      at = (at + 1) & mask;
    return at;
  }

  void push_back(std::string_view word) {
    if (size() >= (std::numeric_limits<WordId>::max)() - 1)
      throw InvalidArgument("a list of words holds at most 4294967294 words");
    text_.append(word);
    ends_.push_back(text_.size());
  }

  void grow();

  std::string text_;                 // all words, one after the other
  std::vector<std::uint64_t> ends_;  // [size] where each ends in `text_`
  std::vector<Slot> slots_{1};       // their number is a power of two
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION std::optional<WordId> WordList::find(std::string_view word) const noexcept {
  const Slot slot = slots_[slot_of(word, detail::Hash::of(word))];
  if (slot.number == 0) return std::nullopt;
  return slot.number - 1;
}

WORDLOOM_FUNCTION WordId WordList::insert(std::string_view word) {
  const std::uint64_t hash = detail::Hash::of(word);
  Slot& slot = slots_[slot_of(word, hash)];
  if (slot.number != 0) return slot.number - 1;
  push_back(word);
  slot = {tag_of(hash), static_cast<WordId>(size())};
  if (size() > slots_.size() / 2) grow();
  return static_cast<WordId>(size() - 1);
}

WORDLOOM_FUNCTION bool WordList::append(std::string_view word) {
  const std::size_t before = size();
  insert(word);
  if (size() > before) return true;
  push_back(word);
  return false;
}

WORDLOOM_FUNCTION void WordList::grow() {
  slots_.assign(slots_.size() * 2, {});
  for (std::size_t i = 0; i < size(); ++i) {
    const std::uint64_t hash = detail::Hash::of((*this)[i]);
    Slot& slot = slots_[slot_of((*this)[i], hash)];
    if (slot.number == 0) slot = {tag_of(hash), static_cast<WordId>(i + 1)};
  }
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
