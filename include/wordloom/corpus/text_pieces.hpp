#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <wordloom/core/error.hpp>
#include <wordloom/core/mapped_file.hpp>

#if WORDLOOM_HAS_ZLIB
#include <wordloom/corpus/gzip_reader.hpp>
#endif

namespace wordloom {

/// The bytes that separate tokens, those of C's isspace: space, \t, \n, \v, \f, \r. All others are
/// part of a token, whatever the encoding.
inline constexpr bool is_white_space(char c) noexcept {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

/// Calls `use(token)` for each token of `text` and `end_of_line()` for each \n.
template <class Use, class EndOfLine>
void for_each_token(std::string_view text, Use&& use, EndOfLine&& end_of_line) {
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p != end) {
    if (is_white_space(*p)) {
      if (*p++ == '\n') end_of_line();
      continue;
    }
    const char* const first = p;
    do ++p;
    while (p != end && !is_white_space(*p));
    use(std::string_view(first, static_cast<std::size_t>(p - first)));
  }
}

/// A part of a text; no token crosses its ends.
struct TextPiece {
  std::size_t index = 0;  // of its text, in order, from 0
  std::string_view text;
  std::unique_ptr<const std::string> storage;  // where `text` lies when it was decompressed
};

/// Hands out a text file in order, piece by piece, to any number of threads: plain files are mapped
/// and their pages released again, .gz files (by their first two bytes) are decompressed as they
/// are read. Memory: about a piece for each thread. `next` and `release` are thread-safe.
class TextPieces {
 public:
  static constexpr std::size_t default_piece_bytes = std::size_t{1} << 22;

  /// Reads bytes [first, last) of the text, which must lie between tokens; of a .gz file all.
  /// Throws IoError, for a .gz file also when the build has no zlib, and FormatError for a file
  /// that is .gz only by name.
  explicit TextPieces(const std::filesystem::path& path,
                      std::size_t piece_bytes = default_piece_bytes, std::size_t first = 0,
                      std::size_t last = std::numeric_limits<std::size_t>::max())
      : file_(path), piece_bytes_(std::max<std::size_t>(piece_bytes, 1)), at_(first) {
    if (path.extension() == ".gz" && !is_gzip(file_) && file_.size() > 0)
      throw FormatError::at_byte(path, 0, "gzip data, as its name says", "something else");
    if (is_gzip(file_)) {
#if WORDLOOM_HAS_ZLIB
      gzip_ = std::make_unique<GzipReader>(path);
#else
      throw IoError("cannot read '" + path.string() +
                    "': this build has no zlib (WORDLOOM_ENABLE_ZLIB)");
#endif
    }
    last_ = std::min(last, file_.size());
  }

  static bool is_gzip(const MappedFile& file) noexcept {
    return file.text().substr(0, 2) == "\x1f\x8b";
  }

  /// The next piece, or nothing at the end. Throws FormatError where a .gz file is damaged.
  std::optional<TextPiece> next() {
    const std::lock_guard lock(guard_);
#if WORDLOOM_HAS_ZLIB
    if (gzip_) return next_of_gzip();
#endif
    if (at_ >= last_) return std::nullopt;
    const std::size_t first = at_;
    at_ = std::min(last_ - first, piece_bytes_) + first;
    while (at_ < file_.size() && !is_white_space(file_.data()[at_ - 1])) ++at_;
    return TextPiece{index_++, file_.text().substr(first, at_ - first), {}};
  }

  /// Gives the memory of a piece back; its text is then not to be read any more.
  void release(const TextPiece& piece) const noexcept {
    if (piece.storage || piece.text.empty()) return;
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto begin =
        (reinterpret_cast<std::uintptr_t>(piece.text.data()) + page - 1) / page * page;
    const auto end =
        reinterpret_cast<std::uintptr_t>(piece.text.data() + piece.text.size()) / page * page;
    if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }

 private:
#if WORDLOOM_HAS_ZLIB
  std::optional<TextPiece> next_of_gzip() {
    std::string text = std::exchange(carried_, {});
    bool more = true;
    std::size_t end = 0;
    while (more && end == 0) {  // more than once for a token longer than a piece
      more = gzip_->read(text, piece_bytes_);
      end = text.size();
      while (more && end > 0 && !is_white_space(text[end - 1])) --end;
    }
    if (end == 0) return std::nullopt;
    carried_.assign(text, end);
    text.resize(end);
    auto storage = std::make_unique<const std::string>(std::move(text));
    const std::string_view view = *storage;
    return TextPiece{index_++, view, std::move(storage)};
  }
  std::unique_ptr<GzipReader> gzip_;
  std::string carried_;  // the token that the last piece would have cut
#endif

  MappedFile file_;
  std::size_t piece_bytes_;
  std::size_t at_, last_ = 0;
  std::size_t index_ = 0;
  std::mutex guard_;
};

}  // namespace wordloom
