#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/sampler/expected_updates.hpp>
#include <wordloom/sampler/huffman_tree.hpp>
#include <wordloom/sampler/negative_sampling.hpp>
#include <wordloom/sampler/targets.hpp>

namespace wordloom {

/// Targets of a centre: the inner nodes of its path in the Huffman tree (hierarchical softmax). Row
/// k of Model::output [(V - 1) x D] is inner node k.
struct HuffmanPath {
  /// Scratch of a thread: nothing is drawn.
  class Worker {
   public:
    Worker(HuffmanTree tree, std::size_t slots) : tree_(std::move(tree)), words_(slots) {}
    void begin(std::span<const WordId>, Random&) const noexcept {}
    void finish(std::span<const WordId> centers, std::size_t slot, Random&) noexcept {
      std::copy(centers.begin(), centers.end(), words_.begin() + static_cast<std::ptrdiff_t>(slot));
    }
    void draw(WordId center, std::size_t slot, Random&) noexcept { words_[slot] = center; }
    TargetSet at(std::size_t slot) const noexcept { return tree_.path(words_[slot]); }

   private:
    HuffmanTree tree_;
    std::vector<WordId> words_;  // [slots]
  };

  /// The tree of a run.
  class Run {
   public:
    explicit Run(const Vocabulary& vocabulary) : tree_(vocabulary) {}
    const HuffmanTree& tree() const noexcept { return tree_; }
    std::size_t output_rows() const noexcept { return tree_.node_count(); }
    std::size_t max_outputs() const noexcept { return tree_.max_path(); }
    double expected_size(const WordRates& rates) const noexcept {
      double sum = 0;
      for (std::size_t i = 0; i < rates.kept.size(); ++i)
        sum +=
            rates.kept[i] * static_cast<double>(tree_.path(static_cast<WordId>(i)).outputs.size());
      return sum / rates.sum;
    }
    std::vector<double> expected_outputs(const WordRates& rates) const {
      std::vector<double> result(output_rows());
      for (std::size_t i = 0; i < rates.kept.size(); ++i)
        for (const RowId node : tree_.path(static_cast<WordId>(i)).outputs)
          result[node] += rates.kept[i];
      return result;
    }
    Worker worker(std::size_t slots, std::size_t) const { return {tree_, slots}; }

   private:
    HuffmanTree tree_;
  };

  /// Throws CorpusError for a vocabulary of fewer than two words.
  Run start(const Vocabulary& vocabulary) const { return Run(vocabulary); }
};

static_assert(Targets<HuffmanPath>);

/// Both: the path in the Huffman tree, and the centre with its negatives, as word2vec.c trains them
/// with -hs 1 and -negative above 0. Of Model::output [(2 V - 1) x D], row 2 w is word w and row
/// 2 k + 1 is inner node k, so that rows are still in the order of falling count.
struct HuffmanPathAndNegatives {
  NegativeSampling sampling = {};

  static HuffmanPathAndNegatives from(const Hyperparameters& parameters) {
    return {NegativeSampling::from(parameters)};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    sampling.visit_parameters(visit);
  }

  /// The targets of one thread's centres.
  class Worker {
   public:
    Worker(HuffmanTree tree, NegativeSampling::Worker negatives, std::size_t max_outputs,
           std::size_t slots)
        : tree_(std::move(tree)),
          negatives_(std::move(negatives)),
          max_outputs_(max_outputs),
          rows_(slots * max_outputs),
          sets_(slots) {}

    void begin(std::span<const WordId> centers, Random& random) noexcept {
      negatives_.begin(centers, random);
    }
    void finish(std::span<const WordId> centers, std::size_t slot, Random& random) noexcept {
      negatives_.finish(centers, slot, random);
      for (std::size_t i = 0; i < centers.size(); ++i) join(centers[i], slot + i);
    }
    void draw(WordId center, std::size_t slot, Random& random) noexcept {
      negatives_.draw(center, slot, random);
      join(center, slot);
    }
    TargetSet at(std::size_t slot) const noexcept {
      return {std::span(rows_).subspan(slot * max_outputs_, sets_[slot].size),
              sets_[slot].positives};
    }

   private:
    /// Positive nodes, the centre, other nodes, negative words.
    void join(WordId center, std::size_t slot) noexcept {
      const TargetSet path = tree_.path(center), words = negatives_.at(slot);
      RowId* to = rows_.data() + slot * max_outputs_;
      const auto node_row = [](RowId node) { return 2 * node + 1; };
      const auto word_row = [](RowId word) { return 2 * word; };
      to = std::transform(path.outputs.begin(),
                          path.outputs.begin() + static_cast<std::ptrdiff_t>(path.positives), to,
                          node_row);
      *to++ = word_row(center);
      to = std::transform(path.outputs.begin() + static_cast<std::ptrdiff_t>(path.positives),
                          path.outputs.end(), to, node_row);
      std::transform(words.outputs.begin() + 1, words.outputs.end(), to, word_row);
      sets_[slot] = {path.outputs.size() + words.outputs.size(), path.positives + 1};
    }

    struct Set {
      std::size_t size = 0, positives = 0;
    };
    HuffmanTree tree_;
    NegativeSampling::Worker negatives_;
    std::size_t max_outputs_;
    std::vector<RowId> rows_;  // [slots][max_outputs]
    std::vector<Set> sets_;    // [slots]
  };

  /// The tree and the tables of a run.
  class Run {
   public:
    Run(const HuffmanPathAndNegatives& policy, const Vocabulary& vocabulary)
        : path_(vocabulary), negatives_(policy.sampling.start(vocabulary)) {}
    std::size_t output_rows() const noexcept {
      return path_.output_rows() + negatives_.output_rows();
    }
    std::size_t max_outputs() const noexcept {
      return path_.max_outputs() + negatives_.max_outputs();
    }
    double expected_size(const WordRates& rates) const noexcept {
      return path_.expected_size(rates) + negatives_.expected_size(rates);
    }
    std::vector<double> expected_outputs(const WordRates& rates) const {
      const auto nodes = path_.expected_outputs(rates), words = negatives_.expected_outputs(rates);
      std::vector<double> result(output_rows());
      for (std::size_t w = 0; w < words.size(); ++w) result[2 * w] = words[w];
      for (std::size_t k = 0; k < nodes.size(); ++k) result[2 * k + 1] = nodes[k];
      return result;
    }
    Worker worker(std::size_t slots, std::size_t at_once) const {
      return {path_.tree(), negatives_.worker(slots, at_once), max_outputs(), slots};
    }

   private:
    HuffmanPath::Run path_;
    NegativeSampling::Run negatives_;
  };

  /// Throws CorpusError for a vocabulary of fewer than two words.
  Run start(const Vocabulary& vocabulary) const { return {*this, vocabulary}; }
};

static_assert(Targets<HuffmanPathAndNegatives>);

}  // namespace wordloom
