#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
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

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Targets of a centre: the inner nodes of its path in the Huffman tree (hierarchical softmax). Row
/// k of Model::output [(V - 1) x D] is inner node k.
///
/// With `node_sample` t above 0, frequent nodes are left out at random, as frequent words are left
/// out of a text (Mikolov et al. 2013b, section 2.3): a node through which the share f of all words
/// passes is kept with probability sqrt(t / f), to within 2^-12, and the last node of a path
/// always. One random number decides for the whole path: nodes are dropped from the top down. With
/// a draw for each node, analogies fall sooner. The few nodes at the top of the tree, half of all
/// work, learn as well from a part of it: with t = 0.001 speed is about twice that of 0, similarity
/// and analogies are as good (benchmarks/results/cbow-and-hs.md).
struct HuffmanPath {
  double node_sample = 1e-3;  // t; 0: all nodes, as in word2vec.c

  static HuffmanPath from(const Hyperparameters& parameters) { return {parameters.node_sample}; }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("node_sample", node_sample, 0.0, 1.0);
  }

  /// The tree of a run, and the probability that each node is kept.
  class Run {
   public:
    Run(const Vocabulary& vocabulary, double node_sample) : tree_(vocabulary) {
      for (RowId node = 0;
           node_sample > 0 && node < tree_.node_count() && tree_.share(node) > node_sample; ++node)
        kept_.push_back(static_cast<std::uint32_t>(
            std::lround(std::sqrt(node_sample / tree_.share(node)) * 65536)));
      kept_.push_back(65536);
      if (kept_.size() == 1) return;
      constexpr std::size_t draws = 4096;
      RowId first = 0;
      for (std::size_t draw = 0; draw < draws; ++draw) {
        while (kept_[first] * draws <= draw * 65536 + 65536 / 2) ++first;
        first_kept_.push_back(first);
      }
    }

    const detail::HuffmanTree& tree() const noexcept { return tree_; }
    /// For each of the first nodes, then once for all others: the probability of being kept, times
    /// 2^16.
    std::span<const std::uint32_t> kept() const noexcept { return kept_; }
    std::size_t output_rows() const noexcept { return tree_.node_count(); }
    std::size_t max_outputs() const noexcept { return tree_.max_path(); }
    double expected_size(const WordRates& rates) const {
      double sum = 0;
      for (const double targets : expected_outputs(rates)) sum += targets;
      return sum / rates.sum;
    }
    std::vector<double> expected_outputs(const WordRates& rates) const {
      std::vector<double> result(output_rows());
      for (std::size_t i = 0; i < rates.kept.size(); ++i) {
        const auto path = tree_.path(static_cast<WordId>(i)).outputs;
        const RowId last = *std::max_element(path.begin(), path.end());
        for (const RowId node : path)
          result[node] +=
              rates.kept[i] *
              (node == last ? 1 : kept_[(std::min<std::size_t>)(node, kept_.size() - 1)] / 65536.0);
      }
      return result;
    }
    class Worker;
    Worker worker(std::size_t slot_count, std::size_t at_once) const;

   private:
    detail::HuffmanTree tree_;
    std::vector<std::uint32_t> kept_;  // of the first nodes; the last entry is for all others
    // [2^12] The first node that is kept, by draw; empty if all nodes are kept.
    std::vector<RowId> first_kept_;
  };

  /// Throws CorpusError for a vocabulary of fewer than two words.
  Run start(const Vocabulary& vocabulary) const { return {vocabulary, node_sample}; }
};

/// The scratch memory of one thread.
class HuffmanPath::Run::Worker {
 public:
  Worker(const Run& run, std::size_t slot_count)
      : tree_(run.tree_),
        first_kept_(run.first_kept_),
        rows_(slot_count * run.max_outputs()),
        sets_(slot_count) {}

  void begin_draw(std::span<const WordId> centers, Random&) const noexcept {
    for (const WordId center : centers) tree_.prefetch(center);
  }
  void end_draw(std::span<const WordId> centers, std::size_t slot, Random& random) noexcept {
    for (const WordId center : centers) draw(center, slot++, random);
  }
  void draw(WordId center, std::size_t slot, Random& random) noexcept {
    const TargetSet path = tree_.path(center);
    sets_[slot] = first_kept_.empty() ? path : sampled(path, slot, random);
  }
  TargetSet at(std::size_t slot) const noexcept { return sets_[slot]; }

 private:
  TargetSet sampled(const TargetSet& path, std::size_t slot, Random& random) noexcept {
    const RowId* const nodes = path.outputs.data();
    const std::size_t size = path.outputs.size(), positives = path.positives;
    // Both parts of a path go down from the root, to nodes of ascending numbers.
    const RowId last = (std::max)(positives > 0 ? nodes[positives - 1] : 0, nodes[size - 1]);
    const RowId first = (std::min)(last, first_kept_[random.below(first_kept_.size())]);
    std::size_t left_out = 0, positives_left_out = 0;
    for (std::size_t i = 0; i < size; ++i) left_out += nodes[i] < first;
    for (std::size_t i = 0; i < positives; ++i) positives_left_out += nodes[i] < first;
    RowId* const rows = rows_.data() + slot * tree_.max_path();
    RowId* const end = std::copy(nodes + positives_left_out, nodes + positives, rows);
    std::copy(nodes + positives + left_out - positives_left_out, nodes + size, end);
    return {{rows, size - left_out}, positives - positives_left_out};
  }

