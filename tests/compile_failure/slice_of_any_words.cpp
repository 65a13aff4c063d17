// Vectors of any word are no Embeddings, which have none of unknown words.
// expect: inaccessible base.*sliced = words
// expect: inaccessible base.*similarity_of.words

#include <wordloom/model/subword_embeddings.hpp>

wordloom::SubwordEmbeddings any_words();
float similarity_of(const wordloom::Embeddings& words);

float use_any_words() {
  const auto words = any_words();
  const wordloom::Embeddings known = words.in_vocabulary();
#ifdef WORDLOOM_EXPECT_FAILURE
  const wordloom::Embeddings sliced = words;
  return similarity_of(words) + sliced.similarity("a", "b");
#else
  return similarity_of(known);
#endif
}
