// Trains on the embedded corpus and shows the result. Needs no file and no argument.
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>
#include <wordloom/evaluation/word_tests.hpp>
#include <wordloom/wordloom.hpp>

#include "demo_corpus.hpp"

using namespace wordloom;

namespace {

/// Returns the words of each line of `text`, as views into it.
std::vector<std::vector<std::string_view>> sentences_of(std::string_view text) {
  std::vector<std::vector<std::string_view>> sentences(1);
  for_each_token(
      text, [&](std::string_view word) { sentences.back().push_back(word); },
      [&] { sentences.emplace_back(); });
  return sentences;
}

void print(const char* question, const std::vector<Neighbour>& answers) {
  std::printf("  %-24s", question);
  for (const auto& [word, score] : answers)
    std::printf("  %.*s %.2f", static_cast<int>(word.size()), word.data(),
                static_cast<double>(score));
  std::printf("\n");
}

}  // namespace

int main() try {
  // Any range of ranges of strings is a text; a file is Vocabulary::from_text.
  const std::string text = demo::make_corpus();
  const auto sentences = sentences_of(text);
  const auto vocabulary = Vocabulary::from_sentences(sentences, {.min_count = 5});
  const auto corpus = EncodedCorpus::from_sentences(sentences, vocabulary);
  std::printf("Embedded corpus: %zu words, %llu tokens.\n\n", vocabulary.size(),
              static_cast<unsigned long long>(corpus.token_count()));

  DefaultTrainer trainer{{.dimension = 100, .window = 5, .negatives = 5, .epochs = 5}};
  trainer.on_progress([](const Progress& progress) {
    std::printf("Training: %3.0f %%, %.2f M words/s, loss %.3f\n", 100 * progress.fraction(),
                progress.words_per_second / 1e6, progress.mean_loss);
  });
  const Embeddings words = trainer.fit(corpus, vocabulary);

  std::printf("\nNearest words:\n");
  for (const char* word :
       {"france", "paris", "dog", "puppy", "baked", "colder", "queen", "violins"})
    print(word, words.most_similar(word, 5));
  std::printf("\nAnalogies:\n");
  print("paris : france = rome :", words.analogy("paris", "france", "rome", 3));
  print("bake : baked = sing :", words.analogy("bake", "baked", "sing", 3));
  print("king : queen = uncle :", words.analogy("king", "queen", "uncle", 3));
  print("dog : puppy = cow :", words.analogy("dog", "puppy", "cow", 3));

  std::cout << '\n' << evaluate_analogies(words, demo::analogies()) << '\n';
  std::cout << evaluate_similarity(words, demo::similarity_pairs()) << "\n\n";
  std::printf("Speed: %.2f M words/s with %zu threads, loss of the last epoch %.3f\n",
              trainer.report().words_per_second / 1e6, resolve_threads(0), trainer.report().loss);
} catch (const std::exception& error) {
  std::cerr << "demo: " << error.what() << '\n';
  return 1;
}
