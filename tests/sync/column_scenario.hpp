#pragma once
#include <cstddef>
#include <vector>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/corpus/word_context_matrix.hpp>
#include <wordloom/kernel/fused_kernel.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/uniform_matrix.hpp>
#include <wordloom/schedule/linear_decay.hpp>
#include <wordloom/sync/concept.hpp>
#include <wordloom/train/trainer.hpp>

#include "small_models.hpp"

/// A word-context matrix that ranks train by columns. Every tenth word has no context.
struct ColumnScenario {
  wordloom::Vocabulary vocabulary;
  wordloom::WordContextMatrix matrix;

  explicit ColumnScenario(std::size_t words = 3000,
                          const wordloom::WordContextMatrix::Options& options = {.columns = 5,
                                                                                 .threads = 1})
      : vocabulary(zipf_vocabulary(words)),
        matrix(wordloom::WordContextMatrix::from(
            wordloom::EncodedCorpus::from_sentences(sentences(words), vocabulary), vocabulary,
            options)) {}

  static wordloom::Hyperparameters parameters(std::size_t threads = 1) {
    return {.dimension = 20, .epochs = 2, .threads = threads};
  }

 private:
  static std::vector<std::vector<wordloom::WordId>> sentences(std::size_t words) {
    wordloom::Random random(3);
    std::vector<std::vector<wordloom::WordId>> all;
    for (std::size_t i = 0; i < words; ++i) {
      const auto word = static_cast<wordloom::WordId>(i);
      auto& sentence = all.emplace_back(1, word);
      while (i % 10 != 9 && sentence.size() < 5) {
        const auto other = static_cast<wordloom::WordId>(random.uniform() * random.uniform() *
                                                         static_cast<double>(words));
        if (other % 10 != 9) sentence.push_back(other);
      }
    }
    return all;
  }
};

template <class Sync, class Kernel = wordloom::FusedKernel>
using ColumnTrainer =
    wordloom::Trainer<wordloom::UniformMatrix, Kernel, Sync, wordloom::LinearDecay>;

/// Returns the model that one process trains.
template <class Kernel = wordloom::FusedKernel>
wordloom::Model train_alone(const ColumnScenario& scenario) {
  ColumnTrainer<wordloom::NoSync, Kernel> trainer(ColumnScenario::parameters());
  wordloom::Model model = trainer.new_model(scenario.vocabulary);
  trainer.train(scenario.matrix, model);
  return model;
}
