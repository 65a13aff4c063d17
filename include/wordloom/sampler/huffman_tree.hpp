#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/sampler/targets.hpp>

namespace wordloom::inline WORDLOOM_ABI {

/// The Huffman tree of a vocabulary, by counts (Mikolov et al. 2013b, section 2.1; Morin and Bengio
/// 2005). A word's path are the inner nodes from the root to the word. Inner nodes are numbered by
/// falling count: 0 is the root. Immutable; copies share the tables; thread-safe.
class HuffmanTree {
 public:
  /// Throws CorpusError for a vocabulary of fewer than two words.
  explicit HuffmanTree(const Vocabulary& vocabulary)
      : tables_(std::make_shared<const Tables>(paths(vocabulary))) {}

  /// V - 1.
  std::size_t node_count() const noexcept { return tables_->ends.size() - 1; }
  std::size_t max_path() const noexcept { return tables_->max_path; }
  /// The share of all words, by counts, that lie below a node.
  double share(RowId node) const noexcept { return tables_->shares[node]; }
  /// The path of a word: first the nodes at which it lies in the branch of the smaller count, which
  /// carry label 1 (word2vec.c's code 0), then the others; each from the root down.
  TargetSet path(WordId word) const noexcept {
    const std::size_t first = word == 0 ? 0 : tables_->ends[word - 1];
    return {std::span(tables_->nodes).subspan(first, tables_->ends[word] - first),
            tables_->positives[word]};
  }
  /// Asks for what path() will read: of large vocabularies it is not in the cache.
  [[gnu::always_inline]] void prefetch(WordId word) const noexcept {
    const TargetSet path = this->path(word);
    __builtin_prefetch(path.outputs.data());
    __builtin_prefetch(path.outputs.data() + path.outputs.size() - 1);
  }

 private:
  struct Tables {
    std::vector<RowId> nodes;              // the paths of all words
    std::vector<std::size_t> ends;         // [V] ends of the paths in `nodes`
    std::vector<std::uint32_t> positives;  // [V]
    std::vector<double> shares;            // [V - 1]
    std::size_t max_path = 0;
  };

  static Tables paths(const Vocabulary& vocabulary);

  std::shared_ptr<const Tables> tables_;
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION HuffmanTree::Tables HuffmanTree::paths(const Vocabulary& vocabulary) {
  const std::size_t words = vocabulary.size();
  if (words < 2)
    throw CorpusError("hierarchical softmax needs a vocabulary of at least 2 words, got " +
                      std::to_string(words));
  // Two queues, both by rising count: words from the last to the first, and inner nodes in the
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
  std::vector<RowId> positives, negatives;
  const std::size_t root = words - 2;
  for (std::size_t made = words - 1; made-- > 0;)
    tables.shares.push_back(static_cast<double>(counts[made]) / static_cast<double>(counts[root]));
  for (std::size_t word = 0; word < words; ++word) {
    positives.clear();
    negatives.clear();
    for (Parent at = of_word[word];; at = of_node[at.node]) {
      (at.is_smaller ? positives : negatives).push_back(static_cast<RowId>(root - at.node));
      if (at.node == root) break;
    }
    tables.nodes.insert(tables.nodes.end(), positives.rbegin(), positives.rend());
    tables.nodes.insert(tables.nodes.end(), negatives.rbegin(), negatives.rend());
    tables.ends.push_back(tables.nodes.size());
    tables.positives.push_back(static_cast<std::uint32_t>(positives.size()));
    tables.max_path = std::max(tables.max_path, positives.size() + negatives.size());
  }
  return tables;
}

#endif

}  // namespace wordloom::inline WORDLOOM_ABI
