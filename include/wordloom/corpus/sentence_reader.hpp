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
      : vocabulary_(std::move(vocabulary)),
        max_length_(options.max_sentence_length),
        pieces_(path, std::min(options.piece_bytes, largest_piece), options.part.part(i, n)) {}

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
      if (!pieces_.is_contiguous() && !sentence_.empty()) return true;
      if (!read_piece()) return !sentence_.empty();
    }
  }

  /// Valid until `next`.
  std::span<const WordId> sentence() const noexcept { return sentence_; }

 private:
  static constexpr std::size_t largest_piece = std::size_t{1} << 18;

  bool read_piece() {
    const auto piece = pieces_.next();
    if (!piece) return false;
    ids_.clear();
    at_ = 0;
    encode(piece->text, vocabulary_, ids_);
    pieces_.release(*piece);
    return true;
  }

  Vocabulary vocabulary_;
  std::size_t max_length_;
  TextPieces pieces_;
  std::vector<WordId> ids_;  // of the piece at hand
  std::size_t at_ = 0;
  std::vector<WordId> sentence_;
};

}  // namespace wordloom::detail
