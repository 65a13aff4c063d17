#pragma once

/// Tests of word vectors against human judgement: similarity of pairs, and analogies.
#include <wordloom/evaluation/analogies.hpp>
#include <wordloom/evaluation/analogy_sets.hpp>
#include <wordloom/evaluation/letter_case.hpp>
#include <wordloom/evaluation/word_similarity.hpp>
