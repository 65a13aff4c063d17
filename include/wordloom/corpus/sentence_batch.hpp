#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <wordloom/core/types.hpp>

namespace wordloom {

/// The unit of work of a kernel on a device: a few million words of the corpus, before subsampling.
/// The kernel subsamples, draws windows and negatives itself.
struct SentenceBatch {
  std::vector<WordId> words;
  std::vector<std::uint32_t> ends;   // [sentences] ends in `words`
  std::uint64_t first_sentence = 0;  // of the epoch: numbers the random streams
  std::size_t index = 0;             // of the epoch
  bool keep = true;                  // whether each epoch has the same words at this index

  void clear() noexcept {
    words.clear();
    ends.clear();
  }
  /// Adds a sentence, cut into pieces of at most `longest` words that differ by at most one.
  void add(std::span<const WordId> sentence, std::size_t longest) {
    const std::size_t pieces = (sentence.size() + longest - 1) / longest;
    for (std::size_t i = 0; i < pieces; ++i) {
      const std::size_t begin = sentence.size() * i / pieces;
      const std::size_t end = sentence.size() * (i + 1) / pieces;
      words.insert(words.end(), sentence.begin() + static_cast<std::ptrdiff_t>(begin),
                   sentence.begin() + static_cast<std::ptrdiff_t>(end));
      ends.push_back(static_cast<std::uint32_t>(words.size()));
    }
  }
};

}  // namespace wordloom
