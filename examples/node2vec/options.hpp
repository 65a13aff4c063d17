#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <wordloom/graph.hpp>
#include <wordloom/wordloom.hpp>

#include "declare_options.hpp"
#include "effects.hpp"
#include "foreign_names.hpp"
#include "program.hpp"
#include "published_systems.hpp"

/// The options of the command line.
struct Options : TrainingOptions {
  Options() {
    parameters.dimension = 128;
    parameters.window = 10;
    parameters.epochs = 1;
    parameters.subsample = 0;
    for_walks = true;
  }

  std::string input, input_format = "edges", self_loops = "keep", duplicate_edges = "merge";
  char delimiter = '\0';                   // 0: automatic, by the first lines
  bool header = false, no_header = false;  // neither: a line that looks like one is an error
  bool directed = false, weighted = false, isolated_nodes = false;
  wordloom::RandomWalks::Options walks;
  bool same_walks = false, only_walks = false;
  std::string method = "walks";  // or a factorisation: see fit_nodes
  bool propagate = false;
  std::string old_vectors;  // that new nodes are added to, instead of training
  std::size_t samples = 0;  // of LightNE; 0: its default
  std::string save_walks, evaluate_labels;
  std::optional<std::uint64_t> evaluate_links;  // the seed of the split
  // Options of PecanPy.
  std::string task = "pecanpy", mode = "SparseOTF";
  bool extend = false, implicit_ids = false, verbose = false;
  double gamma = 0;
};

/// Returns the separator of columns that --delimiter names. Throws CLI::ValidationError.
inline char delimiter_of(const std::string& name) {
  const std::pair<const char*, char> names[] = {
      {"tab", '\t'},  {"\\t", '\t'},
      {"comma", ','}, {"semicolon", ';'},
      {"bar", '|'},   {"pipe", '|'},
      {"space", ' '}, {"blank", ' '},
      {"colon", ':'}, {"whitespace", wordloom::GraphOptions::any_white_space}};
  for (const auto& [known, delimiter] : names)
    if (name == known) return delimiter;
  if (name.size() != 1 || std::string_view("\r\n\"#%").find(name[0]) != std::string_view::npos)
    throw CLI::ValidationError(
        "--delimiter is " + in_quotes(name) +
        ", must be one byte (not \", # or %), tab, comma, semicolon, bar, space or whitespace");
  return name[0];
}

/// Adds the options of the graph and of walks.
inline void declare_walks(CLI::App& app, Options& options) {
  const std::string graph = "Graph", walks = "Walks";
  app.add_option("--input-format", options.input_format,
                 "A line of --input is an edge 'node node' | a list of edges 'node neighbour "
                 "neighbour ...': edges | adjacency")
      ->check(CLI::IsMember({"edges", "adjacency"}))
      ->capture_default_str()
      ->group(graph);
  app.add_option_function<std::string>(
         "--delimiter",
         [&options](const std::string& name) { options.delimiter = delimiter_of(name); },
         "Separator of columns: one byte, or tab, comma, semicolon, bar, space, whitespace. "
         "Without: detected from the first lines; --verbose shows it")
      ->group(graph);
  auto* const header = app.add_flag("--header", options.header,
                                    "The first line names the columns: source, target, weight, "
                                    "type (Gephi's), or from, to, ...");
  header->group(graph);
  app.add_flag("--no-header", options.no_header, "The first line is an edge, whatever it contains")
      ->excludes(header)
      ->group(graph);
  app.add_flag("-w,--weighted,!--unweighted", options.weighted,
               "Edges have weights, the third column")
      ->group(graph);
  app.add_flag("--directed,--dr,!--undirected", options.directed,
               "Edges lead from the first node to the second only")
      ->group(graph);
  app.add_option("--self-loops", options.self_loops, "Edges from a node to itself: keep | drop")
      ->check(CLI::IsMember({"keep", "drop"}))
      ->capture_default_str()
      ->group(graph);
  app.add_option("--duplicate-edges", options.duplicate_edges,
                 "Duplicate edges: merge, to one with the sum of their weights | keep")
      ->check(CLI::IsMember({"merge", "keep"}))
      ->capture_default_str()
      ->group(graph);
  app.add_flag("--isolated-nodes", options.isolated_nodes, "Keep nodes without any edge")
      ->group(graph);

  auto& w = options.walks;
  app.add_option("-r,--num-walks", w.walks_per_node, "Walks from each node in an epoch")
      ->check(whole_number)
      ->capture_default_str()
      ->group(walks);
  app.add_option("-l,--walk-length", w.length, "Maximum number of nodes in a walk")
      ->check(whole_number)
      ->capture_default_str()
      ->group(walks);
  app.add_option("-p,--p", w.p, "Steps back to the node before have weight 1/p")
      ->capture_default_str()
      ->group(walks);
  app.add_option("-q,--q", w.q, "Steps to nodes that are not its neighbours have weight 1/q")
      ->capture_default_str()
      ->group(walks);
  app.add_flag("--same-walks", options.same_walks,
               "Each epoch has the same walks, as in PecanPy, instead of new ones")
      ->group(walks);
  app.add_option("--save-walks", options.save_walks,
                 "File for the walks of the first epoch; without --output nothing is trained")
      ->group(walks);
  app.add_flag("--only-walks,--ow", options.only_walks,
               "Write the walks to --output instead of vectors (SNAP: -ow)")
      ->group(walks);
}

