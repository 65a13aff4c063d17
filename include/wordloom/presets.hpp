#pragma once

/// Recommended trainers with their hyperparameters, besides wordloom.hpp:
///
///     BestTrainer trainer(best_parameters({.dimension = 300}));
///
/// How they were chosen: benchmarks/results/presets.md.
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/kernel/fused_row_ada_grad.hpp>
#include <wordloom/sampler/grouped_window.hpp>
#include <wordloom/sampler/shared_negative.hpp>
#include <wordloom/train/trainer.hpp>

namespace wordloom::inline WORDLOOM_ABI {

/// Skip-gram with negative sampling in the least time at about word2vec's quality.
using FastTrainer = Trainer<GroupedWindow, WithOptimizer<FusedKernel, RowAdaGrad>>;

/// The best vectors that skip-gram with negative sampling gives here.
using BestTrainer = Trainer<SharedNegative, WithOptimizer<FusedKernel, RowAdaGrad>>;

/// Return `parameters` with the learning rate, the epochs and the threshold of subsampling that go
/// with FastTrainer and BestTrainer. Change them afterwards, not before.
constexpr Hyperparameters fast_parameters(Hyperparameters parameters = {}) {
  parameters.learning_rate = 0.1;
  parameters.epochs = 3;
  parameters.subsample = 1e-4;
  return parameters;
}
constexpr Hyperparameters best_parameters(Hyperparameters parameters = {}) {
  parameters.learning_rate = 0.1;
  parameters.epochs = 5;
  parameters.subsample = 1e-4;
  return parameters;
}

/// Returns `parameters` with the defaults of word2vec.c for skip-gram, and nothing that it has not:
/// for Word2Vec and the other published systems.
constexpr Hyperparameters word2vec_parameters(Hyperparameters parameters = {}) {
  parameters.learning_rate = 0.025;
  parameters.epochs = 5;
  parameters.subsample = 1e-3;
  parameters.negative_exponent = 0.75;
  parameters.negative_pool = 0;
  parameters.private_rows = 0;
  parameters.node_sample = 0;
  return parameters;
}

}  // namespace wordloom::inline WORDLOOM_ABI
