// Trains the uniform word-context matrix of a text: any number of threads gives the same vectors.
#include <exception>
#include <iostream>
#include <wordloom/columns.hpp>
#include <wordloom/wordloom.hpp>

using namespace wordloom;

int main(int argc, char** argv) try {
  if (argc < 2) throw InvalidArgument("usage: same_on_any_threads TEXT [VECTORS]");

  auto vocabulary = Vocabulary::from_text(argv[1], {.min_count = 5});
  auto corpus = EncodedCorpus::from_text(argv[1], vocabulary);
  auto matrix = WordContextMatrix::from(corpus, vocabulary,
                                        {.columns = 1024, .window = 2, .subsample = 1e-4});

  Trainer<UniformMatrix, FusedKernel> trainer{{.dimension = 128, .learning_rate = 0.05}};
  Embeddings words = trainer.fit(matrix, vocabulary);

  const auto common = words.word(words.size() / 10);
  std::cout << "nearest to '" << common << "':\n";
  for (auto [word, score] : words.most_similar(common, 5))
    std::cout << word << ' ' << score << '\n';

  if (argc > 2) words.save(argv[2]);
} catch (const std::exception& error) {
  std::cerr << "same_on_any_threads: " << error.what() << '\n';
  return 1;
}
