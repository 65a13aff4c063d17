#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <wordloom/core/detail/foreign_format.hpp>
#include <wordloom/core/detail/gzip.hpp>
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
    unpacked_.reserve(std::min<std::size_t>(std::size_t{size} + 1, most));
    const std::size_t step = std::min<std::size_t>(std::size_t{1} << 22, most);
    while (reader->read(unpacked_, step)) {
    }
    text_ = unpacked_;
  }
  refuse_foreign(path, text_, content);
  text_ = without_byte_order_mark(text_);
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
