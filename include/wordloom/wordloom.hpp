#pragma once

/// All of the CPU library.
#include <wordloom/concepts.hpp>
#include <wordloom/core/embeddings.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/model.hpp>
#include <wordloom/core/progress.hpp>
#include <wordloom/core/target.hpp>
#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/corpus/text_corpus.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/evaluation/analogy.hpp>
#include <wordloom/evaluation/similarity.hpp>
#include <wordloom/io/load.hpp>
#include <wordloom/io/save.hpp>
#include <wordloom/kernel/dot_kernel.hpp>
#include <wordloom/kernel/fused_kernel.hpp>
#include <wordloom/optimizer/linear_decay.hpp>
#include <wordloom/sampler/attraction_repulsion.hpp>
#include <wordloom/sampler/combined_context.hpp>
#include <wordloom/sampler/hogwild.hpp>
#include <wordloom/sampler/sentence_minibatch.hpp>
#include <wordloom/sampler/shared_negative.hpp>
#include <wordloom/sync/no_sync.hpp>
#include <wordloom/systems.hpp>
#include <wordloom/trainer.hpp>
