#include "network_tests.hpp"

#include <wordloom/evaluation/sentence_lstm.hpp>
#include <wordloom/evaluation/sentence_network.hpp>

namespace network_tests {

wordloom::SentenceSet::Report classify(const wordloom::SentenceSet& sentences,
                                       const wordloom::Embeddings& words,
                                       wordloom::LetterCase letter_case, bool trains_vectors) {
  return wordloom::SentenceSet::Network{.trains_vectors = trains_vectors,
                                        .letter_case = letter_case}
      .evaluate(sentences, words);
}

wordloom::SentenceSet::Report classify_by_lstm(const wordloom::SentenceSet& sentences,
                                               const wordloom::Embeddings& words,
                                               wordloom::LetterCase letter_case) {
  return wordloom::SentenceSet::Lstm{.letter_case = letter_case}.evaluate(sentences, words);
}

wordloom::WordRelations::Report relate(const wordloom::WordRelations& relations,
                                       const wordloom::Embeddings& words,
                                       wordloom::LetterCase letter_case) {
  return relations.evaluate(words, {.letter_case = letter_case});
}

}  // namespace network_tests
