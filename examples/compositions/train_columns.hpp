#pragma once
#include <wordloom/corpus/word_context_matrix.hpp>

#include "composition.hpp"

/// Returns hyperparameters without those of the word-context matrix, which trainers do not read.
inline wordloom::Hyperparameters without_contexts(wordloom::Hyperparameters parameters) {
  constexpr wordloom::Hyperparameters defaults;
  parameters.window = defaults.window;
  parameters.subsample = defaults.subsample;
  return parameters;
}

/// Returns the word-context matrix of the job's corpus.
wordloom::WordContextMatrix contexts_of(const Job& job);

/// Trains the word-context matrix of the job's corpus with the sampler, kernel and optimizer that
/// it names.
wordloom::TrainReport train_columns(const Job& job);
