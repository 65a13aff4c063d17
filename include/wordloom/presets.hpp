#pragma once

/// The recommended trainer and its hyperparameters, in addition to wordloom.hpp:
///
///     RecommendedTrainer trainer(Presets::best({.dimension = 300}));
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

/// Hyperparameters for a purpose: each function returns `parameters` with some of them changed. To
/// change one of these again, set it in the result.
struct Presets {
  /// Returns the learning rate of RecommendedTrainer for a number of epochs, for a corpus of any
  /// size.
  static constexpr double rate(std::size_t epochs) {
    return epochs <= 2 ? 0.12 : epochs <= 4 ? 0.1 : 0.08;
  }

  /// Returns those of the best vectors, for RecommendedTrainer: 5 epochs, with the learning rate
  /// and subsampling for these.
  static constexpr Hyperparameters best(Hyperparameters parameters = {}) {
    parameters.epochs = 5;
    parameters.learning_rate = rate(parameters.epochs);
    parameters.subsample = 1e-4;
    return parameters;
  }

  /// Returns those of word2vec's quality in 3 epochs instead of 5, for RecommendedTrainer.
  static constexpr Hyperparameters fast(Hyperparameters parameters = {}) {
    parameters = best(parameters);
    parameters.epochs = 3;
    parameters.learning_rate = rate(parameters.epochs);
    return parameters;
  }

  /// Returns those for RandomWalks, for DefaultTrainer whose sampler has `block_contexts = 4`: one
  /// epoch at a rate of 0.025, windows of up to 10 nodes on each side, no subsampling. For labels
  /// and for links, on graphs of many kinds (benchmarks/results/node2vec-defaults.md).
  static constexpr Hyperparameters nodes(Hyperparameters parameters = {}) {
    parameters.window = 10;
    parameters.epochs = 1;
    parameters.learning_rate = 0.025;
    parameters.subsample = 0;
    return parameters;
  }

  /// Returns the defaults of word2vec.c for skip-gram, without our own additions
  /// (Hyperparameters::as_published), for Word2Vec and the other published systems.
  static constexpr Hyperparameters word2vec(const Hyperparameters& parameters = {}) {
    Hyperparameters result = parameters.as_published();
    result.learning_rate = 0.025;
    result.epochs = 5;
    result.subsample = 1e-3;
    result.negative_exponent = 0.75;
    return result;
  }
};

}}  // namespace wordloom::WORDLOOM_ABI
