#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/parallel.hpp>
#include <wordloom/core/text.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/core/word_table.hpp>
#include <wordloom/corpus/text_pieces.hpp>

namespace wordloom::detail {

/// Counts words. Not thread-safe: each thread counts into its own, and `merge` adds them up.
class WordCounter {
 public:
  /// Returns whether the word is new. Throws InvalidArgument past 2^32 - 2 different words.
  bool add(std::string_view word, std::uint64_t count = 1) {
    const WordId id = words_.insert(word);
    if (id < counts_.size()) {
      counts_[id] += count;
      return false;
    }
    counts_.push_back(count);
    return true;
  }

  void merge(const WordCounter& other) {
    other.for_each([this](std::string_view word, std::uint64_t count) { add(word, count); });
  }

  /// Returns the number of different words.
  std::size_t size() const noexcept { return counts_.size(); }

  /// Calls `use(word, count)` for each word, first seen first; the views are valid until the next
  /// `add`.
  template <class Use>
  void for_each(Use&& use) const {
    for (std::size_t i = 0; i < size(); ++i) use(words_[i], counts_[i]);
  }

 private:
  WordTable words_;
  std::vector<std::uint64_t> counts_;
};

/// Counts the words of a part of a text with all threads.
inline WordCounter count_words(const std::filesystem::path& path, std::size_t threads,
                               TextPart part = {}) {
  threads = resolve_threads(threads);
  TextPieces pieces(path, TextPieces::default_piece_bytes, part);
  std::vector<WordCounter> counters(threads);
  run_threads(threads, [&](std::size_t thread) {
    while (const auto piece = pieces.next()) {
      for_each_token(
          piece->text, [&](std::string_view word) { counters[thread].add(word); }, [] {});
      pieces.release(*piece);
    }
  });
  for (std::size_t i = 1; i < threads; ++i) {
    counters[0].merge(counters[i]);
    counters[i] = {};
  }
  return std::move(counters[0]);
}

}  // namespace wordloom::detail
