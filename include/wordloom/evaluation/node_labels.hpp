#pragma once
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iomanip>
#include <limits>
#include <mutex>
#include <numeric>
#include <ostream>
#include <span>
#include <sstream>
#include <utility>
#include <vector>

#include <wordloom/core/detail/finite.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/evaluation/classifier.hpp>
#include <wordloom/evaluation/f1.hpp>
#include <wordloom/evaluation/node_label_file.hpp>
#include <wordloom/evaluation/word_similarity.hpp>
#include <wordloom/model/embeddings.hpp>

/// Classification of nodes by their vectors; a node may have any number of labels.
namespace wordloom { inline namespace WORDLOOM_ABI {

/// The quality with which a linear classifier predicts the labels of nodes from their vectors.
struct NodeLabelReport {
  /// Options of classifying nodes. The defaults are the protocol of DeepWalk (Perozzi et al. 2014)
  /// and node2vec (Grover and Leskovec 2016).
  struct Options {
    /// Shares of the nodes that are trained on, each above 0 and below 1; the others are tested.
    std::vector<double> shares = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9};
    /// Cross-validation with so many parts of the nodes in place of shares, 2 to 1000, as in
    /// PAR-Word2Vec, which has 10: each part is tested by training on the others. 0: shares.
    std::size_t folds = 0;
    /// Number of times that the nodes are shuffled; at least 1.
    std::size_t repetitions = 10;
    std::uint64_t seed = 1;
    /// True if vectors are scaled to length 1 first.
    bool normalize = false;
    LogisticOptions classifier = {};
    /// 0: all processors of the machine.
    std::size_t threads = 0;
  };

  struct Row {
    double share;  // of the nodes, trained on
    detail::MeanAndDeviation micro, macro;
  };
  std::vector<Row> rows;     // one with cross-validation: of all parts and shuffles
  std::size_t used = 0;      // labelled nodes with a vector
  std::size_t left_out = 0;  // labelled nodes without one
  std::size_t labels = 0;    // of the nodes used
};

std::ostream& operator<<(std::ostream& out, const NodeLabelReport& report);

#if WORDLOOM_HAS_LIBLINEAR

namespace detail {

/// The labelled nodes that have vectors, and their classifiers.
class NodeClassification {
 public:
  NodeClassification(const Embeddings& embeddings, const NodeLabels& data,
                     const NodeLabelReport::Options& options);

  NodeLabelReport run();

 private:
  /// One shuffle and one share.
  struct Split {
    std::once_flag opened;
    std::vector<double> scores;  // [tested nodes x labels], until the split is finished
    std::atomic<std::size_t> done{0};
    F1 f1{};
  };

  std::size_t nodes() const { return vectors_.size(); }
  std::size_t trained_nodes(double share) const {
    return static_cast<std::size_t>(std::llround(share * static_cast<double>(nodes())));
  }
  /// Returns a shuffled order of the nodes, in which those of a part of cross-validation are last,
  /// and how many come before.
  std::pair<std::vector<std::uint32_t>, std::size_t> part(std::size_t shuffle,
                                                          std::size_t fold) const;

  /// Trains the classifier of one label, and scores the split after the last label.
  void classify(Split& split, std::span<const std::uint32_t> order, std::size_t trained_nodes,
                std::size_t label) const;

