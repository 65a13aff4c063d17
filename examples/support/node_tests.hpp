#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/graph.hpp>
#include <wordloom/wordloom.hpp>

#include "evaluation_sets.hpp"

/// Tests of the vectors of nodes: prediction of links held out of the graph, and of labels.
class NodeTests {
 public:
  /// Reads the file of labels; empty: none. Throws IoError and FormatError.
  explicit NodeTests(std::string labels) : path_(std::move(labels)) {
    if (!path_.empty()) labels_ = wordloom::NodeLabels::load(path_);
  }

  bool empty() const { return !split_ && !labels_; }

  /// Returns the graph to train on. Throws InvalidArgument.
  wordloom::Graph hold_links_out(const wordloom::Graph& graph, std::uint64_t seed) {
    split_ = wordloom::LinkSplit::of(graph, {.seed = seed});
    return split_->train;
  }

  /// Throws InvalidArgument if the graph has none of the labelled nodes.
  void check_names(const wordloom::Vocabulary& nodes) const {
    if (!labels_) return;
    const auto& labelled = labels_->nodes;
    if (std::none_of(labelled.begin(), labelled.end(),
                     [&](const auto& node) { return nodes.find(node.name).has_value(); }))
      throw wordloom::InvalidArgument(path_ + ": the graph has none of these nodes");
  }

  /// Adds PAR-Word2Vec's test of links, by a linear SVM of both vectors.
  void add_concatenation() { concatenates_ = true; }
  /// Tests labels by cross-validation with so many parts.
  void cross_validate(std::size_t folds) { folds_ = folds; }

  /// `shares`: of the labelled nodes to train on; empty: 10 % to 90 %.
  void run(const wordloom::Embeddings& nodes, [[maybe_unused]] std::size_t threads,
           [[maybe_unused]] const std::vector<double>& shares = {}) {
#if WORDLOOM_HAS_LIBLINEAR
    if (labels_) {
      const auto& labelled = labels_->nodes;
      if (std::none_of(labelled.begin(), labelled.end(),
                       [&](const auto& node) { return nodes.contains(node.name); }))
        throw wordloom::InvalidArgument(path_ + ": none of its " + std::to_string(labelled.size()) +
                                        " nodes has a vector, for example " +
                                        in_quotes(labelled[0].name));
    }
    if (split_)
      link_report_ = wordloom::evaluate_links(nodes, *split_,
                                              {.concatenates = concatenates_, .threads = threads});
    wordloom::NodeLabelReport::Options options{.folds = folds_, .threads = threads};
    if (folds_ > 0) options.repetitions = 1;
    if (!shares.empty()) options.shares = shares;
    if (labels_) label_report_ = wordloom::evaluate_node_labels(nodes, *labels_, options);
#else
    if (split_) link_report_ = wordloom::LinkReport::of_similarity(nodes, *split_);
#endif
  }

  void print(std::ostream& out) const {
    if (link_report_) out << *link_report_ << '\n';
    if (label_report_) out << path_ << '\n' << *label_report_ << '\n';
  }

  nlohmann::ordered_json json() const {
    auto scores = nlohmann::ordered_json::object();
    if (link_report_) {
      for (const auto& [score, auc] : link_report_->rows)
        scores["links"]["auc"][score] = json_number(auc);
      if (concatenates_)
        scores["links"]["micro_f1"]["concatenation"] = json_number(link_report_->micro_f1);
      scores["links"]["pairs"] = link_report_->used;
      scores["links"]["left_out"] = link_report_->left_out;
    }
    if (label_report_) {
      auto& of_file = scores["labels"][path_];
      of_file = {{"nodes", label_report_->used},
                 {"left_out", label_report_->left_out},
                 {"labels", label_report_->labels},
                 {"folds", folds_},
                 {"shares", nlohmann::ordered_json::array()}};
      for (const auto& [share, micro, macro] : label_report_->rows)
        of_file["shares"].push_back({{"share", share},
                                     {"micro_f1", json_number(micro.mean)},
                                     {"micro_deviation", json_number(micro.deviation)},
                                     {"macro_f1", json_number(macro.mean)},
                                     {"macro_deviation", json_number(macro.deviation)}});
    }
    return scores;
  }

 private:
  std::string path_;
  bool concatenates_ = false;
  std::size_t folds_ = 0;
  std::optional<wordloom::NodeLabels> labels_;
  std::optional<wordloom::LinkSplit> split_;
  std::optional<wordloom::LinkReport> link_report_;
  std::optional<wordloom::NodeLabelReport> label_report_;
};