/// Adds the options of the methods that do not walk.
inline void declare_methods(CLI::App& app, Options& options) {
  const std::string method = "Method";
  app.add_option("--method", options.method,
                 "walks: node2vec | prone: factorise the graph's matrix and propagate | cleora: "
                 "repeated propagation, the fastest | lightne: factorise sampled walks and "
                 "propagate")
      ->check(CLI::IsMember({"walks", "prone", "cleora", "lightne"}))
      ->capture_default_str()
      ->group(method);
  app.add_flag("--propagate", options.propagate,
               "Propagate the vectors along the edges afterwards, as --method prone does")
      ->group(method);
  app.add_option("--old-vectors", options.old_vectors,
                 "Vectors of some of the nodes: the others get theirs from their neighbours, "
                 "nothing is trained")
      ->group(method);
  app.add_option("--samples", options.samples, "Samples of --method lightne, 0: 25 for each entry")
      ->check(whole_number)
      ->group(method);
}

/// Adds the remaining options of PecanPy, so that scripts for it run. `check` refuses those that
/// this program cannot honour.
inline void declare_pecanpy(CLI::App& app, Options& options) {
  const std::string pecanpy = "Of PecanPy";
  app.add_option("--task", options.task, "Only pecanpy")->group(pecanpy);
  app.add_option("--mode", options.mode, "Any of PecanPy's modes; they differ in speed only there")
      ->check(CLI::IsMember(
          {"SparseOTF", "DenseOTF", "PreComp", "PreCompFirstOrder", "FirstOrderUnweighted"}))
      ->group(pecanpy);
  app.add_flag("-v,--verbose", options.verbose, "Print the separator of columns to stderr")
      ->group(pecanpy);
  app.add_flag("--extend", options.extend, "Not supported: node2vec+")->group(pecanpy);
  app.add_option("--gamma", options.gamma, "Not supported: of node2vec+")->group(pecanpy);
  app.add_flag("--implicit_ids", options.implicit_ids, "Not supported: of .npz files")
      ->group(pecanpy);
}

/// Adds every option to `app`; values go to `options`.
inline void declare(CLI::App& app, Options& options) {
  const Aliases aliases{{{"--output", "-o,--output"},
                         {"--size", "-d,--size,--dimensions"},
                         {"--window", "-k,--window,--window-size"},
                         {"--iter", "-e,--iter,--epochs"},
                         {"--threads", "--threads,--workers"},
                         {"--seed", "--seed,--random_state,--random-state"}}};
  app.add_option("-i,--input", options.input,
                 "Edges, plain or .gz: lines 'node node' or 'node node weight' (--input-format: "
                 "others), or "
                 "Matrix Market; - is standard input")
      ->group(heading::files);
  declare_output(app, options, aliases);
  declare_models(app, options);
  app.add_option("--cache", options.cache, "Keep the graph in this file and reuse it")
      ->group(heading::files);
  declare_checkpoints(app, options);
  declare_methods(app, options);
  declare_walks(app, options);
  declare_system(app, options, graph_systems);
  declare_training(app, options, aliases);
  declare_randomness(app, options, aliases);
  declare_method(app, options);
  app.get_option("--block-contexts")->default_str("4 with --sampler shared");
  app.add_option("--evaluate-links", options.evaluate_links,
                 "Hold half of the edges out, train on the others and predict them; the number "
                 "is the seed of the choice, 1 without")
      ->expected(0, 1)
      ->default_str("1")
      ->check(whole_number)
      ->group(heading::results);
  app.add_option("--evaluate-labels", options.evaluate_labels,
                 "Classify nodes by their vectors; the file has lines 'node label label ...'")
      ->group(heading::results);
  declare_results(app, options);
  declare_pecanpy(app, options);
}

