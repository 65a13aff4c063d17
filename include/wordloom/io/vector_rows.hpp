#pragma once
#include <algorithm>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <wordloom/core/error.hpp>
#include <wordloom/core/text.hpp>
#include <wordloom/model/embeddings.hpp>

/// What the vector formats share.
namespace wordloom::detail {

static_assert(std::endian::native == std::endian::little,
              "wordloom: binary vector files are little-endian, and so must the machine be");

/// A word that a format with separators can hold; throws InvalidArgument otherwise.
inline std::string_view checked_word(std::string_view word) {
  if (word.empty() || std::any_of(word.begin(), word.end(), is_white_space))
    throw InvalidArgument("the word " + shown(word) +
                          " is empty or holds white space, which vector files cannot hold");
  return word;
}

/// Reads a file front to back and knows where it is.
class Cursor {
 public:
  Cursor(const std::filesystem::path& path, std::string_view text) : path_(path), text_(text) {}

  std::size_t position() const noexcept { return at_; }
  std::string_view rest() const noexcept { return text_.substr(at_); }
  bool at_end() const noexcept { return at_ == text_.size(); }
  bool skip(char c) noexcept {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void skip_blanks() noexcept {
    while (!at_end() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  /// The bytes up to the next white space.
  std::string_view token() noexcept {
    const std::size_t first = at_;
    while (!at_end() && !is_white_space(text_[at_])) ++at_;
    return text_.substr(first, at_ - first);
  }
  std::string_view take(std::size_t bytes) noexcept {
    const auto taken = text_.substr(at_, bytes);
    at_ += taken.size();
    return taken;
  }
  /// Blanks and then the end of a line or of the file; throws FormatError.
  void end_line(std::string_view expected) {
    skip_blanks();
    skip('\r');
    if (!at_end() && !skip('\n')) fail(at_, expected, shown(rest().substr(0, 40)));
  }
  template <class Number>
  Number number(std::string_view expected) {
    skip_blanks();
    const std::size_t first = at_;
    const std::string_view digits = token();
    Number value{};
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || stop != digits.data() + digits.size() || digits.empty())
      fail(first, expected,
           !digits.empty()         ? shown(digits)
           : first == text_.size() ? std::string("the end of the file")
                                   : std::string("the end of the line"));
    return value;
  }
  [[noreturn]] void fail(std::size_t position, std::string_view expected,
                         std::string_view got) const {
    throw FormatError::at_byte(path_, position, expected, got);
  }

 private:
  std::filesystem::path path_;
  std::string_view text_;
  std::size_t at_ = 0;
};

/// "rows columns" as word2vec's files begin; each row needs `least_row` bytes for each column and
/// two more, so that a header that promises more than the file holds is refused before anything is
/// allocated for it.
inline std::pair<std::size_t, std::size_t> read_header(Cursor& cursor, std::size_t least_number) {
  constexpr std::string_view expected = "a header 'words dimension'";
  const auto rows = cursor.number<std::uint64_t>(expected);
  const auto columns = cursor.number<std::uint64_t>(expected);
  cursor.end_line(expected);
  const std::size_t left = cursor.rest().size() + 1;  // the last newline may be missing
  if (rows == 0 || columns == 0)
    cursor.fail(0, "at least one word and one dimension",
                std::to_string(rows) + " x " + std::to_string(columns));
  if (columns > left / least_number || rows > left / (columns * least_number + 2))
    cursor.fail(0, "a header that fits the file",
                std::to_string(rows) + " words of dimension " + std::to_string(columns) + " in " +
                    std::to_string(cursor.rest().size()) + " bytes");
  return {rows, columns};
}

}  // namespace wordloom::detail
