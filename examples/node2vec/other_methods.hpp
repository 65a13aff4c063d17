#pragma once
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <wordloom/algebra.hpp>

#include "graph_text.hpp"
#include "node_tests.hpp"
#include "options.hpp"
#include "share_line.hpp"
#include "training_run.hpp"

/// Returns the vectors after --propagate, if it is given.
inline wordloom::Embeddings propagated(const Options& options, const wordloom::Graph& graph,
                                       wordloom::Embeddings nodes) {
  if (!options.propagate) return nodes;
  return wordloom::propagate(graph, nodes, {.threads = options.parameters.threads});
}

/// Warns of directed edges that are followed in both directions.
inline void warn_of_directions(const Options& options, const wordloom::Graph& graph) {
  if (!graph.is_directed() || (trains_walks(options) && !options.propagate)) return;
  const std::string what = !options.old_vectors.empty() ? "--old-vectors"
                           : trains_walks(options)      ? "--propagate"
                                                        : "--method " + options.method;
  warn("node2vec", {what + " follows each edge in both directions, and an edge in each "
                           "direction counts twice; only walks respect directions"});
}

/// Returns the vectors of the method that the options choose, other than walks.
inline wordloom::Embeddings fit_nodes(const Options& options, const wordloom::Graph& graph,
                                      ShareLine& line) {
  const auto& p = options.parameters;
  const auto progress = [&line](double share) { line.show(share); };
  const auto fit = [&](auto method) {
    method.dimension = p.dimension;
    method.seed = p.seed;
    method.threads = p.threads;
    method.progress = progress;
    return method.fit(graph);
  };
  if (!options.old_vectors.empty())
    return wordloom::extend(graph, wordloom::Embeddings::load(options.old_vectors), 5, p.threads);
  if (options.method == "prone") return fit(wordloom::ProNE{});
  if (options.method == "cleora") return fit(wordloom::Cleora{});
  return fit(wordloom::LightNE{.window = p.window, .samples = options.samples});
}

/// Computes, writes and tests vectors that are not trained on walks.
inline void run_other_method(const Options& options, const wordloom::Graph& graph,
                             const std::string& graph_text, double load_seconds,
                             PreparedFiles& prepared, NodeTests& tests) {
  if (!options.output.empty())
    wordloom::VectorFile::check_words(graph.vocabulary().words(), output_format(options));
  const auto start = std::chrono::steady_clock::now();
  ShareLine line("node2vec: " + options.method, graph_text, options.quiet);
  const auto nodes = propagated(options, graph, fit_nodes(options, graph, line));
  line.end();
  const std::chrono::duration<double> train_time = std::chrono::steady_clock::now() - start;
  prepared.write(options, nodes);
  tests.run(nodes, options.parameters.threads);
  if (!options.json) return tests.print(std::cout);
  nlohmann::ordered_json json{{"method", options.old_vectors.empty() ? options.method : "extend"},
                              {"train_seconds", train_time.count()},
                              {"vocabulary", nodes.size()},
                              {"edges", graph.edge_count()},
                              {"peak_rss_bytes", peak_rss_bytes()},
                              {"target", wordloom::InstructionSet::chosen().name},
                              {"dimension", nodes.dimension()},
                              {"threads", wordloom::resolve_threads(options.parameters.threads)},
                              {"seed", options.parameters.seed}};
  add_graph_report(json, graph.report());
  json["load_seconds"] = load_seconds;
  json["scores"] = tests.json();
  std::cout << line_of(json);
}
