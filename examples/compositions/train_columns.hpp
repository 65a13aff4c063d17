#pragma once
#include "composition.hpp"

/// Trains the word-context matrix of the job's corpus with the sampler, kernel and optimizer that
/// it names.
wordloom::TrainReport train_columns(const Job& job);
