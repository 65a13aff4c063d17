#pragma once

#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/kernel/dot_kernel.hpp>
#include <wordloom/sampler/hogwild.hpp>
#include <wordloom/sampler/shared_negative.hpp>
#include <wordloom/train/trainer.hpp>

/// Makes the compiler check the composition of `Trainer`.
template <class Trainer>
void compose() {
  Trainer trainer(wordloom::Hyperparameters{});
}

/// Makes the compiler check all of training.
template <class Trainer>
void train(Trainer& trainer, const wordloom::EncodedCorpus& corpus,
           const wordloom::Vocabulary& vocabulary) {
  trainer.fit(corpus, vocabulary);
}

/// A kernel that honours no more of a block than inputs, outputs and positives.
struct PlainKernel {
  struct Worker {
    template <bool with_loss>
    wordloom::LossSum update(wordloom::Model&, const wordloom::Block&, float) {
      return {};
    }
  };
  Worker worker(const wordloom::Model&, wordloom::Block::Shape) const { return {}; }
};
