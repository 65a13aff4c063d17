// Trains on one text, saves the model, loads it, adds the words of a second text and trains on with
// another sampler and kernel. Usage: continue_training TEXT MORE_TEXT MODEL
#include <exception>
#include <iostream>
#include <wordloom/wordloom.hpp>

using namespace wordloom;

int main(int argc, char** argv) try {
  if (argc != 4) throw InvalidArgument("usage: continue_training TEXT MORE_TEXT MODEL");
  const auto text = argv[1], more_text = argv[2], path = argv[3];
  double first_loss = 0;
  {
    const auto vocabulary = Vocabulary::from_text(text);
    Trainer<SharedNegative, FusedKernel> trainer{{.dimension = 100, .epochs = 2}};
    Model model = trainer.new_model(vocabulary);
    first_loss = trainer.train(EncodedCorpus::from_text(text, vocabulary), model).loss;
    model.save(path);  // vectors of both sides, words and their counts
  }

  Model model = Model::load(path);
  const std::size_t known = model.vocabulary.size();
  model.extend(Vocabulary::from_text(more_text));  // known words keep their vectors

  // A low learning rate keeps most of what the known words have learnt.
  Trainer<Hogwild, DotKernel> trainer{{.dimension = 100, .learning_rate = 0.01, .epochs = 2}};
  const auto corpus = EncodedCorpus::from_text(more_text, model.vocabulary);
  const double loss = trainer.train(corpus, model).loss;
  model.save(path);

  std::cout << known << " words, loss " << first_loss << "; with "
            << model.vocabulary.size() - known << " new words, loss " << loss << '\n';
} catch (const std::exception& error) {
  std::cerr << "continue_training: " << error.what() << '\n';
  return 1;
}
