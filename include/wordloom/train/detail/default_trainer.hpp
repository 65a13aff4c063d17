#pragma once

// DefaultTrainer with corpora of text, which wordloom::precompiled holds: a program with that library
// does not compile its training again, and trains as fast where it is not optimised itself.
// src/default_trainer.cpp defines WORDLOOM_DEFAULT_TRAINER as nothing.
#if defined(WORDLOOM_PRECOMPILED)
#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/corpus/text_corpus.hpp>
#include <wordloom/systems.hpp>

#ifndef WORDLOOM_DEFAULT_TRAINER
#define WORDLOOM_DEFAULT_TRAINER extern
#endif

namespace wordloom { inline namespace WORDLOOM_ABI {

WORDLOOM_DEFAULT_TRAINER template class Trainer<SharedNegative, FusedKernel>;
WORDLOOM_DEFAULT_TRAINER template Embeddings DefaultTrainer::fit(const EncodedCorpus&,
                                                                 const Vocabulary&);
WORDLOOM_DEFAULT_TRAINER template Embeddings DefaultTrainer::fit(const TextCorpus&,
                                                                 const Vocabulary&);
WORDLOOM_DEFAULT_TRAINER template TrainReport DefaultTrainer::train(const EncodedCorpus&, Model&);
WORDLOOM_DEFAULT_TRAINER template TrainReport DefaultTrainer::train(const TextCorpus&, Model&);

}}  // namespace wordloom::WORDLOOM_ABI

#endif
