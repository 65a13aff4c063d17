// The smallest program: train, save, query. Usage: quickstart TEXT [VECTORS]
#include <exception>
#include <iostream>
#include <wordloom/wordloom.hpp>

using namespace wordloom;

int main(int argc, char** argv) try {
  if (argc < 2) throw InvalidArgument("usage: quickstart TEXT [VECTORS]");

  auto vocabulary = Vocabulary::from_text(argv[1], {.min_count = 5});
  auto corpus = EncodedCorpus::from_text(argv[1], vocabulary);

  Trainer<SharedNegative, DotKernel> trainer{{.dimension = 100, .window = 5, .negatives = 5}};
  Embeddings words = trainer.fit(corpus, vocabulary);

  const auto common = words.word(words.size() / 10);
  std::cout << "nearest to '" << common << "':\n";
  for (auto [word, score] : words.most_similar(common, 5))
    std::cout << word << ' ' << score << '\n';

  if (argc > 2) save_word2vec_binary(words, argv[2]);
} catch (const std::exception& error) {
  std::cerr << "quickstart: " << error.what() << '\n';
  return 1;
}
