#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <wordloom/core/mapped_file.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/corpus_options.hpp>
#include <wordloom/corpus/sentence_splitter.hpp>
#include <wordloom/corpus/text_pieces.hpp>
#include <wordloom/corpus/vocabulary.hpp>

namespace wordloom::detail {

/// Reads the sentences of the i-th of n parts of a text, one after the other, in the memory of one
/// piece. Not thread-safe.
class SentenceReader {
 public:
  SentenceReader(const std::filesystem::path& path, Vocabulary vocabulary,
                 const CorpusOptions& options, std::size_t i, std::size_t n)
      : SentenceReader(MappedFile(path), std::move(vocabulary), options, i, n) {}

  /// Goes to the next sentence; false at the end.
  bool next() {
    sentence_.clear();
    while (true) {
      while (at_ < ids_.size()) {
        const WordId id = ids_[at_++];
        if (id != end_of_line) sentence_.push_back(id);
        if (id == end_of_line ? !sentence_.empty() : sentence_.size() == max_length_) return true;
      }
      // What follows a piece of ours is another part's.
      if (every_ > 1 && !sentence_.empty()) return true;
      if (!read_piece()) return !sentence_.empty();
    }
  }

  /// Valid until `next`.
  std::span<const WordId> sentence() const noexcept { return sentence_; }

 private:
  static constexpr std::size_t largest_piece = std::size_t{1} << 18;

  SentenceReader(const MappedFile& file, Vocabulary vocabulary, const CorpusOptions& options,
                 std::size_t i, std::size_t n)
      : vocabulary_(std::move(vocabulary)),
        max_length_(options.max_sentence_length),
        every_(TextPieces::is_gzip(file) ? n : 1),
        ours_(every_ > 1 ? i : 0),
        pieces_(file.path(), std::min(options.piece_bytes, largest_piece),
                every_ == n ? 0 : border(file.text(), i, n),
                every_ == n ? file.size() : border(file.text(), i + 1, n)) {}

  /// Where the i-th of n parts begins: after the next line end, or where none is near after the
  /// next white space.
  static std::size_t border(std::string_view text, std::size_t i, std::size_t n) {
    constexpr std::size_t near = std::size_t{1} << 16;
    const std::size_t from = part_of(text.size(), std::min(i, n - 1), n).first;
    if (i == n) return text.size();
    if (from == 0) return 0;
    if (const std::size_t line = text.substr(from - 1, near).find('\n'); line != text.npos)
      return from + line;
    const auto space = std::find_if(text.begin() + static_cast<std::ptrdiff_t>(from) - 1,
                                    text.end(), is_white_space);
    return static_cast<std::size_t>(space - text.begin()) + (space == text.end() ? 0 : 1);
  }

  bool read_piece() {
    while (const auto piece = pieces_.next()) {
      const bool ours = piece->index % every_ == ours_;
      if (ours) {
        ids_.clear();
        at_ = 0;
        encode(piece->text, vocabulary_, ids_);
      }
      pieces_.release(*piece);
      if (ours) return true;
    }
    return false;
  }

  Vocabulary vocabulary_;
  std::size_t max_length_;
  std::size_t every_, ours_;  // pieces of a .gz file that are ours
  TextPieces pieces_;
  std::vector<WordId> ids_;  // of the piece at hand
  std::size_t at_ = 0;
  std::vector<WordId> sentence_;
};

}  // namespace wordloom::detail
