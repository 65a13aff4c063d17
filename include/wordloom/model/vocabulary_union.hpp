#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/model/row_sources.hpp>

namespace wordloom::detail {

/// The union of two vocabularies, and the places of the first one's words in it. Counts of words in
/// both are added.
class VocabularyUnion {
 public:
  /// Throws InvalidArgument when a sum of counts exceeds 64 bits.
  VocabularyUnion(const Vocabulary& old, const Vocabulary& more) : old_size_(old.size()) {
    std::vector<std::pair<std::string, std::uint64_t>> counts;
    counts.reserve(old.size() + more.size());
    for (WordId id = 0; id < old.size(); ++id) counts.emplace_back(old.word(id), old.count(id));
    for (WordId id = 0; id < more.size(); ++id) {
      const auto known = old.find(more.word(id));
      if (!known) {
        counts.emplace_back(more.word(id), more.count(id));
        continue;
      }
      std::uint64_t& count = counts[*known].second;
      if (count + more.count(id) < count)
        throw InvalidArgument("the counts of the word '" + counts[*known].first +
                              "' add up to more than 2^64 - 1");
      count += more.count(id);
    }
    words_ = Vocabulary::from_counts(counts);
    sources_.assign(words_.size(), no_row);
    for (WordId id = 0; id < words_.size(); ++id)
      if (const auto known = old.find(words_.word(id))) sources_[id] = *known;
  }

  const Vocabulary& words() const noexcept { return words_; }

  /// Returns the sources of an input matrix that had `rows` rows: words, then any others, which
  /// stay behind the words in their order. Throws InvalidArgument when there are too few rows.
  RowSources input(std::size_t rows) const {
    if (rows < old_size_) refuse("input", rows, "at least " + std::to_string(old_size_));
    RowSources result = sources_;
    for (std::size_t row = old_size_; row < rows; ++row) result.push_back(row);
    return result;
  }

  /// Returns the sources of an output matrix that had `rows` rows, for V words one of V (words),
  /// V - 1 (inner nodes of a Huffman tree) and 2V - 1 (word w in row 2w, inner node k in row
  /// 2k + 1). Nodes have no sources. Throws InvalidArgument for another number of rows.
  RowSources output(std::size_t rows) const {
    if (rows == old_size_) return sources_;
    if (rows == old_size_ - 1) return RowSources(words_.size() - 1, no_row);
    if (rows != 2 * old_size_ - 1)
      refuse("output", rows,
             std::to_string(old_size_) + ", " + std::to_string(old_size_ - 1) + " or " +
                 std::to_string(2 * old_size_ - 1));
    RowSources result(2 * words_.size() - 1, no_row);
    for (std::size_t id = 0; id < words_.size(); ++id)
      if (sources_[id] != no_row) result[2 * id] = 2 * sources_[id];
    return result;
  }

 private:
  [[noreturn]] void refuse(const std::string& matrix, std::size_t rows,
                           const std::string& expected) const {
    throw InvalidArgument("cannot extend a model of " + std::to_string(old_size_) +
                          " words whose matrix '" + matrix + "' has " + std::to_string(rows) +
                          " rows; expected " + expected);
  }

  std::size_t old_size_;
  Vocabulary words_;
  RowSources sources_;  // of words
};

}  // namespace wordloom::detail
