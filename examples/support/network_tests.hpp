#pragma once
#include <wordloom/evaluation.hpp>
#include <wordloom/wordloom.hpp>

/// Tests that train networks. They are compiled apart, in network_tests.cpp, and need CBLAS.
namespace network_tests {

wordloom::SentenceSet::Report classify(const wordloom::SentenceSet& sentences,
                                       const wordloom::Embeddings& words,
                                       wordloom::LetterCase letter_case, bool trains_vectors);

wordloom::SentenceSet::Report classify_by_lstm(const wordloom::SentenceSet& sentences,
                                               const wordloom::Embeddings& words,
                                               wordloom::LetterCase letter_case);

wordloom::WordRelations::Report relate(const wordloom::WordRelations& relations,
                                       const wordloom::Embeddings& words,
                                       wordloom::LetterCase letter_case);

}  // namespace network_tests
