#pragma once
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <wordloom/systems.hpp>

#include "declare_options.hpp"
#include "training_options.hpp"

/// A published system: its method, by the names of --sampler and --kernel, and the hyperparameters
/// of its paper, or of its authors' program if the paper gives none. The types are in
/// wordloom/systems.hpp.
struct PublishedSystem {
  std::string_view name, sampler, kernel;
  std::size_t dimension = 100, window = 5, epochs = 5;
  double subsample = 1e-3, rate = 0.025;
  std::size_t minibatch = 0, maxn = 0, private_rows = 0;
  std::string_view optimizer = "sgd", schedule = "linear";
  std::size_t context_size = 1024;                  // number of columns
  std::size_t walks_per_node = 0, walk_length = 0;  // of graphs
};

inline constexpr std::array published_systems{
    // word2vec.c's defaults.
    PublishedSystem{.name = "word2vec", .sampler = "hogwild", .kernel = "dot"},
    PublishedSystem{.name = "word2vec-cbow", .sampler = "cbow", .kernel = "dot", .rate = 0.05},
    PublishedSystem{.name = "word2vec-hs", .sampler = "hogwild-hs", .kernel = "dot"},
    // Vuurens et al. 2016: their program's train_skipgramHScached.py, which also has one epoch.
    PublishedSystem{.name = "vuurens",
                    .sampler = "hogwild-hs",
                    .kernel = "dot",
                    .epochs = 1,
                    .private_rows = 31},
    // Ji et al. 2016, section IV: the settings of BIDMach.
    PublishedSystem{.name = "pword2vec",
                    .sampler = "shared",
                    .kernel = "gemm",
                    .dimension = 300,
                    .subsample = 1e-4},
    PublishedSystem{.name = "bidmach",
                    .sampler = "split",
                    .kernel = "dot",
                    .dimension = 300,
                    .subsample = 1e-4},
    // Rengasamy et al. 2017: the settings for the 1 Billion Word Benchmark.
    PublishedSystem{.name = "psgnscc",
                    .sampler = "indexed",
                    .kernel = "gemm",
                    .dimension = 300,
                    .subsample = 1e-4},
    // Simonton and Alaghband 2017: their script for text8.
    PublishedSystem{.name = "wombat",
                    .sampler = "shared",
                    .kernel = "gemm",
                    .window = 8,
                    .epochs = 10,
                    .subsample = 1e-4},
    PublishedSystem{.name = "wombat-hs",
                    .sampler = "shared-hs",
                    .kernel = "gemm",
                    .window = 8,
                    .epochs = 10,
                    .subsample = 1e-4},
    // Moon et al. 2019, section VI.
    PublishedSystem{.name = "par-word2vec",
                    .sampler = "decoupled",
                    .kernel = "gemm",
                    .dimension = 128,
                    .window = 8,
                    .epochs = 10,
                    .subsample = 1e-4,
                    .minibatch = 24},
    // Bojanowski et al. 2017; fastText's defaults.
    PublishedSystem{.name = "fasttext",
                    .sampler = "hogwild",
                    .kernel = "dot",
                    .subsample = 1e-4,
                    .rate = 0.05,
                    .maxn = 6},
    // Li et al. 2019, section 5.1; the rate of Adam is Chainer's.
    PublishedSystem{.name = "w2v-cl",
                    .sampler = "uniform",
                    .kernel = "fused",
                    .dimension = 500,
                    .window = 2,
                    .epochs = 1,
                    .subsample = 0,
                    .rate = 0.001,
                    .minibatch = 1,
                    .optimizer = "adam",
                    .schedule = "constant",
                    .context_size = 65'536},
};

/// Systems that train random walks. Neither paper gives the learning rate: it is word2vec.c's.
inline constexpr std::array graph_systems{
    // Perozzi et al. 2014, section 6, and the README of the authors' program.
    PublishedSystem{.name = "deepwalk",
                    .sampler = "hogwild-hs",
                    .kernel = "dot",
                    .dimension = 128,
                    .window = 10,
                    .epochs = 1,
                    .subsample = 0,
                    .walks_per_node = 80,
                    .walk_length = 40},
    // Grover and Leskovec 2016, section 4.2. They choose p and q for each graph.
    PublishedSystem{.name = "node2vec",
                    .sampler = "hogwild",
                    .kernel = "dot",
                    .dimension = 128,
                    .window = 10,
                    .epochs = 1,
                    .subsample = 0,
                    .walks_per_node = 10,
                    .walk_length = 80},
};

inline std::vector<std::string> names_of(std::span<const PublishedSystem> systems) {
  std::vector<std::string> names;
  for (const PublishedSystem& system : systems) names.emplace_back(system.name);
  return names;
}

/// Adds --system, which takes the name of one of `systems`.
inline void declare_system(CLI::App& app, TrainingOptions& options,
                           std::span<const PublishedSystem> systems = published_systems) {
  const std::vector<std::string> names = names_of(systems);
  app.add_option(
         "--system", options.system,
         "A published system with the hyperparameters of its paper, without our own additions: " +
             CLI::detail::join(names, " | ") + ". Other options override its hyperparameters")
      ->check(CLI::IsMember(names))
      ->group(heading::training);
}

/// Sets the method and the hyperparameters of --system, one of `systems`. Options on the command
/// line keep their values. Returns the system, or null without --system. Throws InvalidArgument for
/// options that would change the method.
inline const PublishedSystem* choose_system(
    TrainingOptions& options, std::span<const PublishedSystem> systems = published_systems) {
  if (options.system.empty()) return nullptr;
  for (const char* name :
       {"--preset", "--sampler", "--kernel", "--optimizer", "--cbow", "--cbow-gradient", "--hs",
        "--loss", "--char-cnn", "--private-rows", "--negative-pool", "--hs-sample"})
    if (options.is_given(name))
      throw wordloom::InvalidArgument(std::string(name) + " does not go with --system " +
                                      options.system + ", whose method is fixed: leave one out");
  const auto system = std::ranges::find(systems, options.system, &PublishedSystem::name);
  if (system->sampler == "indexed" && options.sync != "none")
    throw wordloom::InvalidArgument("--sync " + options.sync + " does not go with --system " +
                                    options.system + ", which trains in one process");
#if !WORDLOOM_HAS_BLAS
  if (system->kernel == "gemm" || wordloom::Policies::PublishedSamplers::contains(system->sampler))
    throw wordloom::InvalidArgument("--system " + options.system +
                                    " needs a build with CBLAS (WORDLOOM_ENABLE_BLAS)");
#endif
  options.sampler = system->sampler;
  options.kernel = system->kernel;
  options.optimizer = system->optimizer;
  auto& p = options.parameters;
  p = p.as_published(system->private_rows);
  if (options.sampler.ends_with("-hs")) {
    if (options.is_given("--negative") && p.negatives > 0)
      throw wordloom::InvalidArgument("--system " + options.system +
                                      " has no negatives: leave --negative out");
    p.negatives = 0;
  } else if (options.is_given("--negative") && p.negatives == 0) {
    throw wordloom::InvalidArgument("--system " + options.system + " needs 1 to 1000 negatives");
  }
  if (options.sampler == "cbow") options.cbow_gradient = "whole";
  const auto unless_given = [&](const char* name, auto& value, const auto& of_system) {
    if (!options.is_given(name)) value = of_system;
  };
  unless_given("--size", p.dimension, system->dimension);
  unless_given("--window", p.window, system->window);
  unless_given("--iter", p.epochs, system->epochs);
  unless_given("--sample", p.subsample, system->subsample);
  if (p.minibatch == 0) p.minibatch = system->minibatch;
  unless_given("--maxn", options.subwords.maxn, system->maxn);
  unless_given("--schedule", options.schedule, system->schedule);
  unless_given("--context-size", options.context_size, system->context_size);
  if (!options.alpha) options.alpha = system->rate;
  // Several nodes: Ji et al. 2016, section III-E; the number of rows is that of their program.
  if (options.system == "pword2vec" && options.sync != "none") {
    unless_given("--sync-rule", options.sync_rule, "average");
    unless_given("--sync-first-rows", options.sync_options.first_rows, std::size_t{1024});
    unless_given("--schedule", options.schedule, "steep");
  }
  return &*system;
}

/// Sets the walks of one of graph_systems in the options of node2vec. Throws InvalidArgument for
/// values of p and q that the system does not have.
template <class Options>
void choose_walks(Options& options, const PublishedSystem& system) {
  auto& walks = options.walks;
  if (system.name == "deepwalk" && (walks.p != 1 || walks.q != 1))
    throw wordloom::InvalidArgument(
        "--system deepwalk walks with p = q = 1: leave --p and --q out, or give --system node2vec");
  if (!options.is_given("--num-walks")) walks.walks_per_node = system.walks_per_node;
  if (!options.is_given("--walk-length")) walks.length = system.walk_length;
}
