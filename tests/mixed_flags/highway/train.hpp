#pragma once
#include <cstddef>
#include <vector>
#include <wordloom/wordloom.hpp>

/// Returns the loss of a small run. `static`: each unit has its own.
static double loss_of_small_run() {
  using namespace wordloom;
  const std::vector<std::vector<std::string>> text(300, {"a", "b", "c", "d", "e", "f"});
  const auto vocabulary = Vocabulary::from_sentences(text, {.min_count = 1});
  DefaultTrainer trainer({.dimension = 40, .subsample = 0, .threads = 1});
  trainer.fit(EncodedCorpus::from_sentences(text, vocabulary), vocabulary);
  return trainer.report().loss;
}
