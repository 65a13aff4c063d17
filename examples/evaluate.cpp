// Scores vectors of any format: evaluate FILE --similarity FILE --analogy FILE
#include <exception>
#include <iostream>
#include <string>
#include <vector>
#include <wordloom/wordloom.hpp>

#include "command_line.hpp"
#include "evaluation_sets.hpp"

int main(int argc, char** argv) try {
  CLI::App app("Scores word vectors on word similarity and analogies");
  std::string vectors;
  std::vector<std::string> similarity, analogy;
  bool json = false;
  app.add_option("vectors", vectors, "Vectors, in any format that load_embeddings knows")
      ->required();
  app.add_option("--similarity", similarity, "Lines of word, word, score");
  app.add_option("--analogy", analogy, "Questions, as questions-words.txt");
  app.add_flag("--json", json, "One JSON object on stdout");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  }
  EvaluationSets sets(similarity, analogy);
  sets.run(wordloom::load_embeddings(vectors));
  if (json)
    std::cout << line_of(sets.json());
  else
    sets.print(std::cout);
  end_output();
  return 0;
} catch (const std::exception& error) {
  std::cerr << "evaluate: error: " << error.what() << '\n';
  return 1;
}
