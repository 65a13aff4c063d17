#pragma once
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <wordloom/algebra.hpp>

#include "graph_text.hpp"
#include "interrupts.hpp"
#include "node_tests.hpp"
#include "options.hpp"
#include "training_run.hpp"

/// Shows the numbers of the graph on stderr when the work begins, and then the share that is done:
/// one line that is overwritten on a terminal, else a line a second. Throws Interrupted after a
/// signal.
class ShareLine {
 public:
  ShareLine(std::string name, std::string counts, bool quiet)
      : name_(std::move(name)), counts_(std::move(counts)), quiet_(quiet) {}

  void show(double share) {
    check_signals();
    show_counts();
    const auto now = std::chrono::steady_clock::now();
    if (quiet_ || now < next_) return;
    next_ = now + std::chrono::milliseconds(terminal_ ? 200 : 1000);
    std::fprintf(stderr, "%snode2vec: %s  %5.1f%%%s", terminal_ ? "\r" : "", name_.c_str(),
                 100 * share, terminal_ ? "" : "\n");
    open_ = terminal_;
  }
  void end() {
    show_counts();
    if (open_) std::fputc('\n', stderr);
    open_ = false;
  }

 private:
  void show_counts() {
    if (!counts_.empty()) std::fprintf(stderr, "%s\n", std::exchange(counts_, {}).c_str());
  }

  std::string name_, counts_;
  bool quiet_, open_ = false, terminal_ = ::isatty(STDERR_FILENO) == 1;
  std::chrono::steady_clock::time_point next_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(1);
};

/// Returns the vectors after --propagate, if it is given.
inline wordloom::Embeddings propagated(const Options& options, const wordloom::Graph& graph,
                                       wordloom::Embeddings nodes) {
  if (!options.propagate) return nodes;
  return wordloom::propagate(graph, nodes, {.threads = options.parameters.threads});
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
  ShareLine line(options.method, graph_text, options.quiet);
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
