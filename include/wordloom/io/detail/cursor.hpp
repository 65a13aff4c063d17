#pragma once
#include <cstddef>
#include <filesystem>
#include <string_view>

#include <wordloom/core/detail/input_file.hpp>
#include <wordloom/core/error.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

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

}}}  // namespace wordloom::WORDLOOM_ABI::detail
