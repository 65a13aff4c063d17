#pragma once
#include <sys/resource.h>

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/wordloom.hpp>

#include "options.hpp"

/// The evaluation sets of the command line: read before training, scored after it.
class Evaluation {
 public:
  explicit Evaluation(const Options& options) {
    for (const auto& path : options.evaluate_similarity)
      similarity_.push_back({path, wordloom::load_similarity_pairs(path), {}});
    for (const auto& path : options.evaluate_analogy)
      analogy_.push_back({path, wordloom::load_analogies(path), {}});
  }

  bool empty() const { return similarity_.empty() && analogy_.empty(); }

  void run(const wordloom::Embeddings& words) {
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
      scores["similarity"][set.path] = {{"spearman", number(set.report.spearman)},
                                        {"pairs", set.report.used},
                                        {"out_of_vocabulary", set.report.out_of_vocabulary}};
    for (const auto& set : analogy_)
      scores["analogy"][set.path] = {{"accuracy", number(set.report.total.accuracy())},
                                     {"semantic", number(set.report.semantic.accuracy())},
                                     {"syntactic", number(set.report.syntactic.accuracy())},
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

  /// JSON has no NaN.
  static nlohmann::ordered_json number(double x) {
    return std::isfinite(x) ? nlohmann::ordered_json(x) : nlohmann::ordered_json(nullptr);
  }

  std::vector<Set<std::vector<wordloom::SimilarityPair>, wordloom::SimilarityReport>> similarity_;
  std::vector<Set<std::vector<wordloom::AnalogySection>, wordloom::AnalogyReport>> analogy_;
};

/// The most memory that this process has held, bytes.
inline std::uint64_t peak_rss_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

inline nlohmann::ordered_json json_report(const Options& options,
                                          const wordloom::TrainReport& report,
                                          const wordloom::Vocabulary& vocabulary,
                                          std::uint64_t corpus_tokens,
                                          const Evaluation& evaluation) {
  const auto& p = options.parameters;
  return {{"words_per_second", report.words_per_second},
          {"train_seconds", report.seconds},
          {"vocabulary", vocabulary.size()},
          {"tokens", corpus_tokens},
          {"epochs", p.epochs},
          {"loss", report.loss},
          {"peak_rss_bytes", peak_rss_bytes()},
          {"sampler", options.sampler},
          {"kernel", options.kernel},
          {"target", wordloom::target().name},
          {"dimension", p.dimension},
          {"threads", wordloom::resolve_threads(p.threads)},
          {"seed", p.seed},
          {"scores", evaluation.json()}};
}
