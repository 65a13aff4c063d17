// Policies that the user chooses when the program runs. Usage: run_time_choice TEXT SAMPLER KERNEL
// [PARAMETER VALUE]..., for example: run_time_choice corpus.txt cbow dot gradient whole
#include <exception>
#include <iostream>
#include <wordloom/any_trainer.hpp>
#include <wordloom/wordloom.hpp>

using namespace wordloom;

int main(int argc, char** argv) try {
  if (argc < 4 || argc % 2 != 0)
    throw InvalidArgument("usage: run_time_choice TEXT SAMPLER KERNEL [PARAMETER VALUE]...");

  auto vocabulary = Vocabulary::from_text(argv[1]);
  auto corpus = EncodedCorpus::from_text(argv[1], vocabulary);

  AnyTrainer trainer = make_trainer(argv[2], argv[3], {.dimension = 64, .epochs = 2});
  for (int i = 4; i < argc; i += 2) trainer.sampler_parameter(argv[i], argv[i + 1]);
  trainer.add(PrintLoss(std::cout));
  const Embeddings words = trainer.fit(corpus, vocabulary);
  std::cout << words.size() << " vectors\n";
} catch (const std::exception& error) {
  std::cerr << "run_time_choice: " << error.what() << '\n';
  return 1;
}
