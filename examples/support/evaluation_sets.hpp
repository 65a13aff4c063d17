#pragma once
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>
#include <wordloom/evaluation/word_tests.hpp>
#include <wordloom/wordloom.hpp>

/// Returns one line of JSON. Names of files are any bytes: those that are not UTF-8 are replaced.
inline std::string line_of(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

/// Returns a number, null for NaN, which JSON does not have.
inline nlohmann::ordered_json json_number(double x) {
  return std::isfinite(x) ? nlohmann::ordered_json(x) : nlohmann::ordered_json(nullptr);
}

/// Evaluation sets that a command line names: read first, scored later.
class EvaluationSets {
 public:
  EvaluationSets(const std::vector<std::string>& similarity,
                 const std::vector<std::string>& analogy) {
    for (const auto& path : similarity)
      similarity_.push_back({path, wordloom::load_similarity_pairs(path), {}});
    for (const auto& path : analogy) analogy_.push_back({path, wordloom::load_analogies(path), {}});
  }

  bool empty() const { return similarity_.empty() && analogy_.empty(); }

  /// `words`: Embeddings or SubwordEmbeddings.
  template <class Words>
  void run(const Words& words) {
    for (auto& set : similarity_) set.report = wordloom::evaluate_similarity(words, set.data);
    for (auto& set : analogy_) set.report = wordloom::evaluate_analogies(words, set.data);
  }

  void print(std::ostream& out) const {
    for (const auto& set : similarity_) out << set.path << '\n' << set.report << '\n';
    for (const auto& set : analogy_) out << set.path << '\n' << set.report << '\n';
  }

  nlohmann::ordered_json json() const {
    auto scores = nlohmann::ordered_json::object();
    for (const auto& set : similarity_)
      scores["similarity"][set.path] = {{"spearman", json_number(set.report.spearman)},
                                        {"pairs", set.report.used},
                                        {"out_of_vocabulary", set.report.out_of_vocabulary},
                                        {"made_of_subwords", set.report.made_of_subwords}};
    for (const auto& set : analogy_)
      scores["analogy"][set.path] = {{"accuracy", json_number(set.report.total.accuracy())},
                                     {"semantic", json_number(set.report.semantic.accuracy())},
                                     {"syntactic", json_number(set.report.syntactic.accuracy())},
                                     {"asked", set.report.total.asked},
                                     {"skipped", set.report.total.skipped}};
    return scores;
  }

 private:
  template <class Data, class Report>
  struct Set {
    std::string path;
    Data data;
    Report report;
  };

  std::vector<Set<std::vector<wordloom::SimilarityPair>, wordloom::SimilarityReport>> similarity_;
  std::vector<Set<std::vector<wordloom::AnalogySection>, wordloom::AnalogyReport>> analogy_;
};