/// Replaces SNAP's `-d:64` (by now with two dashes) by `-d 64`.
inline std::vector<std::string> without_colons(const std::vector<std::string>& arguments) {
  constexpr std::string_view letters = "iodlrkepq";
  std::vector<std::string> result;
  for (const std::string& argument : arguments) {
    if (argument.size() > 4 && argument.starts_with("--") && argument[3] == ':' &&
        letters.find(argument[2]) != letters.npos) {
      result.push_back(argument.substr(1, 2));
      result.push_back(argument.substr(4));
    } else {
      result.push_back(argument);
    }
  }
  return result;
}

/// The files that the command line names, those that are only read first.
inline std::vector<NamedFile> files_of(const Options& options) {
  std::vector<NamedFile> files{{"--input", options.input},
                               {"--load-model", options.load_model},
                               {"--old-vectors", options.old_vectors},
                               {"--evaluate-labels", options.evaluate_labels}};
  add_output_files(files, options);
  files.push_back({"--save-walks", options.save_walks, true});
  add_written_files(files, options);
  return files;
}

/// Throws InvalidArgument for options of PecanPy that this program cannot honour.
inline void check_pecanpy(const Options& options) {
  const auto refuse = [](const std::string& what) { throw wordloom::InvalidArgument(what); };
  if (options.task != "pecanpy")
    refuse("--task " + options.task + " is not supported; the file of --cache keeps a graph");
  if (options.extend || options.gamma != 0)
    refuse("--extend and --gamma (node2vec+) are not supported");
  if (options.implicit_ids) refuse("--implicit_ids is for .npz files, which are not read");
  for (const auto& path : {options.input, options.output})
    if (path.ends_with(".npz"))
      refuse("'" + path +
             "': .npz files are neither read nor written; edges come as text, vectors " +
             "go to NumPy with --format npy");
  const bool first_order = options.walks.p == 1 && options.walks.q == 1;
  if (options.mode.find("FirstOrder") != options.mode.npos && !first_order)
    refuse("--mode " + options.mode + " needs p = q = 1");
  if (options.mode == "FirstOrderUnweighted" && options.weighted)
    refuse("--mode FirstOrderUnweighted does not go with --weighted");
}

/// Options of DeepWalk, gensim and word2vec, with the replacement for each.
inline const ForeignNames foreign_options{
    {"number-walks", "write --num-walks"},
    {"representation-size", "write --dimensions"},
    {"max-memory-data-size", "of DeepWalk, not needed: walks are never stored; leave it out"},
    {"vertex-freq-degree", "of DeepWalk, not supported: leave it out"},
    {"matfile-variable-name", "of DeepWalk: .mat files are not read; export the edges as text"},
    {"train", "write --input"},
    {"vector-size", "write --dimensions"},
    {"num-threads", "write --workers"},
    {"min-count", "all nodes are kept: leave it out"},
    {"learning-rate", "write --alpha"}};

/// Returns whether the command line names a result for which vectors are trained.
inline bool trains(const Options& options) {
  return !options.output.empty() || !options.save_model.empty() || options.json ||
         options.evaluate_links || !options.evaluate_labels.empty();
}

/// Returns whether walks are trained.
inline bool trains_walks(const Options& options) {
  return options.method == "walks" && options.old_vectors.empty();
}

/// Refuses a run without a result, and options without effect.
inline void require_effects(const Options& options) {
  const bool walks = trains_walks(options);
  const std::string results = std::string("--output, ") + (walks ? "--save-model, " : "") +
                              "--evaluate-links, --evaluate-labels or --json";
  if (!trains(options) && options.save_walks.empty() && options.cache.empty())
    throw wordloom::InvalidArgument("nothing would be written: give " + results +
                                    (walks ? ", or --save-walks for the walks alone" : ""));
  require_effects_on_method(options);
  require_effect(options, {"--sample"}, options.parameters.subsample == 0,
                 "on walks, which stay whole");
  require_effects_on_files(options, trains(options), results);
  refuse_two_on_stdout(options, options.evaluate_links || !options.evaluate_labels.empty());
  require_effect(options, {"--binary", "--format"}, !options.only_walks, "with --only-walks");
}

