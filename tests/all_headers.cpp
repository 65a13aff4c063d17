// What clang-tidy reads: the headers of the library, but those for MPI and GPUs.
#define WORDLOOM_PRECOMPILED_TRAINERS 0  // all trainers would take minutes
#include <wordloom/any_trainer.hpp>
#include <wordloom/columns.hpp>
#include <wordloom/corpus/phrases.hpp>
#include <wordloom/graph.hpp>
#include <wordloom/presets.hpp>
#include <wordloom/registry.hpp>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/bf16_ranks.hpp>
#include <wordloom/sync/rank_corpus.hpp>
#include <wordloom/sync/thread_ranks.hpp>
#include <wordloom/train/detail/composition.hpp>
#include <wordloom/wordloom.hpp>
