// Scores vectors of any format: of words, evaluate FILE --similarity FILE --analogy FILE;
// of nodes, evaluate FILE --links GRAPH --labels FILE
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>
#include <vector>
#include <wordloom/graph.hpp>
#include <wordloom/wordloom.hpp>

#include "any_vectors.hpp"
#include "command_line.hpp"
#include "evaluation_sets.hpp"
#include "node_tests.hpp"

int main(int argc, char** argv) try {
  CLI::App app(
      "Scores vectors of words on similarity and analogies, those of nodes on links and "
      "labels");
  app.set_version_flag("--version", "evaluate of Wordloom " + std::string(wordloom::version));
  std::string vectors, links, training_graph, labels;
  std::vector<std::string> similarity, analogy;
  std::vector<double> shares;
  std::uint64_t split_seed = 1;
  bool json = false;
  auto* const file =
      app.add_option("vectors", vectors, "Vectors, in any format that Wordloom writes, or a model");
  app.add_option("--similarity", similarity,
                 "Word pairs with scores, as published: WS-353, SimLex-999, MEN, RW, ...");
  app.add_option("--analogy", analogy,
                 "Questions: questions-words.txt, a file of BATS or its folder");
  LookupOptions lookup;
  declare_lookup(app, lookup, "Options");
  auto* const graph = app.add_option("--links", links,
                                     "An undirected graph without weights, of which half of the "
                                     "edges are held out to be predicted, as node2vec "
                                     "--evaluate-links does");
  app.add_option("--split-seed", split_seed, "Which half")
      ->check(whole_number)
      ->capture_default_str()
      ->needs(graph);
  app.add_option("--write-training-graph", training_graph,
                 "Write the other half to this file, to train vectors on it, and end")
      ->needs(graph)
      ->excludes(file);
  auto* const labelled =
      app.add_option("--labels", labels, "Lines 'node label label ...', also with commas or tabs");
  app.add_option("--label-share", shares,
                 "Share of the labelled nodes to train on; may be given again. Without: 0.1 to 0.9")
      ->needs(labelled);
  app.add_flag("--json", json, "One JSON object on stdout");
  wordloom::LoadOptions loading;
  declare_load_options(app, loading, "evaluate");
  take_last_values(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {  // --help or --version
    return app.exit(done);
  }
#if !WORDLOOM_HAS_LIBLINEAR
  if (!labels.empty())
    throw wordloom::InvalidArgument(
        "--labels needs a build with LIBLINEAR (WORDLOOM_ENABLE_LIBLINEAR)");
#endif
  check_lookup(app, "--similarity", "--analogy");
  warn("evaluate", warnings_of_repeated(app));
  NodeTests nodes(labels);
  if (!links.empty()) {
    const auto rest = nodes.hold_links_out(wordloom::Graph::from_edge_list(links), split_seed);
    if (!training_graph.empty()) {
      rest.save_edge_list(training_graph);
      return 0;
    }
  }
  if (vectors.empty()) throw wordloom::InvalidArgument("vectors is required");
  EvaluationSets sets(similarity, analogy, lookup);
  const auto run = [&](const auto& embeddings) {
    sets.run(embeddings);
    nodes.run(embeddings.in_vocabulary(), 0, shares);
  };
  with_vectors_in(vectors, "", loading, run);
  if (json) {
    auto scores = sets.json();
    scores.update(nodes.json());
    std::cout << line_of(scores);
  } else {
    sets.print(std::cout);
    nodes.print(std::cout);
  }
  end_output();
  sets.require_scores();
  return 0;
} catch (const std::exception& error) {
  std::cerr << "evaluate: error: " << message_of(error, "evaluate", argc, argv) << '\n';
  return 1;
}
