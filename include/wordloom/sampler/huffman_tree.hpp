#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <wordloom/core/detail/random_reads.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/sampler/targets.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// The Huffman tree of a vocabulary, by counts (Mikolov et al. 2013b, section 2.1; Morin and Bengio
/// 2005). The path of a word consists of the inner nodes from the root to the word. Inner nodes are
/// numbered by descending count: 0 is the root. Immutable; copies share the tables; thread-safe.
class HuffmanTree {
 public:
  /// Throws CorpusError for a vocabulary of fewer than two words.
  explicit HuffmanTree(const Vocabulary& vocabulary)
      : tables_(std::make_shared<const Tables>(paths(vocabulary))) {}

  /// Returns V - 1.
  std::size_t node_count() const noexcept { return tables_->shares.size(); }
  std::size_t max_path() const noexcept { return tables_->max_path; }
  /// Returns the share of all words, by counts, that are below a node.
  double share(RowId node) const noexcept { return tables_->shares[node]; }
  /// Returns the path of a word: first the nodes at which it is in the branch of the smaller count,
  /// which have label 1 (word2vec.c's code 0), then the others; each from the root down.
  TargetSet path(WordId word) const noexcept {
    const RowId* const entry = tables_->entry(word);
    return {{entry + 2, entry[0]}, entry[1]};
  }
  /// Prefetches what path(word) reads; for a large vocabulary it is not cached.
  [[gnu::always_inline]] void prefetch(WordId word) const noexcept {
    const RowId* const entry = tables_->entry(word);
    for (std::size_t i = 0; i < tables_->lines; ++i) __builtin_prefetch(entry + i * line);
  }

 private:
  static constexpr std::size_t line = 16;  // numbers in 64 bytes

  struct Tables {
    struct alignas(64) Line {
      RowId numbers[line];
    };
    /// [V][lines] The size of a path, its positive nodes, and its nodes: of a fixed size, so that
    /// they can be prefetched without reading another table.
    std::vector<Line> entries;
    std::size_t lines = 0, max_path = 0;
    std::vector<double> shares;  // [V - 1]

    const RowId* entry(WordId word) const noexcept { return entries[word * lines].numbers; }
  };

  static Tables paths(const Vocabulary& vocabulary);

  std::shared_ptr<const Tables> tables_;
};

}  // namespace detail

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

WORDLOOM_FUNCTION HuffmanTree::Tables HuffmanTree::paths(const Vocabulary& vocabulary) {
  const std::size_t words = vocabulary.size();
  if (words < 2)
    throw CorpusError{"hierarchical softmax needs a vocabulary of at least 2 words, got ", words};
  // Two queues, both by ascending count: words from the last to the first, and inner nodes in the
  // order in which they are made. Node i of the order is row V - 2 - i.
  struct Parent {
    std::uint32_t node;
    bool is_smaller;  // of the two children
  };
  std::vector<Parent> of_word(words), of_node(words - 1);
  std::vector<std::uint64_t> counts(words - 1);
  std::size_t words_left = words, next_node = 0;
  for (std::size_t made = 0; made + 1 < words; ++made) {
    for (const bool is_smaller : {true, false}) {
      const bool takes_word =
          words_left > 0 &&
          (next_node == made || vocabulary.counts()[words_left - 1] < counts[next_node]);
      const Parent parent{static_cast<std::uint32_t>(made), is_smaller};
      if (takes_word) {
        counts[made] += vocabulary.counts()[--words_left];
        of_word[words_left] = parent;
      } else {
        counts[made] += counts[next_node];
        of_node[next_node++] = parent;
      }
    }
  }
  Tables tables;
  const std::size_t root = words - 2;
  std::vector<std::uint32_t> depths(words - 1);
  for (std::size_t made = root; made-- > 0;) depths[made] = depths[of_node[made].node] + 1;
  for (const Parent& parent : of_word)
    tables.max_path = (std::max<std::size_t>)(tables.max_path, depths[parent.node] + 1);
  tables.lines = (2 + tables.max_path + line - 1) / line;
  detail::resize_for_random_reads(tables.entries, words * tables.lines);
  for (std::size_t made = words - 1; made-- > 0;)
    tables.shares.push_back(static_cast<double>(counts[made]) / static_cast<double>(counts[root]));
  std::vector<RowId> positives, negatives;
  for (std::size_t word = 0; word < words; ++word) {
    positives.clear();
    negatives.clear();
    for (Parent at = of_word[word];; at = of_node[at.node]) {
      (at.is_smaller ? positives : negatives).push_back(static_cast<RowId>(root - at.node));
      if (at.node == root) break;
    }
    RowId* to = tables.entries[word * tables.lines].numbers;
    *to++ = static_cast<RowId>(positives.size() + negatives.size());
    *to++ = static_cast<RowId>(positives.size());
    to = std::copy(positives.rbegin(), positives.rend(), to);
    std::copy(negatives.rbegin(), negatives.rend(), to);
  }
  return tables;
}

}  // namespace detail

#endif

}}  // namespace wordloom::WORDLOOM_ABI
