// Vectors of the nodes of a graph: random walks, trained as they are made. Accepts the options of
// PecanPy and SNAP's node2vec, and word2vec's options of training.
#include <chrono>
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <wordloom/graph.hpp>
#include <wordloom/sync/rank_corpus.hpp>
#include <wordloom/wordloom.hpp>

#include "graph_text.hpp"
#include "node_tests.hpp"
#include "options.hpp"
#include "other_methods.hpp"
#include "program.hpp"
#include "training_run.hpp"

namespace {

wordloom::Graph load_graph(const Options& options, Cluster& cluster) {
  // One process writes the file of --cache, which the others then map.
  const bool waits = !options.cache.empty() && !cluster.is_first();
  if (waits) cluster.gather(0);
  auto graph = wordloom::Graph::from_edge_list(
      options.input,
      {.directed = options.directed,
       .weighted = options.weighted,
       .delimiter = options.delimiter,
       .format = options.input_format == "adjacency" ? wordloom::GraphOptions::Format::adjacency
                                                     : wordloom::GraphOptions::Format::edges,
       .header = options.header      ? wordloom::GraphOptions::Header::present
                 : options.no_header ? wordloom::GraphOptions::Header::absent
                                     : wordloom::GraphOptions::Header::refuse,
       .duplicate_edges = options.duplicate_edges == "merge"
                              ? wordloom::GraphOptions::Duplicates::merge
                              : wordloom::GraphOptions::Duplicates::keep,
       .self_loops = options.self_loops == "keep",
       .isolated_nodes = options.isolated_nodes,
       .threads = options.parameters.threads,
       .cache = options.cache,
       .before_piece = check_signals});
  if (!waits && !options.cache.empty()) cluster.gather(0);
  if (graph.report().delimiter == '\0' && options.input_format == "adjacency")
    throw wordloom::InvalidArgument{"--input-format adjacency has no effect on '", options.input,
                                    "', a Matrix Market file: leave it out"};
  return graph;
}

/// Returns a function that formats the speed of training in steps and walks.
ProgressLine::Speed speed_of(const wordloom::RandomWalks& walks) {
  const double all = static_cast<double>(walks.graph().node_count()) *
                     static_cast<double>(walks.options().walks_per_node);
  return [steps_per_walk = static_cast<double>(walks.token_count()) / all](double steps) {
    char text[64];
    std::snprintf(text, sizeof text, "%.2fM steps/s  %.1fk walks/s", steps / 1e6,
                  steps / steps_per_walk / 1e3);
    return std::string(text);
  };
}

nlohmann::ordered_json json_of(const Options& options, const RunReport& report,
                               const Cluster& cluster, const wordloom::RandomWalks& walks,
                               const wordloom::Graph::Report& graph_report, double load_seconds,
                               const NodeTests& tests) {
  auto json =
      json_report(options, report, cluster.size(), walks.graph().node_count(), walks.token_count());
  json["edges"] = walks.graph().edge_count();
  add_graph_report(json, graph_report);
  json["walks_per_node"] = options.walks.walks_per_node;
  json["walk_length"] = options.walks.length;
  json["p"] = options.walks.p;
  json["q"] = options.walks.q;
  json["load_seconds"] = load_seconds;
  json["scores"] = tests.json();
  return json;
}

constexpr const char* first_example =
    "Trains vectors of the nodes of a graph. To begin with, on a file with an edge 'node node' a "
    "line:\n\n"
    "  node2vec --input edges.txt --output vectors.txt --p 0.5 --q 2 --threads 0\n"
    "  neighbours vectors.txt    # type a node to see those nearest to it\n\n"
    "Also: --weighted, --directed, --evaluate-links; node2vec --help lists all options.\n";

int run(int argc, char** argv, Cluster& cluster) {
  if (argc == 1) {
    std::cout << first_example;
    return 0;
  }
  CLI::App app(
      "Trains vectors of the nodes of a graph by random walks: node2vec and DeepWalk.\n"
      "Options may be written as in PecanPy (--dimensions 64), SNAP (-d:64) and word2vec (-size "
      "64).");
  app.name("node2vec");
  Options options;
  declare(app, options);
  const auto arguments = without_colons(with_double_dashes(app, argc, argv));
  refuse_foreign_names(arguments, {}, foreign_options);
  if (const auto code = parse(app, arguments)) return *code;
  options.given = given_options(app, arguments);
  if (options.list_policies) {
    list_policies(names_of(graph_systems));
    return 0;
  }
  check(options);
  warn("node2vec", warnings_of_repeated(app));
  start_training(options, cluster);
  const bool writes = cluster.is_first();
  PreparedFiles prepared(options, writes);
  if (writes) PreparedFiles::try_written(options.save_walks);
  // Another process can end this one at any time: leave no unfinished files.
  if (cluster.size() > 1) prepared.output.reset();
  NodeTests tests(options.evaluate_labels);

  const auto start = std::chrono::steady_clock::now();
  auto graph = load_graph(options, cluster);
  const auto graph_report = graph.report();
  const auto graph_text = text_of_graph(options, graph);
  if (writes) warn_of_directions(options, graph);
  if (options.evaluate_links) graph = tests.hold_links_out(graph, *options.evaluate_links);
  tests.check_names(graph.vocabulary());
  if (!trains_walks(options)) {
    const std::chrono::duration<double> loaded = std::chrono::steady_clock::now() - start;
    run_other_method(options, graph, graph_text, loaded.count(), prepared, tests);
    return 0;
  }
  if (writes && !options.save_walks.empty()) wordloom::RandomWalks::check_names(graph);
  const wordloom::RandomWalks walks(std::move(graph), options.walks);
  const auto fingerprints = cluster.gather(walks.fingerprint());
  for (std::size_t rank = 1; rank < fingerprints.size(); ++rank)
    if (fingerprints[rank] != fingerprints[0])
      throw wordloom::SyncError{"rank ", rank, " has another graph or set of walks than rank 0"};
  const std::chrono::duration<double> loaded = std::chrono::steady_clock::now() - start;
  std::optional<wordloom::Model> model;
  if (trains(options)) {
    if (!options.load_model.empty()) model.emplace(load_model(options));
    if (walks.graph().vocabulary().size() == 1)
      throw wordloom::CorpusError{"'", options.input, "' has one node: training needs two or more"};
    check_vocabulary(options, walks.graph().vocabulary());
    require_contexts(wordloom::AnyCorpus(walks), walks.graph().vocabulary(), options, cluster,
                     options.walks.length == 1
                         ? "--walk-length is 1, give 2 or more"
                         : "walks stay at one node, as nodes have no other neighbours");
  }
  Program program{"node2vec", speed_of(walks)};
  if (trains(options) && !options.quiet)
    program.counts = graph_text;
  else if (writes && !graph_text.empty())
    std::cerr << graph_text << '\n';
  if (writes && !options.save_walks.empty())
    walks.save(options.save_walks, options.parameters.seed);
  if (!trains(options)) return 0;

  note_threads(program, options, cluster);
  const auto report = train(program, options, cluster, wordloom::AnyCorpus(walks),
                            walks.graph().vocabulary(), model);
  if (report.stopped) return exit_code_of_signal();
  if (!cluster.is_first()) return 0;
  if (!options.save_model.empty()) model->save(options.save_model);
  prepared.write(options, *model);
  const auto nodes = propagated(options, walks.graph(), std::move(*model).embeddings());
  prepared.write(options, nodes);
  tests.run(nodes, options.parameters.threads);
  if (options.json)
    std::cout << line_of(
        json_of(options, report, cluster, walks, graph_report, loaded.count(), tests));
  else
    tests.print(std::cout);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_program("node2vec", run, argc, argv); }
