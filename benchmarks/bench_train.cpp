// End to end: in-vocabulary corpus words a second of training, a row for each composition, with the
// loss and, with --evaluate FOLDER, the scores of the same vectors beside it.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include <wordloom/wordloom.hpp>

#include "support/arguments.hpp"
#include "support/demo_text.hpp"
#include "support/machine.hpp"
#include "support/training.hpp"
#include "train_on_host.hpp"

using namespace wordloom;

namespace {

using Names = std::vector<std::string>;

/// Whether a name was chosen: all are when none is given.
bool is_chosen(const Names& chosen, std::string_view name) {
  return chosen.empty() || std::find(chosen.begin(), chosen.end(), name) != chosen.end();
}

/// Trains a new model.
template <class Kernel>
TrainReport train(std::string_view sampler, std::string_view kernel,
                  const Hyperparameters& parameters, const TrainingInput& input,
                  std::optional<Model>& model) {
  const SyncOptions no_sync;
  const Composition composition{sampler, kernel, parameters, std::nullopt, "",
                                {},      false,  "none",     false,        no_sync};
  const Cluster alone;
  return train_on_host<Kernel>(
      {composition, alone, AnyCorpus(input.corpus), input.vocabulary, model, {}, {}});
}

/// Registers a row for each composition of the samplers and kernels chosen.
void add_all(const Names& samplers, const Names& kernels, const TrainingInput& input,
             const Hyperparameters& parameters) {
  std::string settings;
  if (parameters.minibatch != 0 || parameters.shared_negatives != 0)
    settings = "/" + std::to_string(parameters.minibatch) + "x" +
               std::to_string(parameters.shared_negatives);
  settings += "/D:" + std::to_string(parameters.dimension) +
              "/threads:" + std::to_string(resolve_threads(parameters.threads));
  Samplers::for_each([&]<class>(std::string_view sampler) {
    Kernels::for_each([&]<class Kernel>(std::string_view kernel) {
      if (!is_chosen(samplers, sampler) || !is_chosen(kernels, kernel)) return;
      const std::string row = std::string(sampler) + "+" + std::string(kernel) + settings;
      benchmark::RegisterBenchmark(row.c_str(),
                                   [&input, parameters, sampler, kernel](benchmark::State& state) {
                                     measure(state, input, [&](auto& model) {
                                       return train<Kernel>(sampler, kernel, parameters, input,
                                                            model);
                                     });
                                   })
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond);
    });
  });
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("End-to-end training speed");
  std::string corpus, gold;
  Names samplers, kernels;
  std::vector<std::size_t> dimensions{128}, threads{1};
  Hyperparameters parameters{.subsample = 1e-4, .epochs = 1};
  app.add_option("--corpus", corpus, "Text to train on; default: the demo corpus");
  app.add_option("--sampler", samplers, "Samplers, several allowed; default: all")
      ->check(registered<Samplers>);
  app.add_option("--kernel", kernels, "Kernels, several allowed; default: all")
      ->check(registered<Kernels>);
  app.add_option("--minibatch", parameters.minibatch, "Words that a sampler trains together");
  app.add_option("--shared-negatives", parameters.shared_negatives, "Negatives that they share");
  app.add_option("--dimension", dimensions, "Dimensions, several allowed");
  app.add_option("--threads", threads, "Numbers of threads, several allowed");
  app.add_option("--private-rows", parameters.private_rows,
                 "Rows of each matrix of which threads have private copies");
  app.add_option("--epochs", parameters.epochs, "Epochs");
  app.add_option("--alpha", parameters.learning_rate, "Learning rate at the start");
  app.add_option("--sample", parameters.subsample, "Subsampling threshold");
  app.add_option("--evaluate", gold,
                 "Folder with similarity/ and analogy/ to score the vectors on");
  try {
    parse_arguments(app, argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  }
  describe_machine();
  const TrainingInput input = load_input(BenchmarkText(corpus, 200'000), gold);
  benchmark::AddCustomContext("tokens", std::to_string(input.corpus.token_count()));
  for (const std::size_t dimension : dimensions)
    for (const std::size_t n : threads) {
      parameters.dimension = dimension;
      parameters.threads = n;
      parameters.validate();
      add_all(samplers, kernels, input, parameters);
    }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
} catch (const std::exception& error) {
  std::cerr << "bench_train: " << error.what() << '\n';
  return 1;
}
