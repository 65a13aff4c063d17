// The first things that users of gensim look for: words in memory, a callback for each epoch,
// queries, files.
// Usage: tour TEXT, any text with one sentence a line
#include <exception>
#include <fstream>
#include <iostream>
#include <wordloom/wordloom.hpp>

using namespace wordloom;

namespace {

std::vector<std::vector<std::string>> read(const char* path) {
  std::vector<std::vector<std::string>> sentences;
  std::ifstream file(path);
  if (!file) throw IoError(std::string("cannot open '") + path + "'");
  for (std::string line; std::getline(file, line);) {
    auto& sentence = sentences.emplace_back();
    for_each_token(
        line, [&](std::string_view word) { sentence.emplace_back(word); }, [] {});
  }
  return sentences;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) throw InvalidArgument("usage: tour TEXT");
  const std::vector<std::vector<std::string>> sentences = read(argv[1]);

  const auto vocabulary = Vocabulary::from_sentences(sentences, {.min_count = 5});
  const auto corpus = EncodedCorpus::from_sentences(sentences, vocabulary);
  DefaultTrainer trainer{{.dimension = 100, .epochs = 5, .threads = 2}};
  trainer.on_epoch([](const Progress& progress) { std::cout << progress.mean_loss << '\n'; });
  Model model = trainer.new_model(vocabulary);
  trainer.train(corpus, model);
  model.save("model");  // everything; continue: Model::load("model"), trainer.train(more, model)
  const Embeddings words = model.embeddings();
  auto queens = words.most_similar({.positive = {"king", "woman"}, .negative = {"man"}}, 3);
  auto odd = words.doesnt_match({"cat", "dog", "paris"});

  for (const auto& [word, score] : queens) std::cout << word << ' ' << score << '\n';
  std::cout << "does not match: " << odd << '\n';
  words.save("vectors.bin");  // the vectors alone; Embeddings::load("vectors.bin")

  words.compress({.format = Embeddings::Compression::int8}).save("vectors.small");
  const auto small = CompressedEmbeddings::load("vectors.small");  // mapped, not read
} catch (const std::exception& error) {
  std::cerr << "tour: " << error.what() << '\n';
  return 1;
}