  const NodeLabelReport::Options& options_;
  std::size_t labels_;
  FeatureRows features_;                         // [nodes x D]
  std::vector<std::span<const float>> vectors_;  // [nodes], the same features
  std::vector<std::uint8_t> truth_;              // [nodes x labels] 1 if a node has a label
  std::vector<std::vector<std::uint32_t>> orders_;
  NodeLabelReport report_;
};

}  // namespace detail

/// Classifies nodes by their vectors: one logistic regression for each label (one against the rest)
/// is trained on a share of the nodes. The number of labels of a tested node is taken as known, and
/// that many labels are predicted: those with the highest scores. Micro and macro F1 are those of
/// DeepWalk's scoring.py: macro F1 is the mean over all labels, where a label that is neither
/// predicted nor true has 0. Like that program, this function does not scale vectors by default;
/// with length 1 they are regularised more: on the PPI graph, trained on 50 %, micro F1 rises from
/// 0.208 to 0.232 and macro F1 falls from 0.178 to 0.173. Nodes without a vector are left out and
/// counted. Deterministic for any number of threads. Throws InvalidArgument for options out of
/// bounds, if no node has a label and a vector, and for a vector that is not finite.
[[nodiscard]] inline NodeLabelReport evaluate_node_labels(
    const Embeddings& embeddings, const NodeLabels& labels,
    const NodeLabelReport::Options& options = {}) {
  const Embeddings vectors = options.normalize ? embeddings.normalized() : embeddings;
  return detail::NodeClassification(vectors, labels, options).run();
}

#else

template <class... Arguments>
void evaluate_node_labels(const Arguments&...) {
  static_assert(sizeof...(Arguments) > 99,
                "evaluate_node_labels needs LIBLINEAR: install it (Debian: liblinear-dev) and "
                "configure with -DWORDLOOM_ENABLE_LIBLINEAR=ON");
}

#endif

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION std::ostream& operator<<(std::ostream& out, const NodeLabelReport& report) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(4);
  detail::write_row(text, 11, "node labels, trained on", "micro F1", "deviation", "macro F1",
                    "deviation");
  for (const auto& [share, micro, macro] : report.rows)
    detail::write_row(text, 11, share, detail::score_text(micro.mean),
                      detail::score_text(micro.deviation), detail::score_text(macro.mean),
                      detail::score_text(macro.deviation));
  text << report.labels << " labels, " << report.used << " nodes, " << report.left_out
       << " without a vector\n";
  return out << text.str();
}

#endif

