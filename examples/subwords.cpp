// Trains vectors of words and their n-grams, then queries words that the text may not contain.
#include <exception>
#include <iostream>
#include <utility>
#include <wordloom/wordloom.hpp>

using namespace wordloom;

int main(int argc, char** argv) try {
  if (argc < 3) throw InvalidArgument("usage: subwords TEXT MODEL [WORD...]");

  auto vocabulary = Vocabulary::from_text(argv[1], {.min_count = 5});
  auto corpus = EncodedCorpus::from_text(argv[1], vocabulary);

  Trainer<Subwords<SharedNegative>, FusedKernel> trainer{{.dimension = 128, .learning_rate = 0.05},
                                                         {.subwords = {.buckets = 200'000}}};
  Model model = trainer.new_model(vocabulary);
  trainer.train(corpus, model);
  model.save_fasttext(argv[2]);  // fastText loads it

  const SubwordEmbeddings words(std::move(model));
  for (int i = 3; i < argc; ++i) {
    std::cout << argv[i] << (words.contains(argv[i]) ? "" : ", not in the text") << ':';
    for (auto [word, score] : words.most_similar(argv[i], 5)) std::cout << ' ' << word;
    std::cout << '\n';
  }
} catch (const std::exception& error) {
  std::cerr << "subwords: " << error.what() << '\n';
  return 1;
}
