#pragma once

/// The recommended trainer and its hyperparameters, in addition to wordloom.hpp:
///
///     RecommendedTrainer trainer(best_parameters({.dimension = 300}));
///
/// Quality and speed: benchmarks/results/presets.md.
#include <cstddef>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/kernel/fused_row_ada_grad.hpp>
#include <wordloom/sampler/shared_negative.hpp>
#include <wordloom/train/trainer.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Skip-gram with negative sampling whose learning rate adapts to each row: rare words learn
/// faster, so that small corpora and few epochs suffice.
using RecommendedTrainer = Trainer<SharedNegative, WithOptimizer<FusedKernel, RowAdaGrad>>;

/// Returns the learning rate of RecommendedTrainer for a number of epochs, for a corpus of any
/// size.
constexpr double recommended_rate(std::size_t epochs) {
  return epochs <= 2 ? 0.12 : epochs <= 4 ? 0.1 : 0.08;
}

/// Return `parameters` with other epochs, learning rate and subsampling, for RecommendedTrainer:
/// 5 epochs for the best vectors, 3 for about word2vec's quality. To change one of these three, set
/// it in the result.
constexpr Hyperparameters best_parameters(Hyperparameters parameters = {}) {
  parameters.epochs = 5;
  parameters.learning_rate = recommended_rate(parameters.epochs);
  parameters.subsample = 1e-4;
  return parameters;
}
/// Returns the hyperparameters of word2vec's quality in 3 epochs instead of 5.
constexpr Hyperparameters fast_parameters(Hyperparameters parameters = {}) {
  parameters = best_parameters(parameters);
  parameters.epochs = 3;
  parameters.learning_rate = recommended_rate(parameters.epochs);
  return parameters;
}

/// Returns `parameters` with the defaults of word2vec.c for skip-gram, without negative pools,
/// private rows and the subsampling of tree nodes, which word2vec.c does not have. For Word2Vec and
/// the other published systems.
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

}}  // namespace wordloom::WORDLOOM_ABI
