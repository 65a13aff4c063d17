#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include <wordloom/core/detail/foreign_format.hpp>
#include <wordloom/core/detail/gzip.hpp>
#include <wordloom/core/detail/text_fields.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/mapped_file.hpp>
#include <wordloom/core/words.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The whole content of a file in memory: a plain file is mapped, a .gz file (recognised by its
/// first bytes) is decompressed, and a named pipe is waited for and read to its end. A byte order
/// mark at the beginning is left out. Reads are thread-safe.
class InputFile {
 public:
  /// Throws IoError, FormatError for a damaged .gz file, and ForeignFormat.
  explicit InputFile(const std::filesystem::path& path, Content content = Content::vectors);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::filesystem::path& path() const noexcept { return file_.path(); }
  /// Valid for the lifetime of the file; aligned to 16 bytes unless a byte order mark was left out.
  std::string_view text() const noexcept { return text_; }

 private:
  MappedFile file_;
  std::string unpacked_;
  std::string_view text_;
};

/// Reads a text line by line and keeps its position.
class LineReader {
 public:
  explicit LineReader(const InputFile& file) : path_(file.path()), rest_(file.text()) {}

  /// Goes to the next line; returns false if there is none.
  bool next() {
    if (rest_.empty()) return false;
    const std::size_t end = rest_.find('\n');
    has_end_ = end != rest_.npos;
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(has_end_ ? end + 1 : rest_.size());
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    ++number_;
    return true;
  }

  /// Returns the line without its end, which is \n or \r\n.
  std::string_view line() const noexcept { return line_; }
  /// Returns whether the line ends before the file does.
  bool has_end() const noexcept { return has_end_; }
  /// Returns the text after the line.
  std::string_view rest() const noexcept { return rest_; }
  /// Returns the number of the line, from 1.
  std::uint64_t number() const noexcept { return number_; }
  /// Returns whether this line and all after it are blank.
  bool ends_blank() const noexcept {
    return trimmed(line_).empty() && rest_.find_first_not_of(" \t\r\n") == rest_.npos;
  }
  /// Returns the number of lines to come.
  std::size_t lines_left() const {
    return static_cast<std::size_t>(std::count(rest_.begin(), rest_.end(), '\n')) +
           (rest_.empty() || rest_.ends_with('\n') ? 0 : 1);
  }

  /// Throws FormatError for a position in the line.
  [[noreturn]] void fail(std::size_t at, std::string_view expected, std::string_view got) const {
    throw FormatError::at_line(path_, (std::max<std::uint64_t>)(number_, 1), at + 1, expected, got);
  }

 private:
  std::filesystem::path path_;
  std::string_view rest_, line_;
  std::uint64_t number_ = 0;
  bool has_end_ = false;
};

/// Reads a binary file front to back and keeps its position.
class Cursor {
 public:
  explicit Cursor(const InputFile& file) : path_(file.path()), text_(file.text()) {}

  std::size_t position() const noexcept { return at_; }
  std::string_view rest() const noexcept { return text_.substr(at_); }
  bool at_end() const noexcept { return at_ == text_.size(); }
  bool skip(char c) noexcept {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string_view take(std::size_t bytes) noexcept {
    const auto taken = text_.substr(at_, bytes);
    at_ += taken.size();
    return taken;
  }
  /// Throws FormatError if there is more to read.
  void end_file() const {
    if (!at_end())
      fail(at_, "the end of the file after the last row", joined({rest().size(), " more bytes"}));
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

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION InputFile::InputFile(const std::filesystem::path& path, Content content)
    : file_(path, NamedPipe::read), text_(file_.text()) {
  if (const auto reader = open_gzip(file_)) {
    // The last four bytes are the size of the last member, mod 2^32: only a hint. One byte of a .gz
    // file holds at most 1032 bytes of content.
    std::uint32_t size = 0;
    if (text_.size() >= sizeof size)
      std::memcpy(&size, text_.data() + text_.size() - sizeof size, sizeof size);
    const std::size_t most = text_.size() * 1032;
    unpacked_.reserve((std::min<std::size_t>)(std::size_t{size} + 1, most));
    const std::size_t step = (std::min<std::size_t>)(std::size_t{1} << 22, most);
    while (reader->read(unpacked_, step)) {
    }
    text_ = unpacked_;
  }
  refuse_foreign(path, text_, content);
  text_ = without_byte_order_mark(text_);
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
