// Vectors of the nodes of a graph: reads edges, walks and trains, and shows the neighbours of a
// node.
#include <exception>
#include <iostream>
#include <wordloom/graph.hpp>
#include <wordloom/presets.hpp>
#include <wordloom/wordloom.hpp>

using namespace wordloom;

int main(int argc, char** argv) try {
  if (argc < 3) throw InvalidArgument("usage: graph_quickstart EDGES NODE [VECTORS]");

  Graph graph = Graph::from_edge_list(argv[1], {.directed = false, .weighted = false});
  RandomWalks walks(graph, {.walks_per_node = 10, .length = 80, .p = 0.5, .q = 2});

  DefaultTrainer trainer{Presets::nodes({.dimension = 128})};
  trainer.sampler().block_contexts = 4;
  Embeddings nodes = trainer.fit(walks, graph.vocabulary());

  for (auto [node, score] : nodes.most_similar(argv[2], 5))
    std::cout << node << ' ' << score << '\n';

  if (argc > 3) nodes.save(argv[3]);
} catch (const std::exception& error) {
  std::cerr << "graph_quickstart: " << error.what() << '\n';
  return 1;
}
