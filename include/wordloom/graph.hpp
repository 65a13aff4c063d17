#pragma once

/// Graphs, random walks, and training and evaluation on them; in addition to wordloom.hpp.
#include <wordloom/evaluation/link_prediction.hpp>
#include <wordloom/evaluation/node_labels.hpp>
#include <wordloom/graph/edge_samples.hpp>
#include <wordloom/graph/graph.hpp>
#include <wordloom/graph/random_walks.hpp>
#include <wordloom/sampler/edge_pairs.hpp>
