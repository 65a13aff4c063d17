#pragma once
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include <wordloom/core/types.hpp>
#include <wordloom/corpus/text_pieces.hpp>
#include <wordloom/corpus/vocabulary.hpp>

namespace wordloom::detail {

/// Stands for \n among ids; no vocabulary is so large.
inline constexpr WordId end_of_line = std::numeric_limits<WordId>::max();

/// Appends the ids of the known words of `text`, and `end_of_line` for each \n.
inline void encode(std::string_view text, const Vocabulary& vocabulary, std::vector<WordId>& ids) {
  for_each_token(
      text,
      [&](std::string_view word) {
        if (const auto id = vocabulary.find(word)) ids.push_back(*id);
      },
      [&] { ids.push_back(end_of_line); });
}

/// Cuts the ids of a text into sentences: a line, or `max_length` known words of a longer one.
/// Needs the ids in order, in pieces of any size.
class SentenceSplitter {
 public:
  explicit SentenceSplitter(std::size_t max_length) : max_length_(max_length) {}

  /// Calls `word(id)` for each known word and `end()` after the last of each sentence but the last.
  template <class Word, class End>
  void operator()(std::span<const WordId> ids, Word&& word, End&& end) {
    for (const WordId id : ids) {
      if (id != end_of_line) {
        word(id);
        if (++length_ < max_length_) continue;
      }
      finish(end);
    }
  }

  /// Calls `end()` when a sentence is open.
  template <class End>
  void finish(End&& end) {
    if (length_ > 0) end();
    length_ = 0;
  }

 private:
  std::size_t max_length_;
  std::size_t length_ = 0;  // of the sentence that is open
};

}  // namespace wordloom::detail
