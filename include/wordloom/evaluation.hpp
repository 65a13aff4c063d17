#pragma once

/// Evaluations of vectors: similarity, analogies, labels and links of nodes; in addition to
/// wordloom.hpp.
#include <wordloom/evaluation/link_prediction.hpp>
#include <wordloom/evaluation/node_labels.hpp>
#include <wordloom/evaluation/word_tests.hpp>
