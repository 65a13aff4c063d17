#pragma once
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <wordloom/core/detail/foreign_format.hpp>
#include <wordloom/core/detail/gzip.hpp>
#include <wordloom/core/detail/pages.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/mapped_file.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/words.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// The i-th of n parts of a text, all of nearly the same size. A plain file is cut after the end of
/// a line, or after white space if no line ends within 64 KiB. A .gz file can only be read from its
/// beginning: its part i is every n-th piece, from piece i on.
struct TextPart {
  std::size_t index = 0, count = 1;

  /// Returns the position in a plain text at which the part begins and the previous one ends.
  std::size_t begin(std::string_view text) const;
};

/// A position at which a text may be cut into pieces: after any white space, or only after the end
/// of a line.
enum class CutAfter { token, line };

/// Part of a text that starts and ends between tokens, or between lines.
struct TextPiece {
  std::size_t index = 0;               // in order, from 0
  std::string_view text;               // valid as long as `memory` lives
  std::shared_ptr<const void> memory;  // owns the text: mapped pages or a string
};

/// Hands out a part of a text file in order, piece by piece, to any number of threads. Plain files
/// are mapped, and the pages of a piece are released when it is destroyed. Files that begin with
/// the two bytes of gzip are decompressed as they are read. Memory: about one piece for each
/// thread. `next` is thread-safe.
class TextPieces {
 public:
  static constexpr std::size_t default_piece_bytes = std::size_t{1} << 22;

  /// `next` first calls `before_piece`, never from two threads at once, and passes its exceptions
  /// on. Throws IoError (for a .gz file also if the program has no zlib), FormatError for a file
  /// whose name ends in .gz but whose content is not gzip data, and ForeignFormat for a plain file
  /// that is not text.
  explicit TextPieces(const std::filesystem::path& path,
                      std::size_t piece_bytes = default_piece_bytes, TextPart part = {},
                      std::function<void()> before_piece = {}, CutAfter cut = CutAfter::token);

  const MappedFile& file() const noexcept { return *file_; }
  bool is_gzip() const noexcept { return gzip_ != nullptr; }

  /// Returns the useful number of threads: resolve_threads(requested), but no more than there are
  /// pieces. Call it before the first `next`. The text of a .gz file is taken as 16 times as long
  /// as the file. Throws as resolve_threads.
  std::size_t threads(std::size_t requested) const {
    const std::size_t bytes = is_gzip() ? file_->size() * 16 : last_ - at_;
    return (std::min)(resolve_threads(requested), bytes / piece_bytes_ + 1);
  }

  /// Returns whether each piece begins where the previous one ended, with no text left out.
  bool is_contiguous() const noexcept { return part_.count == 1 || !is_gzip(); }

  /// Returns the next piece, or nothing at the end. Throws FormatError if a .gz file is damaged,
  /// and ForeignFormat if it does not hold text.
  std::optional<TextPiece> next();

 private:
  bool may_cut_after(char c) const noexcept {
    return cut_ == CutAfter::line ? c == '\n' : is_white_space(c);
  }

  std::optional<TextPiece> next_of_gzip();

  // Limits pieces of .gz files in several parts, so that each part of a short text gets some.
  static constexpr std::size_t max_piece_of_parts = std::size_t{1} << 18;
  std::shared_ptr<const MappedFile> file_;
  std::unique_ptr<GzipReader> gzip_;
  std::size_t read_ = 0;  // pieces read from a .gz file, of all parts
  std::string carried_;   // start of the token or line that the last piece would have cut
  TextPart part_;
  std::size_t piece_bytes_;
  std::function<void()> before_piece_;
  CutAfter cut_;
  std::size_t at_ = 0, last_ = 0;
  std::size_t index_ = 0;
  std::mutex guard_;
};

}  // namespace detail

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

WORDLOOM_FUNCTION std::size_t TextPart::begin(std::string_view text) const {
  constexpr std::size_t nearby = std::size_t{1} << 16;
  if (index == count) return text.size();
  const std::size_t from = detail::part_of(text.size(), index, count).first;
  if (from == 0) return 0;
  if (const std::size_t line = text.substr(from - 1, nearby).find('\n'); line != text.npos)
    return from + line;
  const std::size_t space = text.find_first_of(white_space, from - 1);
  return space == text.npos ? text.size() : space + 1;
}

WORDLOOM_FUNCTION std::optional<TextPiece> TextPieces::next_of_gzip() {
  std::string text = std::exchange(carried_, {});
  bool more = true;
  std::size_t end = 0;
  while (more && end == 0) {  // repeats for a token or line longer than a piece
    const std::size_t searched = text.size();
    more = gzip_->read(text, piece_bytes_);
    if (read_ == 0 && searched == 0) refuse_foreign(file_->path(), text, Content::text);
    end = text.size();
    while (more && end > searched && !may_cut_after(text[end - 1])) --end;
    if (more && end == searched) end = 0;
  }
  if (end == 0) return std::nullopt;
  carried_.assign(text, end);
  text.resize(end);
  const auto memory = std::make_shared<const std::string>(std::move(text));
  return TextPiece{0, *memory, memory};
}

WORDLOOM_FUNCTION TextPieces::TextPieces(const std::filesystem::path& path, std::size_t piece_bytes,
                                         TextPart part, std::function<void()> before_piece,
                                         CutAfter cut)
    : file_(std::make_shared<const MappedFile>(path)),
      gzip_(open_gzip(*file_)),
      part_(part),
      piece_bytes_((std::max<std::size_t>)(piece_bytes, 1)),
      before_piece_(std::move(before_piece)),
      cut_(cut) {
  if (gzip_) {
    // Deflate compresses at most 1032 : 1, so that a small file needs no large buffer.
    piece_bytes_ = (std::min)(piece_bytes_, file_->size() * 1032);
    if (part.count > 1) piece_bytes_ = (std::min)(piece_bytes_, max_piece_of_parts);
    return;
  }
  refuse_foreign(path, file_->text(), Content::text);
  at_ = part.begin(file_->text());
  last_ = TextPart{part.index + 1, part.count}.begin(file_->text());
}

WORDLOOM_FUNCTION std::optional<TextPiece> TextPieces::next() {
  const std::lock_guard lock(guard_);
  if (before_piece_) before_piece_();
  while (gzip_) {
    auto piece = next_of_gzip();
    if (!piece) return std::nullopt;
    if (read_++ % part_.count != part_.index) continue;
    piece->index = index_++;
    return piece;
  }
  if (at_ >= last_) return std::nullopt;
  const std::size_t first = at_;
  at_ = (std::min)(last_ - first, piece_bytes_) + first;
  while (at_ < file_->size() && !may_cut_after(file_->data()[at_ - 1])) ++at_;
  const std::string_view text = file_->text().substr(first, at_ - first);
  return TextPiece{
      index_++, text, {text.data(), [file = file_, text](auto) { release_file_pages(text); }}};
}

}  // namespace detail

#endif

}}  // namespace wordloom::WORDLOOM_ABI
