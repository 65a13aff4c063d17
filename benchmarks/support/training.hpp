#pragma once
#include <benchmark/benchmark.h>

#include <filesystem>
#include <optional>
#include <utility>
#include <wordloom/wordloom.hpp>

#include "demo_text.hpp"
#include "scores.hpp"

/// A text to train on.
struct TrainingInput {
  wordloom::Vocabulary vocabulary;
  wordloom::EncodedCorpus corpus;
  std::filesystem::path gold;  // empty: no scores
};

/// Reads the text. `gold`: the folder of test sets to score on, or empty.
inline TrainingInput load_input(const BenchmarkText& text, std::filesystem::path gold = {},
                                const wordloom::CorpusOptions& options = {},
                                const wordloom::VocabularyOptions& words = {}) {
  auto vocabulary = wordloom::Vocabulary::from_text(text.path(), words);
  auto corpus = wordloom::EncodedCorpus::from_text(text.path(), vocabulary, options);
  return {std::move(vocabulary), std::move(corpus), std::move(gold)};
}

/// Trains for a row of Google Benchmark and adds loss, scores and words a second to it.
/// `train(std::optional<Model>&)` makes and trains a model and returns a TrainReport. Returns the
/// words a second.
template <class Train>
double measure(benchmark::State& state, const TrainingInput& input, Train train) {
  double words = 0, seconds = 0;
  for (auto _ : state) {
    std::optional<wordloom::Model> model;
    const wordloom::TrainReport report = train(model);
    state.SetIterationTime(report.seconds);
    words += static_cast<double>(report.tokens);
    seconds += report.seconds;
    state.counters["loss"] = report.loss;
    state.PauseTiming();
    if (!input.gold.empty()) {
      const Scores scores(std::move(*model).embeddings(), input.gold);
      state.counters["ws353"] = scores.ws353;
      state.counters["simlex999"] = scores.simlex999;
      state.counters["analogies"] = scores.analogies;
    }
    state.ResumeTiming();
  }
  state.counters["words_per_second"] = words / seconds;
  return words / seconds;
}

/// The same of a trainer.
template <class AnyTrainer>
double measure_training(benchmark::State& state, const TrainingInput& input,
                        const wordloom::Hyperparameters& parameters) {
  return measure(state, input, [&](std::optional<wordloom::Model>& model) {
    AnyTrainer trainer(parameters);
    model.emplace(trainer.new_model(input.vocabulary));
    return trainer.train(input.corpus, *model);
  });
}
