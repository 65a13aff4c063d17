// The published ways to embed a graph beside each other: link prediction, and labels where there
// are some. Prints a row of a Markdown table for each, means over seeds, or with --json the scores
// of each seed.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/graph.hpp>
#include <wordloom/registry.hpp>
#include <wordloom/wordloom.hpp>

#include "command_line.hpp"

using namespace wordloom;

namespace {

struct Options {
  std::string graph, labels;
  std::vector<std::string> methods;  // only these; empty: all
  std::size_t seeds = 3, threads = 1, dimension = 128;
  std::uint64_t edges = 0;  // that LINE draws; 0: 100 for each entry of the graph
  bool json = false;
};

template <class Trainer, class Corpus>
Embeddings train(const Corpus& corpus, const Options& options, std::size_t dimension, double rate,
                 std::uint64_t seed, std::size_t window = 10) {
  Trainer trainer(Hyperparameters{.dimension = dimension,
                                  .window = window,
                                  .subsample = 0,
                                  .learning_rate = rate,
                                  .epochs = 1,
                                  .threads = options.threads,
                                  .seed = seed,
                                  .node_sample = 0});
  return trainer.fit(corpus, corpus.graph().vocabulary());
}

using Method = Embeddings (*)(const Graph&, const Options&, std::uint64_t seed);

template <class Sampler>
Embeddings line(const Graph& graph, const Options& options, std::size_t dimension,
                std::uint64_t seed) {
  const std::uint64_t edges = options.edges == 0 ? 100 * graph.entry_count() : options.edges;
  return train<Trainer<Sampler, FusedKernel>>(EdgeSamples(graph, {.edges_per_epoch = edges}),
                                              options, dimension, 0.025, seed,
                                              Hyperparameters{}.window);
}

const std::vector<std::pair<const char*, Method>> methods{
    {"DeepWalk",
     [](const Graph& graph, const Options& options, std::uint64_t seed) {
       return train<Trainer<HierarchicalSoftmax, FusedKernel>>(RandomWalks(graph), options,
                                                               options.dimension, 0.025, seed);
     }},
    {"node2vec, p = 0.5, q = 2",
     [](const Graph& graph, const Options& options, std::uint64_t seed) {
       return train<DefaultTrainer>(RandomWalks(graph, {.p = 0.5, .q = 2}), options,
                                    options.dimension, 0.0125, seed);
     }},
    {"node2vec, p = 1, q = 0.5",
     [](const Graph& graph, const Options& options, std::uint64_t seed) {
       return train<DefaultTrainer>(RandomWalks(graph, {.p = 1, .q = 0.5}), options,
                                    options.dimension, 0.0125, seed);
     }},
    {"LINE, first order",
     [](const Graph& graph, const Options& options, std::uint64_t seed) {
       return line<detail::LineFirstOrder>(graph, options, options.dimension, seed);
     }},
    {"LINE, second order",
     [](const Graph& graph, const Options& options, std::uint64_t seed) {
       return line<detail::LineSecondOrder>(graph, options, options.dimension, seed);
     }},
    {"LINE, both, half of the dimensions each",
     [](const Graph& graph, const Options& options, std::uint64_t seed) {
       const std::size_t half = options.dimension / 2;
       return Embeddings::concatenate(line<detail::LineFirstOrder>(graph, options, half, seed),
                                      line<detail::LineSecondOrder>(graph, options, half, seed));
     }}};

/// Cliques in a ring, for a trial without data.
Graph small_graph() {
  constexpr WordId cliques = 6, size = 12;
  std::vector<Graph::Edge> edges;
  for (WordId c = 0; c < cliques; ++c) {
    edges.push_back({c * size, (c + 1) % cliques * size});
    for (WordId i = 0; i < size; ++i)
      for (WordId j = 0; j < i; ++j) edges.push_back({c * size + i, c * size + j});
  }
  return Graph::from_edges(edges, cliques * size);
}

/// The scores of a method, a value for each seed.
struct Scores {
  std::vector<double> seconds, micro, macro;
  std::map<std::string, std::vector<double>> auc;
};

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void print_row(const char* name, const Scores& scores, bool with_head) {
  const bool labels = !scores.micro.empty();
  if (with_head) {
    std::printf("| | seconds |");
    for (const auto& [score, values] : scores.auc) std::printf(" %s |", score.c_str());
    std::printf("%s\n|---|---|", labels ? " micro F1 | macro F1 |" : "");
    for (std::size_t i = 0; i < scores.auc.size() + (labels ? 2 : 0); ++i) std::printf("---|");
    std::printf("\n");
  }
  std::printf("| %s | %.2f |", name, mean(scores.seconds));
  for (const auto& [score, values] : scores.auc) std::printf(" %.4f |", mean(values));
  if (labels) std::printf(" %.4f | %.4f |", mean(scores.micro), mean(scores.macro));
  std::printf("\n");
  std::fflush(stdout);
}

void compare(const Options& options) {
  const Graph graph = options.graph.empty() ? small_graph() : Graph::from_edge_list(options.graph);
  std::optional<NodeLabels> labels;
  if (!options.labels.empty()) labels = NodeLabels::load(options.labels);
  if (!options.json)
    std::printf("%zu nodes, %llu edges\n\n", graph.node_count(),
                static_cast<unsigned long long>(graph.edge_count()));
  auto json = nlohmann::ordered_json::object();
  bool is_first = true;
  for (const auto& [name, embed] : methods) {
    const auto& chosen = options.methods;
    if (!chosen.empty() && std::find(chosen.begin(), chosen.end(), name) == chosen.end()) continue;
    Scores scores;
    for (std::uint64_t seed = 1; seed <= options.seeds; ++seed) {
      const LinkSplit split = LinkSplit::of(graph, {.seed = seed});
      const auto start = std::chrono::steady_clock::now();
      const Embeddings vectors = embed(split.train, options, seed);
      scores.seconds.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      for (const auto& row : evaluate_links(vectors, split).rows)
        scores.auc[row.score].push_back(row.auc);
      if (!labels) continue;
      const auto report =
          evaluate_node_labels(embed(graph, options, seed), *labels, {.shares = {0.5}});
      scores.micro.push_back(report.rows[0].micro.mean);
      scores.macro.push_back(report.rows[0].macro.mean);
    }
    if (options.json)
      json[name] = {{"seconds", scores.seconds},
                    {"auc", scores.auc},
                    {"micro_f1", scores.micro},
                    {"macro_f1", scores.macro}};
    else
      print_row(name, scores, std::exchange(is_first, false));
  }
  if (options.json) std::cout << json << '\n';
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("DeepWalk, node2vec and LINE on one graph");
  Options options;
  app.add_option("--graph", options.graph, "Graph::Edge list; without: a ring of cliques");
  app.add_option("--labels", options.labels, "Lines 'node label label ...'");
  std::vector<std::string> names;
  for (const auto& [name, embed] : methods) names.emplace_back(name);
  app.add_option("--methods", options.methods, "Only these")->check(CLI::IsMember(names));
  app.add_option("--seeds", options.seeds, "Of splits and training")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--threads", options.threads, "That train, 0 = all")
      ->check(whole_number)
      ->capture_default_str();
  app.add_option("--dimension", options.dimension, "Numbers in a vector")
      ->check(CLI::Range(2, 100000))
      ->capture_default_str();
  app.add_option("--edges", options.edges, "That LINE draws, 0 = 100 for each entry")
      ->check(whole_number)
      ->capture_default_str();
  app.add_flag("--json", options.json, "One JSON object: the scores of each seed");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  }
  compare(options);
  return 0;
} catch (const std::exception& error) {
  std::cerr << "compare_graph_methods: error: " << error.what() << '\n';
  return 1;
}
