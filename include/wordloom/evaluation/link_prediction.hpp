#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <ostream>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/core/detail/finite.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/evaluation/classifier.hpp>
#include <wordloom/evaluation/link_split.hpp>
#include <wordloom/evaluation/word_similarity.hpp>
#include <wordloom/model/embeddings.hpp>

/// Prediction of edges that were held out of a graph, by the vectors of its nodes.
namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// Returns the area under the ROC curve: the probability that a random one of `positive` is above a
/// random one of `negative`, ties counting half. NaN if one of them is empty or contains NaN.
[[nodiscard]] double area_under_curve(std::span<const double> positive,
                                      std::span<const double> negative);

}  // namespace detail

/// The quality with which scores separate held-out links from pairs without a link.
struct LinkReport {
  /// Options of evaluate_links.
  struct Options {
    LogisticOptions classifier = {};
    /// Also the test of PAR-Word2Vec: a linear SVM of both vectors, one after the other.
    bool concatenates = false;
    /// At most four are used; 0: all processors of the machine.
    std::size_t threads = 0;
  };

  struct Row {
    std::string score;
    double auc;
  };
  std::vector<Row> rows;
  /// The micro F1 of the SVM, which is the share of test pairs that it classifies correctly; NaN
  /// without Options::concatenates.
  double micro_f1 = std::numeric_limits<double>::quiet_NaN();
  std::size_t used = 0;      // pairs that were scored, links and others
  std::size_t left_out = 0;  // pairs, of training or test, with an end without a vector

  /// Returns the AUC of the dot product and of the cosine of two nodes' vectors as scores of a
  /// link. Nodes are found by name. Throws InvalidArgument if the embeddings lack vectors for all
  /// links of one kind.
  [[nodiscard]] static LinkReport of_similarity(const Embeddings& embeddings,
                                                const LinkSplit& split);
};

std::ostream& operator<<(std::ostream& out, const LinkReport& report);

namespace detail {

/// The pairs of a split by their rows of the embeddings.
struct LinkRows {
  using Pairs = std::vector<std::pair<WordId, WordId>>;

  LinkRows(const Embeddings& embeddings, const LinkSplit& split);

  /// Returns the AUC of `score(row, row)` on the test.
  template <class Score>
  double auc(Score&& score) const {
    const auto all = [&](const Pairs& pairs) {
      std::vector<double> scores;
      for (const auto& [a, b] : pairs) scores.push_back(score(a, b));
      return scores;
    };
    return area_under_curve(all(test_links), all(test_non_links));
  }

  Pairs train_links, test_links, train_non_links, test_non_links;
  std::size_t left_out = 0;
};

/// Returns the AUC of scores that need no training: dot product and cosine.
LinkReport similarity_report(const Embeddings& embeddings, const LinkRows& pairs);

}  // namespace detail

inline LinkReport LinkReport::of_similarity(const Embeddings& embeddings, const LinkSplit& split) {
  return detail::similarity_report(embeddings, detail::LinkRows(embeddings, split));
}

#if WORDLOOM_HAS_LIBLINEAR

/// Returns the AUC of logistic regressions on node2vec's binary operators (table 1), which are
/// elementwise functions of the vectors x and y of two nodes: x y (Hadamard), (x + y) / 2, |x - y|
/// (weighted L1) and (x - y)^2 (weighted L2); and that of the dot product and the cosine. With
/// Options::concatenates also the micro F1 of a linear SVM of both vectors, first that of the node
/// that comes first in the graph, with the cost and the tolerance of the regressions. The
/// regressions are trained on links of the training graph and pairs without one, 16 (D + 2) bytes
/// of memory for each pair and thread. The result does not depend on the number of threads. Throws
/// InvalidArgument as LinkReport::of_similarity, for vectors that are not finite and for options
/// out of bounds.
[[nodiscard]] LinkReport evaluate_links(const Embeddings& embeddings, const LinkSplit& split,
                                        const LinkReport::Options& options = {});

#else

template <class... Arguments>
void evaluate_links(const Arguments&...) {
  static_assert(sizeof...(Arguments) > 99,
                "evaluate_links needs LIBLINEAR: install it (Debian: liblinear-dev) and configure "
                "with -DWORDLOOM_ENABLE_LIBLINEAR=ON; LinkReport::of_similarity does without");
}

#endif

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

WORDLOOM_FUNCTION double area_under_curve(std::span<const double> positive,
                                          std::span<const double> negative) {
  std::vector<double> scores(positive.begin(), positive.end());
  scores.insert(scores.end(), negative.begin(), negative.end());
  if (positive.empty() || negative.empty() ||
      std::any_of(scores.begin(), scores.end(), is_nan<double>))
    return std::numeric_limits<double>::quiet_NaN();
  const auto ranks = detail::ranks(scores);
  const auto p = static_cast<double>(positive.size()), n = static_cast<double>(negative.size());
  const auto end = ranks.begin() + static_cast<std::ptrdiff_t>(positive.size());
  return (std::accumulate(ranks.begin(), end, 0.0) - p * (p + 1) / 2) / (p * n);
}

}  // namespace detail

WORDLOOM_FUNCTION std::ostream& operator<<(std::ostream& out, const LinkReport& report) {
  std::ostringstream text;
  detail::write_row(text, 9, "link prediction", "AUC");
  for (const auto& [score, auc] : report.rows)
    detail::write_row(text, 9, score, detail::score_text(auc));
  if (!detail::is_nan(report.micro_f1)) {
    detail::write_row(text, 9, "both vectors, linear SVM", "micro F1");
    detail::write_row(text, 9, "concatenation", detail::score_text(report.micro_f1));
  }
  text << report.used << " pairs tested, " << report.left_out << " left out without a vector\n";
  return out << text.str();
}

