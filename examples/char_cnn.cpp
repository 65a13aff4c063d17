// Trains a character CNN: the vectors of all words, seen or not, are functions of their letters.
#include <exception>
#include <iostream>
#include <utility>
#include <wordloom/columns.hpp>
#include <wordloom/encoders.hpp>
#include <wordloom/wordloom.hpp>

using namespace wordloom;

int main(int argc, char** argv) try {
  if (argc < 3) throw InvalidArgument("usage: char_cnn TEXT MODEL [WORD...]");
#if WORDLOOM_HAS_BLAS
  auto vocabulary = Vocabulary::from_text(argv[1], {.min_count = 5});
  auto corpus = EncodedCorpus::from_text(argv[1], vocabulary);
  auto matrix = WordContextMatrix::from(corpus, vocabulary,
                                        {.columns = 1024, .window = 2, .subsample = 1e-4});

  Trainer<Encoded<UniformMatrix, CharCnn>, FusedKernel> trainer{
      {.dimension = 128, .learning_rate = 0.05}, {.encoder = {.max_width = 6, .filters = 64}}};
  Model model = trainer.new_model(vocabulary);
  trainer.train(matrix, model);
  model.save(argv[2]);

  const CharCnnEmbeddings words(std::move(model));
  for (int i = 3; i < argc; ++i) {
    std::cout << argv[i] << (words.contains(argv[i]) ? "" : ", not in the text") << ':';
    for (auto [word, score] : words.most_similar(argv[i], 5)) std::cout << ' ' << word;
    std::cout << '\n';
  }
#else
  throw InvalidArgument("a character CNN needs CBLAS (WORDLOOM_ENABLE_BLAS)");
#endif
} catch (const std::exception& error) {
  std::cerr << "char_cnn: " << error.what() << '\n';
  return 1;
}
