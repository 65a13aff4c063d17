// Ranks the documents of a file, one a line, by their similarity to a question:
// rank_documents VECTORS DOCUMENTS QUESTION
#include <exception>
#include <iostream>
#include <vector>
#include <wordloom/evaluation/sentence_vectors.hpp>
#include <wordloom/wordloom.hpp>

using namespace wordloom;

int main(int argc, char** argv) try {
  if (argc != 4) throw InvalidArgument("usage: rank_documents VECTORS DOCUMENTS QUESTION");
  const auto words = Embeddings::load(argv[1]);
  const auto documents = SentenceVectors::load_sentences(argv[2]);

  // Vectors in order of frequency: the counts that `sif` needs follow Zipf's law.
  const SentenceVectors vectors(words, documents,
                                {.method = SentenceVectors::Method::sif, .zipf = true});
  for (const auto& [document, score] : vectors.most_similar(argv[3], 3))
    std::cout << score << ' ' << documents[document] << '\n';

  const std::vector<float> question = vectors.vector(argv[3]);
  std::cout << "the question has " << question.size() << " dimensions, " << vectors.without_words()
            << " documents have no known word\n";
} catch (const std::exception& error) {
  std::cerr << "rank_documents: " << error.what() << '\n';
  return 1;
}
