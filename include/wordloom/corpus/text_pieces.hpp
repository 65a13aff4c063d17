#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <wordloom/core/error.hpp>
#include <wordloom/core/mapped_file.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/text.hpp>

#if WORDLOOM_HAS_ZLIB
#include <wordloom/corpus/gzip_reader.hpp>
#endif

namespace wordloom {

/// The i-th of n parts of a text, all of nearly the same size. A plain file is cut after a line
/// end, or after white space if no line ends nearby; a part of a .gz file, which cannot be cut, is
/// every n-th piece of it.
struct TextPart {
  std::size_t index = 0, count = 1;

  /// Returns the i-th of n parts of this one.
  TextPart part(std::size_t i, std::size_t n) const { return {index * n + i, count * n}; }
  /// Returns where the part begins in a plain text, which is where the one before it ends.
  std::size_t begin(std::string_view text) const {
    constexpr std::size_t near = std::size_t{1} << 16;
    if (index == count) return text.size();
    const std::size_t from = part_of(text.size(), index, count).first;
    if (from == 0) return 0;
    if (const std::size_t line = text.substr(from - 1, near).find('\n'); line != text.npos)
      return from + line;
    const auto space = std::find_if(text.begin() + static_cast<std::ptrdiff_t>(from) - 1,
                                    text.end(), is_white_space);
    return static_cast<std::size_t>(space - text.begin()) + (space == text.end() ? 0 : 1);
  }
  TextPart next() const { return {index + 1, count}; }
};

/// A stretch of a text that cuts no token.
struct TextPiece {
  std::size_t index = 0;  // in order, from 0
  std::string_view text;
  std::unique_ptr<const std::string> storage;  // where `text` lies when it was decompressed
};

/// Hands out a part of a text file in order, piece by piece, to any number of threads. Plain files
/// are mapped and their pages released again; .gz files, recognized by their first two bytes, are
/// decompressed as they are read. Memory: about a piece for each thread. `next` and `release` are
/// thread-safe.
class TextPieces {
 public:
  static constexpr std::size_t default_piece_bytes = std::size_t{1} << 22;

  /// Throws IoError (for a .gz file also if the build has no zlib), and FormatError for a file
  /// that is .gz by its name only.
  explicit TextPieces(const std::filesystem::path& path,
                      std::size_t piece_bytes = default_piece_bytes, TextPart part = {})
      : file_(path), part_(part), piece_bytes_(std::max<std::size_t>(piece_bytes, 1)) {
    if (path.extension() == ".gz" && !is_gzip(file_) && file_.size() > 0)
      throw FormatError::at_byte(path, 0, "gzip data, as its name says", "something else");
    if (is_gzip(file_)) {
#if WORDLOOM_HAS_ZLIB
      gzip_ = std::make_unique<GzipReader>(path);
      if (part.count > 1) piece_bytes_ = std::min(piece_bytes_, max_piece_of_parts);
      return;
#else
      throw IoError("cannot read '" + path.string() +
                    "': this build has no zlib (WORDLOOM_ENABLE_ZLIB)");
#endif
    }
    at_ = part.begin(file_.text());
    last_ = part.next().begin(file_.text());
  }

  static bool is_gzip(const MappedFile& file) noexcept {
    return file.text().substr(0, 2) == "\x1f\x8b";
  }

  /// Whether each piece begins where the one before it ended.
  bool is_contiguous() const noexcept { return part_.count == 1 || !is_gzip(file_); }

  /// Returns the next piece, or nothing at the end. Throws FormatError where a .gz file is damaged.
  std::optional<TextPiece> next() {
    const std::lock_guard lock(guard_);
#if WORDLOOM_HAS_ZLIB
    while (gzip_) {
      auto piece = next_of_gzip();
      if (!piece) return std::nullopt;
      if (read_++ % part_.count != part_.index) continue;
      piece->index = index_++;
      return piece;
    }
#endif
    if (at_ >= last_) return std::nullopt;
    const std::size_t first = at_;
    at_ = std::min(last_ - first, piece_bytes_) + first;
    while (at_ < file_.size() && !is_white_space(file_.data()[at_ - 1])) ++at_;
    return TextPiece{index_++, file_.text().substr(first, at_ - first), {}};
  }

  /// Releases the memory of a piece, whose text must not be read any more.
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
    while (more && end == 0) {  // twice or more for a token longer than a piece
      more = gzip_->read(text, piece_bytes_);
      end = text.size();
      while (more && end > 0 && !is_white_space(text[end - 1])) --end;
    }
    if (end == 0) return std::nullopt;
    carried_.assign(text, end);
    text.resize(end);
    auto storage = std::make_unique<const std::string>(std::move(text));
    const std::string_view view = *storage;
    return TextPiece{0, view, std::move(storage)};
  }

  // Small, so that each part of a short text has pieces.
  static constexpr std::size_t max_piece_of_parts = std::size_t{1} << 18;
  std::unique_ptr<GzipReader> gzip_;
  std::size_t read_ = 0;  // pieces
  std::string carried_;   // the beginning of a token that the last piece would have cut
#endif

  MappedFile file_;
  TextPart part_;
  std::size_t piece_bytes_;
  std::size_t at_ = 0, last_ = 0;
  std::size_t index_ = 0;
  std::mutex guard_;
};

}  // namespace wordloom
