#pragma once
#include <filesystem>
#include <iomanip>
#include <ostream>
#include <wordloom/evaluation/word_tests.hpp>
#include <wordloom/wordloom.hpp>

/// The scores of vectors on the sets in a folder that has similarity/ and analogy/.
struct Scores {
  double ws353, simlex999, analogies;

  Scores(const wordloom::Embeddings& words, const std::filesystem::path& gold) {
    using namespace wordloom;
    const auto similarity = [&](const char* set) {
      return evaluate_similarity(words, SimilarityPair::load(gold / "similarity" / set)).spearman;
    };
    ws353 = similarity("ws353.tsv");
    simlex999 = similarity("simlex999.tsv");
    analogies =
        evaluate_analogies(words, AnalogySection::load(gold / "analogy" / "questions-words.txt"))
            .total.accuracy();
  }

  /// Prints the scores as cells of a table; without a folder, prints empty cells.
  static void print(std::ostream& out, const wordloom::Embeddings& words,
                    const std::filesystem::path& gold) {
    if (gold.empty()) {
      out << "- | - | -";
      return;
    }
    const Scores scores(words, gold);
    out << std::fixed << std::setprecision(3) << scores.ws353 << " | " << scores.simlex999 << " | "
        << scores.analogies;
  }
};