  detail::HuffmanTree tree_;
  std::vector<RowId> first_kept_;
  std::vector<RowId> rows_;      // [slot_count][max_path] if nodes are sampled
  std::vector<TargetSet> sets_;  // [slot_count] of the tree or of rows_
};

inline HuffmanPath::Run::Worker HuffmanPath::Run::worker(std::size_t slot_count,
                                                         std::size_t) const {
  return {*this, slot_count};
}

static_assert(Targets<HuffmanPath>);

/// Targets of both kinds: the path in the Huffman tree, and the centre with its negatives, as
/// word2vec.c trains them with -hs 1 and -negative above 0. In Model::output [(2 V - 1) x D], row 2
/// w is word w and row 2 k + 1 is inner node k, so that rows are still in the order of descending
/// count.
struct HuffmanPathAndNegatives {
  HuffmanPath path = {};
  NegativeSampling sampling = {};

  static HuffmanPathAndNegatives from(const Hyperparameters& parameters) {
    return {HuffmanPath::from(parameters), NegativeSampling::from(parameters)};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit_parameters_of(visit, path, sampling);
  }
  template <class Use>
  void for_each_part(Use&& use) const {
    use(path);
    use(sampling);
  }

  /// The targets of one thread's centres.
  class Worker {
   public:
    Worker(HuffmanPath::Run::Worker path, NegativeSampling::Worker negatives,
           std::size_t max_outputs, std::size_t slot_count)
        : path_(std::move(path)),
          negatives_(std::move(negatives)),
          max_outputs_(max_outputs),
          rows_(slot_count * max_outputs),
          sets_(slot_count) {}

    void begin_draw(std::span<const WordId> centers, Random& random) noexcept {
      negatives_.begin_draw(centers, random);
    }
    void end_draw(std::span<const WordId> centers, std::size_t slot, Random& random) noexcept {
      negatives_.end_draw(centers, slot, random);
      path_.end_draw(centers, slot, random);
      for (std::size_t i = 0; i < centers.size(); ++i) join(centers[i], slot + i);
    }
    void draw(WordId center, std::size_t slot, Random& random) noexcept {
      negatives_.draw(center, slot, random);
      path_.draw(center, slot, random);
      join(center, slot);
    }
    TargetSet at(std::size_t slot) const noexcept { return sets_[slot]; }

   private:
    /// Joins positive nodes, the centre, other nodes and negative words.
    void join(WordId center, std::size_t slot) noexcept {
      const TargetSet nodes = path_.at(slot), words = negatives_.at(slot);
      RowId* const rows = rows_.data() + slot * max_outputs_;
      RowId* to = rows;
      for (std::size_t i = 0; i <= nodes.outputs.size(); ++i) {
        if (i == nodes.positives) *to++ = 2 * center;
        if (i < nodes.outputs.size()) *to++ = 2 * nodes.outputs[i] + 1;
      }
      for (const RowId word : words.outputs.subspan(1)) *to++ = 2 * word;
      sets_[slot] = {{rows, to}, nodes.positives + 1};
    }

    HuffmanPath::Run::Worker path_;
    NegativeSampling::Worker negatives_;
    std::size_t max_outputs_;
    std::vector<RowId> rows_;      // [slot_count][max_outputs]
    std::vector<TargetSet> sets_;  // [slot_count] of rows_
  };

  /// The tree and the tables of a run.
  class Run {
   public:
    Run(const HuffmanPathAndNegatives& policy, const Vocabulary& vocabulary)
        : path_(policy.path.start(vocabulary)), negatives_(policy.sampling.start(vocabulary)) {}
    template <class Use>
    void for_each_part(Use&& use) const {
      use(path_);
      use(negatives_);
    }
    std::size_t output_rows() const noexcept {
      return path_.output_rows() + negatives_.output_rows();
    }
    std::size_t max_outputs() const noexcept {
      return path_.max_outputs() + negatives_.max_outputs();
    }
    double expected_size(const WordRates& rates) const {
      return path_.expected_size(rates) + negatives_.expected_size(rates);
    }
    std::vector<double> expected_outputs(const WordRates& rates) const {
      const auto nodes = path_.expected_outputs(rates), words = negatives_.expected_outputs(rates);
      std::vector<double> result(output_rows());
      for (std::size_t w = 0; w < words.size(); ++w) result[2 * w] = words[w];
      for (std::size_t k = 0; k < nodes.size(); ++k) result[2 * k + 1] = nodes[k];
      return result;
    }
    Worker worker(std::size_t slot_count, std::size_t at_once) const {
      return {path_.worker(slot_count, at_once), negatives_.worker(slot_count, at_once),
              max_outputs(), slot_count};
    }

   private:
    HuffmanPath::Run path_;
    NegativeSampling::Run negatives_;
  };

  /// Throws CorpusError for a vocabulary of fewer than two words.
  Run start(const Vocabulary& vocabulary) const { return {*this, vocabulary}; }
};

static_assert(Targets<HuffmanPathAndNegatives>);

}}  // namespace wordloom::WORDLOOM_ABI
