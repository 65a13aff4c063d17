#pragma once
#include <wordloom/corpus/word_context_matrix.hpp>

#include "composition.hpp"

/// Returns the word-context matrix of the job's corpus.
wordloom::WordContextMatrix contexts_of(const Job& job);

/// Trains the word-context matrix of the job's corpus with the sampler, kernel and optimizer that
/// it names.
wordloom::TrainReport train_columns(const Job& job);