/// Refuses options that have no effect on the chosen method.
inline void require_effects_on_vectors(const Options& options) {
  const std::string with = options.old_vectors.empty() ? "with --method " + options.method
                                                       : std::string("with --old-vectors");
  require_effect(options, {"--method"}, options.old_vectors.empty(), "with --old-vectors");
  require_effect(options, {"--samples"}, options.method == "lightne", "without --method lightne");
  require_effect(options, {"--propagate"}, options.method != "prone" && options.method != "lightne",
                 with + ", which propagates in any case");
  if (trains_walks(options)) {
    if (options.propagate && (writes_model(options) || !options.save_model.empty()))
      throw wordloom::InvalidArgument(
          "--propagate changes vectors, which are not written with a model: leave out --save-model "
          "and --format fasttext");
    return;
  }
  // Those of files, of the graph and of results, and those that other programs usually pass.
  std::set<std::string> read{"--input",
                             "-i",
                             "--output",
                             "-o",
                             "--binary",
                             "--format",
                             "--cache",
                             "--threads",
                             "--workers",
                             "--input-format",
                             "--delimiter",
                             "--header",
                             "--no-header",
                             "-w",
                             "--weighted",
                             "--unweighted",
                             "--directed",
                             "--dr",
                             "--undirected",
                             "--self-loops",
                             "--quiet",
                             "--isolated-nodes",
                             "--duplicate-edges",
                             "--method",
                             "--propagate",
                             "--old-vectors",
                             "--samples",
                             "--evaluate-links",
                             "--json",
                             "--verbose",
                             "-v",
                             "--evaluate-labels",
                             "--list-policies",
                             "--sync",
                             "--task",
                             "--mode"};
  if (options.old_vectors.empty())
    read.insert({"--size", "-d", "--dimensions", "--seed", "--random_state", "--random-state"});
  if (options.method == "lightne") read.insert({"--window", "-k", "--window-size"});
  require_read(options, read, with);
  require_effect(options, {"--sync"}, options.sync == "none", with);  // none: in each process
  if (writes_model(options))
    throw wordloom::InvalidArgument("--format fasttext is for models of --method walks");
}

/// Throws InvalidArgument for options that parse but cannot be honoured.
inline void check(Options& options) {
  if (options.input.empty())
    throw wordloom::InvalidArgument("--input is required (--help lists the options)");
  if (options.input == "-" && (!options.cache.empty() || options.sync != "none"))
    throw wordloom::InvalidArgument("--cache and --sync need a file as --input, not -");
  check_pecanpy(options);
  require_effects_on_vectors(options);
  if (options.input_format == "adjacency" && options.weighted)
    throw wordloom::InvalidArgument(
        "--weighted does not go with --input-format adjacency, which has no weights");
  if (options.input_format == "adjacency" && options.header)
    throw wordloom::InvalidArgument("--header does not go with --input-format adjacency");
  if (options.only_walks) {
    if (options.output.empty() || !options.save_walks.empty())
      throw wordloom::InvalidArgument("--only-walks needs --output, and no --save-walks");
    if (options.json || options.evaluate_links || !options.evaluate_labels.empty() ||
        !options.save_model.empty())
      throw wordloom::InvalidArgument(
          "--only-walks trains no vectors: leave out --json, --save-model and --evaluate-..., or "
          "write the walks with --save-walks");
    options.save_walks = std::exchange(options.output, {});
  }
  if (const auto* const system = choose_system(options, graph_systems))
    choose_walks(options, *system);
  choose_method(options);
  options.walks.new_each_epoch = !options.same_walks;
  options.walks.threads = options.parameters.threads;
  options.walks.validate();
#if !WORDLOOM_HAS_LIBLINEAR
  if (!options.evaluate_labels.empty())
    throw wordloom::InvalidArgument(
        "--evaluate-labels needs a build with LIBLINEAR (WORDLOOM_ENABLE_LIBLINEAR)");
#endif
  if (options.evaluate_links && options.directed)
    throw wordloom::InvalidArgument("--evaluate-links is for undirected graphs, not --directed");
  check(static_cast<const TrainingOptions&>(options));
  require_distinct(files_of(options));
  require_effects(options);
}
