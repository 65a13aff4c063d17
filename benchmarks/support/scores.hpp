#pragma once
#include <benchmark/benchmark.h>

#include <filesystem>
#include <wordloom/wordloom.hpp>

/// Scores vectors on the sets of `gold`, a folder with similarity/ and analogy/.
inline void add_scores(benchmark::State& state, const wordloom::Embeddings& words,
                       const std::filesystem::path& gold) {
  using namespace wordloom;
  const auto similarity = [&](const char* set) {
    return evaluate_similarity(words, load_similarity_pairs(gold / "similarity" / set)).spearman;
  };
  state.counters["ws353"] = similarity("ws353.tsv");
  state.counters["simlex999"] = similarity("simlex999.tsv");
  state.counters["analogies"] =
      evaluate_analogies(words, load_analogies(gold / "analogy" / "questions-words.txt"))
          .total.accuracy();
}
