#pragma once

/// Evaluations of vectors: similarity, analogies, relations, categories, sentences, labels and
/// links of nodes, and comparisons; in addition to wordloom.hpp. The networks that classify
/// sentences have headers of their own, evaluation/sentence_network.hpp and sentence_lstm.hpp.
#include <wordloom/evaluation/categories.hpp>
#include <wordloom/evaluation/link_prediction.hpp>
#include <wordloom/evaluation/node_labels.hpp>
#include <wordloom/evaluation/pair_relations.hpp>
#include <wordloom/evaluation/sentence_vectors.hpp>
#include <wordloom/evaluation/sentences.hpp>
#include <wordloom/evaluation/statistics.hpp>
#include <wordloom/evaluation/word_relations.hpp>
#include <wordloom/evaluation/word_tests.hpp>
