#pragma once

/// Everything that a program needs to train words by one process on the CPU, save and query them.
/// Other headers are evaluation/word_tests.hpp, columns.hpp, encoders.hpp, graph.hpp and
/// presets.hpp.
#include <wordloom/core/error.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/corpus/text_corpus.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/deprecated.hpp>
#include <wordloom/io/embeddings_file.hpp>
#include <wordloom/model/compressed_embeddings.hpp>
#include <wordloom/model/embeddings.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/grouped_cbow.hpp>
#include <wordloom/sampler/grouped_targets.hpp>
#include <wordloom/sampler/grouped_window.hpp>
#include <wordloom/sampler/stratified_pairs.hpp>
#include <wordloom/schedule/schedules.hpp>
#include <wordloom/simd/instruction_set.hpp>
#include <wordloom/systems.hpp>
#include <wordloom/train/detail/checkpoint.hpp>
#include <wordloom/train/progress.hpp>
#include <wordloom/version.hpp>
