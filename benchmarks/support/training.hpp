#pragma once
#include <benchmark/benchmark.h>

#include <filesystem>
#include <wordloom/wordloom.hpp>

#include "scores.hpp"

/// What to train on.
struct TrainingInput {
  wordloom::Vocabulary vocabulary;
  wordloom::EncodedCorpus corpus;
  std::filesystem::path gold;  // empty: no scores
};

/// Trains for a row of Google Benchmark, with loss, scores and words a second, which it returns.
template <class AnyTrainer>
double measure_training(benchmark::State& state, const TrainingInput& input,
                        const wordloom::Hyperparameters& parameters) {
  AnyTrainer trainer(parameters);
  double words = 0, seconds = 0;
  for (auto _ : state) {
    const auto vectors = trainer.fit(input.corpus, input.vocabulary);
    const auto& report = trainer.report();
    state.SetIterationTime(report.seconds);
    words += static_cast<double>(report.tokens);
    seconds += report.seconds;
    state.counters["loss"] = report.loss;
    state.PauseTiming();
    if (!input.gold.empty()) {
      const Scores scores(vectors, input.gold);
      state.counters["ws353"] = scores.ws353;
      state.counters["simlex999"] = scores.simlex999;
      state.counters["analogies"] = scores.analogies;
    }
    state.ResumeTiming();
  }
  state.counters["words_per_second"] = words / seconds;
  return words / seconds;
}
