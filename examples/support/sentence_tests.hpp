#pragma once
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/evaluation/sentence_vectors.hpp>
#include <wordloom/wordloom.hpp>

#include "evaluation_sets.hpp"

/// Tests of the similarity of sentences, by the mean of their words and, where words have counts,
/// by smooth inverse frequency.
class SentenceTests {
 public:
  /// Reads the files. Throws IoError and FormatError.
  SentenceTests(const std::vector<std::string>& paths, bool zipf, wordloom::LetterCase letter_case)
      : zipf_(zipf), letter_case_(letter_case) {
    for (const std::string& path : paths)
      sets_.emplace_back(path, wordloom::SentenceVectors::Pair::load(path));
  }

  bool empty() const { return sets_.empty(); }

  /// Throws InvalidArgument if no pair of a set has words with vectors.
  template <class Words>
  void run(const Words& words) {
    using wordloom::SentenceVectors;
    const wordloom::Embeddings known = words.in_vocabulary();
    const bool has_counts = zipf_ || !known.counts().empty();
    for (const auto& [path, pairs] : sets_)
      for (const bool sif : {false, true}) {
        if (sif && !has_counts) continue;
        const auto report = SentenceVectors::evaluate(
            words, pairs,
            {.method = sif ? SentenceVectors::Method::sif : SentenceVectors::Method::mean,
             .zipf = zipf_,
             .letter_case = letter_case_});
        if (report.used == 0)
          throw wordloom::InvalidArgument(path + ": no pair has words with vectors on both sides");
        results_.push_back({path, sif ? "sif" : "mean", report});
      }
  }

  void print(std::ostream& out) const {
    for (const auto& [path, method, report] : results_) {
      out << path << "\nsentence similarity, " << method;
      if (std::isnan(report.pearson))
        out << "  not defined "
            << (report.used < 2 ? "for fewer than 2 pairs"
                                : "where all scores or cosines are equal");
      else
        out << "  Pearson " << report.pearson << "  Spearman " << report.spearman;
      out << "  " << report.used << (report.used == 1 ? " pair, " : " pairs, ")
          << report.without_words << " without known words\n";
    }
  }

  nlohmann::ordered_json json() const {
    auto scores = nlohmann::ordered_json::object();
    for (const auto& [path, method, report] : results_)
      scores["sentence_similarity"][path][method] = {{"pearson", json_number(report.pearson)},
                                                     {"spearman", json_number(report.spearman)},
                                                     {"pairs", report.used},
                                                     {"without_words", report.without_words}};
    return scores;
  }

 private:
  struct Result {
    std::string path, method;
    wordloom::SentenceVectors::Report report;
  };

  bool zipf_;
  wordloom::LetterCase letter_case_;
  std::vector<std::pair<std::string, std::vector<wordloom::SentenceVectors::Pair>>> sets_;
  std::vector<Result> results_;
};
