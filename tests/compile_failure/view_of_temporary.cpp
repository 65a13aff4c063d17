// What points into an object is not to be had from a temporary.
// expect: deleted.*words
// expect: deleted.*vector
// expect: deleted.*word
// expect: deleted.*sentence
// expect: deleted.*row

#include <string_view>
#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/model/embeddings.hpp>

wordloom::Embeddings embeddings();
wordloom::EncodedCorpus corpus();
wordloom::Vocabulary vocabulary();
wordloom::RowMatrix matrix();

float use_views() {
  const auto kept = embeddings();
  float sum = kept.vector("king")[0];
  // Answers own their words.
  for (const auto& [word, score] : embeddings().most_similar("king", 3)) sum += score;
#ifdef WORDLOOM_EXPECT_FAILURE
  sum += embeddings().vector("king")[0];
  for (std::size_t i = 0; i < embeddings().words().size(); ++i) sum += 1;
  const std::string_view word = vocabulary().word(0);
  sum += static_cast<float>(word.size() + corpus().sentence(0).size());
  sum += matrix().row(0)[0];
#endif
  return sum;
}