#if WORDLOOM_HAS_LIBLINEAR
namespace detail {

inline NodeClassification::NodeClassification(const Embeddings& embeddings, const NodeLabels& data,
                                              const NodeLabelReport::Options& options)
    : options_(options), labels_(data.labels.size()), features_(embeddings.dimension()) {
  std::vector<bool> is_used(labels_);
  for (const auto& [name, labels] : data.nodes) {
    const auto row = embeddings.words().find(name);
    if (!row) {
      ++report_.left_out;
      continue;
    }
    vectors_.push_back(embeddings.vector(*row));
    if (!all_finite(vectors_.back()))
      throw InvalidArgument{"the vector of node '", name, "' is not finite"};
    features_.append(vectors_.back());
    truth_.resize(truth_.size() + labels_);
    for (const std::uint32_t label : labels) {
      if (label >= labels_)
        throw InvalidArgument{"node '", name, "' has label ", label, " of ", labels_};
      truth_[truth_.size() - labels_ + label] = 1;
      is_used[label] = true;
    }
  }
  report_.used = vectors_.size();
  report_.labels = static_cast<std::size_t>(std::count(is_used.begin(), is_used.end(), true));
  if (report_.labels == 0)
    throw InvalidArgument{"none of the ", data.nodes.size(),
                          " nodes has a label and a vector; are the names those of the graph?"};
}

inline NodeLabelReport NodeClassification::run() {
  const std::size_t folds = options_.folds;
  if (folds == 1 || folds > 1000)
    throw InvalidArgument{"folds is ", folds, ", must be 0 or 2 to 1000"};
  if (folds > nodes())
    throw InvalidArgument{"cross-validation with ", folds, " parts needs as many nodes, got ",
                          nodes()};
  std::vector<double> all_shares = options_.shares;
  if (folds != 0) all_shares.assign(1, 1 - 1 / static_cast<double>(folds));
  for (const double share : folds == 0 ? all_shares : std::vector<double>{}) {
    if (detail::is_nan(share) || !(share > 0 && share < 1))
      throw InvalidArgument{"the share of training nodes is ", share,
                            ", must be above 0 and below 1"};
    if (const std::size_t trained = trained_nodes(share); trained == 0 || trained == nodes())
      throw InvalidArgument{"a share of ", share, " of ", nodes(),
                            " nodes leaves none to train on or none to test"};
  }
  if (options_.repetitions == 0) throw InvalidArgument("repetitions is 0, must be at least 1");
  std::vector<std::uint32_t> order(nodes());
  std::iota(order.begin(), order.end(), 0u);
  for (std::size_t i = 0; i < options_.repetitions; ++i) {
    Random random(options_.seed, i);
    orders_.push_back(order);
    std::shuffle(orders_.back().begin(), orders_.back().end(), random);
  }
  // The splits of a shuffle are by share or by part.
  const std::size_t shares = all_shares.size(), of_shuffle = folds == 0 ? shares : folds;
  std::vector<Split> splits(of_shuffle * orders_.size());
  // Splits run one after the other, so that the scores of few are in memory at a time.
  const std::size_t jobs = splits.size() * labels_;
  std::atomic<std::size_t> next{0};
  run_threads((std::min)(resolve_threads(options_.threads), jobs), [&](std::size_t) {
    for (std::size_t job; (job = next.fetch_add(1)) < jobs;) {
      const std::size_t split = job / labels_, at = split % of_shuffle;
      if (folds == 0) {
        classify(splits[split], orders_[split / shares], trained_nodes(all_shares[at]),
                 job % labels_);
      } else {
        const auto [nodes_of_part, trained] = part(split / folds, at);
        classify(splits[split], nodes_of_part, trained, job % labels_);
      }
    }
  });
  for (std::size_t s = 0; s < shares; ++s) {
    std::vector<double> micro, macro;
    for (std::size_t i = s; i < splits.size(); i += shares) {
      micro.push_back(splits[i].f1.micro);
      macro.push_back(splits[i].f1.macro);
    }
    report_.rows.push_back(
        {all_shares[s], MeanAndDeviation::of(micro), MeanAndDeviation::of(macro)});
  }
  return report_;
}

inline std::pair<std::vector<std::uint32_t>, std::size_t> NodeClassification::part(
    std::size_t shuffle, std::size_t fold) const {
  const auto [first, last] = part_of(nodes(), fold, options_.folds);
  std::vector<std::uint32_t> order = orders_[shuffle];
  std::rotate(order.begin() + static_cast<std::ptrdiff_t>(first),
              order.begin() + static_cast<std::ptrdiff_t>(last), order.end());
  return {std::move(order), nodes() - (last - first)};
}

inline void NodeClassification::classify(Split& split, std::span<const std::uint32_t> order,
                                         std::size_t trained_nodes, std::size_t label) const {
  const auto trained = order.first(trained_nodes);
  const auto tested = order.subspan(trained.size());
  std::call_once(split.opened, [&] { split.scores.resize(tested.size() * labels_); });
  std::vector<std::uint8_t> positive;
  for (const std::uint32_t node : trained) positive.push_back(truth_[node * labels_ + label]);
  const auto set_scores = [&](auto&& score) {
    for (std::size_t i = 0; i < tested.size(); ++i)
      split.scores[i * labels_ + label] = score(vectors_[tested[i]]);
  };
  // With one class alone there is nothing to learn: all nodes have the label, or no node has it.
  if (std::find(positive.begin(), positive.end(), !positive[0]) == positive.end()) {
    constexpr double most = (std::numeric_limits<double>::max)();
    set_scores([&](auto&&) { return positive[0] != 0 ? most : -most; });
  } else {
    const auto classifier =
        LogisticRegression::fit(features_, trained, positive, options_.classifier);
    set_scores([&](std::span<const float> vector) { return classifier.decision(vector); });
  }
  if (split.done.fetch_add(1) + 1 < labels_) return;
  std::vector<std::uint8_t> truth;
  for (const std::uint32_t node : tested) {
    const auto row = truth_.begin() + static_cast<std::ptrdiff_t>(node * labels_);
    truth.insert(truth.end(), row, row + static_cast<std::ptrdiff_t>(labels_));
  }
  split.f1 = top_k_f1(split.scores, truth, labels_, report_.labels);
  std::vector<double>().swap(split.scores);
}

}  // namespace detail
#endif

}}  // namespace wordloom::WORDLOOM_ABI
