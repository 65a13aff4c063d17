// The functions of evaluations, for wordloom::precompiled. Those of what they are built on are in
// functions.cpp and graph.cpp: here they are only declared.
#define WORDLOOM_PRECOMPILED 1
#include <wordloom/algebra/detail/dense_rows.hpp>
#include <wordloom/core/detail/input_file.hpp>
#include <wordloom/graph/edge_samples.hpp>
#include <wordloom/graph/random_walks.hpp>
#include <wordloom/wordloom.hpp>

#undef WORDLOOM_DEFINES_FUNCTIONS
#define WORDLOOM_DEFINES_FUNCTIONS 1
#define WORDLOOM_FUNCTION
#include <wordloom/evaluation/categories.hpp>
#include <wordloom/evaluation/link_prediction.hpp>
#include <wordloom/evaluation/node_labels.hpp>
#include <wordloom/evaluation/pair_relations.hpp>
#include <wordloom/evaluation/sentence_vectors.hpp>
#include <wordloom/evaluation/sentences.hpp>
#include <wordloom/evaluation/word_relations.hpp>
#include <wordloom/evaluation/word_tests.hpp>
