// Writes the demo corpus and its gold data into a folder, for the tests of the programs.
// Usage: write_demo_corpus FOLDER TOKENS
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <wordloom/core/files.hpp>

#include "demo_corpus.hpp"

int main(int argc, char** argv) try {
  if (argc != 3) throw wordloom::InvalidArgument("usage: write_demo_corpus FOLDER TOKENS");
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  demo::write_corpus(folder / "text", {.tokens = std::stoul(argv[2])});

  wordloom::AtomicFile analogies(folder / "analogies");
  for (const auto& section : demo::analogies()) {
    analogies.write(": " + section.name + "\n");
    for (const auto& q : section.questions)
      analogies.write(q.a + " " + q.b + " " + q.c + " " + q.d + "\n");
  }
  analogies.commit();
  wordloom::AtomicFile similarity(folder / "similarity");
  for (const auto& pair : demo::similarity_pairs())
    similarity.write(pair.first + "\t" + pair.second + "\t" + std::to_string(pair.score) + "\n");
  similarity.commit();
} catch (const std::exception& error) {
  std::cerr << "write_demo_corpus: " << error.what() << '\n';
  return 1;
}
