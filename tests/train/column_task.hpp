#pragma once
#include <cstddef>
#include <filesystem>
#include <utility>
#include <vector>
#include <wordloom/core/random.hpp>
#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/corpus/word_context_matrix.hpp>
#include <wordloom/kernel/dot_kernel.hpp>
#include <wordloom/kernel/fused_kernel.hpp>
#include <wordloom/kernel/with_optimizer.hpp>
#include <wordloom/optimizer/adam.hpp>
#include <wordloom/sampler/uniform_matrix.hpp>
#include <wordloom/train/trainer.hpp>

#include "catch.hpp"
#include "small_models.hpp"
#include "support.hpp"

using namespace wordloom;

/// What is trained by columns, and how.
namespace column_task {

inline constexpr std::size_t topics = 4;

using Fused = Trainer<UniformMatrix, FusedKernel>;
using Dot = Trainer<UniformMatrix, DotKernel>;
using FusedWithAdam = Trainer<UniformMatrix, WithOptimizer<FusedKernel, Adam>>;

/// Sentences of words of one topic: word i is of topic i % topics.
struct Task {
  Vocabulary vocabulary;
  EncodedCorpus corpus;

  explicit Task(std::size_t words) : vocabulary(zipf_vocabulary(words)), corpus(make(vocabulary)) {}

  static EncodedCorpus make(const Vocabulary& vocabulary) {
    std::vector<std::vector<WordId>> sentences;
    Random random(9);
    for (std::size_t i = 0; i < 40 * vocabulary.size() / topics; ++i) {
      std::vector<WordId> sentence(2 + random.below(8));
      const std::size_t topic = random.below(topics);
      for (WordId& word : sentence)
        word = static_cast<WordId>(
            topic + topics * random.below((vocabulary.size() - topic + topics - 1) / topics));
      sentences.push_back(std::move(sentence));
    }
    return EncodedCorpus::from_sentences(sentences, vocabulary);
  }
  WordContextMatrix matrix(std::size_t columns, const std::filesystem::path& file = {}) const {
    return WordContextMatrix::from(corpus, vocabulary,
                                   {.columns = columns, .window = 2, .threads = 2, .file = file});
  }
};

inline Hyperparameters parameters(std::size_t threads = 1, std::size_t epochs = 2) {
  return {
      .dimension = 20, .minibatch = 8, .learning_rate = 0.05, .epochs = epochs, .threads = threads};
}

/// Trains a new model.
template <class AnyTrainer>
Model trained(AnyTrainer trainer, const WordContextMatrix& matrix, const Vocabulary& vocabulary) {
  Model model = trainer.new_model(vocabulary);
  const TrainReport report = trainer.train(matrix, model);
  CHECK(report.tokens == trainer.hyperparameters().epochs * matrix.token_count());
  CHECK_FALSE(report.stopped);
  return model;
}

}  // namespace column_task
