#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "neighbours.hpp"

using namespace wordloom;

namespace {

template <class Trainer>
void train_and_query(const EncodedCorpus& corpus, const Vocabulary& vocabulary) {
  Trainer trainer{{.dimension = 20, .window = 2, .subsample = 0, .epochs = 5, .threads = 2}};
  const Embeddings words = trainer.fit(corpus, vocabulary);
  if (words.size() != vocabulary.size()) throw std::runtime_error("words were lost");
  std::cout << "nearest to cat: " << nearest(words, "cat") << '\n';
}

}  // namespace

int main() try {
  const std::filesystem::path text = "consumer_corpus.txt";
  std::ofstream file(text);
  for (int i = 0; i < 500; ++i) file << "the cat chases a mouse\nthe dog chases a ball\n";
  file.close();

  const auto vocabulary = Vocabulary::from_text(text, {.min_count = 1});
  const auto corpus = EncodedCorpus::from_text(text, vocabulary);
  train_and_query<Trainer<Hogwild, DotKernel>>(corpus, vocabulary);
#if WORDLOOM_HAS_BLAS
  train_and_query<Trainer<SharedNegative, GemmKernel>>(corpus, vocabulary);
#endif
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