namespace detail {

WORDLOOM_FUNCTION LinkRows::LinkRows(const Embeddings& embeddings, const LinkSplit& split) {
  const Vocabulary& nodes = split.train.vocabulary();
  std::vector<std::optional<WordId>> row_of;
  for (WordId node = 0; node < nodes.size(); ++node)
    row_of.push_back(embeddings.words().find(nodes.word(node)));
  const auto convert = [&](const std::vector<Graph::Edge>& edges) {
    Pairs pairs;
    for (const Graph::Edge& edge : edges)
      if (row_of[edge.from] && row_of[edge.to])
        pairs.emplace_back(*row_of[edge.from], *row_of[edge.to]);
    left_out += edges.size() - pairs.size();
    if (pairs.empty())
      throw InvalidArgument{"none of ", edges.size(),
                            " pairs of nodes has vectors at both ends; are the names those of the ",
                            "graph?"};
    return pairs;
  };
  train_links = convert(split.train_links);
  test_links = convert(split.test_links);
  train_non_links = convert(split.train_non_links);
  test_non_links = convert(split.test_non_links);
}

WORDLOOM_FUNCTION LinkReport similarity_report(const Embeddings& embeddings,
                                               const LinkRows& pairs) {
  const auto dot = [&](WordId a, WordId b) {
    return dot_in_double(embeddings.vector(a), embeddings.vector(b));
  };
  const auto cosine = [&](WordId a, WordId b) {
    return static_cast<double>(embeddings.similarity(a, b));
  };
  return {{{"dot product", pairs.auc(dot)}, {"cosine", pairs.auc(cosine)}},
          std::numeric_limits<double>::quiet_NaN(),
          pairs.test_links.size() + pairs.test_non_links.size(),
          pairs.left_out};
}

}  // namespace detail

#endif

#if WORDLOOM_HAS_LIBLINEAR

namespace detail {

/// Returns the share of test pairs that a linear SVM of both vectors classifies correctly.
inline double concatenation_score(const Embeddings& embeddings, const LinkRows& pairs,
                                  LogisticOptions options) {
  options.loss = LogisticOptions::Loss::squared_hinge;
  std::vector<float> both;
  const auto concatenate = [&](const std::pair<WordId, WordId>& pair) -> std::span<const float> {
    both.clear();
    for (const WordId node : {pair.first, pair.second}) {
      const auto vector = embeddings.vector(node);
      both.insert(both.end(), vector.begin(), vector.end());
    }
    return both;
  };
  FeatureRows features(2 * embeddings.dimension());
  features.reserve(pairs.train_links.size() + pairs.train_non_links.size());
  for (const auto& pair : pairs.train_links) features.append(concatenate(pair));
  std::vector<std::uint8_t> labels(pairs.train_links.size(), 1);
  for (const auto& pair : pairs.train_non_links) features.append(concatenate(pair));
  labels.resize(features.size(), 0);
  const auto classifier = LogisticRegression::fit(features, labels, options);
  std::size_t right = 0;
  for (const auto& pair : pairs.test_links) right += classifier.decision(concatenate(pair)) > 0;
  for (const auto& pair : pairs.test_non_links)
    right += !(classifier.decision(concatenate(pair)) > 0);
  return static_cast<double>(right) /
         static_cast<double>(pairs.test_links.size() + pairs.test_non_links.size());
}

}  // namespace detail

inline LinkReport evaluate_links(const Embeddings& embeddings, const LinkSplit& split,
                                 const LinkReport::Options& options) {
  using Operator = float (*)(float, float);
  static constexpr std::array<std::pair<const char*, Operator>, 4> operators{{
      {"Hadamard", [](float x, float y) { return x * y; }},
      {"average", [](float x, float y) { return (x + y) / 2; }},
      {"weighted L1", [](float x, float y) { return std::abs(x - y); }},
      {"weighted L2", [](float x, float y) { return (x - y) * (x - y); }},
  }};
  const detail::LinkRows pairs(embeddings, split);
  std::array<double, operators.size()> aucs{};
  const auto evaluate = [&](std::size_t o) {
    std::vector<float> combined(embeddings.dimension());
    const auto combine = [&](WordId a, WordId b) -> std::span<const float> {
      const auto x = embeddings.vector(a), y = embeddings.vector(b);
      std::transform(x.begin(), x.end(), y.begin(), combined.begin(), operators[o].second);
      return combined;
    };
    detail::FeatureRows features(embeddings.dimension());
    features.reserve(pairs.train_links.size() + pairs.train_non_links.size());
    for (const auto& [a, b] : pairs.train_links) features.append(combine(a, b));
    std::vector<std::uint8_t> labels(pairs.train_links.size(), 1);
    for (const auto& [a, b] : pairs.train_non_links) features.append(combine(a, b));
    labels.resize(features.size(), 0);
    const auto classifier = detail::LogisticRegression::fit(features, labels, options.classifier);
    aucs[o] = pairs.auc([&](WordId a, WordId b) { return classifier.decision(combine(a, b)); });
  };
  const std::size_t threads = (std::min)(resolve_threads(options.threads), operators.size());
  detail::run_threads(threads, [&](std::size_t thread) {
    for (std::size_t o = thread; o < operators.size(); o += threads) evaluate(o);
  });
  LinkReport report = detail::similarity_report(embeddings, pairs);
  for (std::size_t o = 0; o < operators.size(); ++o)
    report.rows.push_back({operators[o].first, aucs[o]});
  if (options.concatenates)
    report.micro_f1 = detail::concatenation_score(embeddings, pairs, options.classifier);
  return report;
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
