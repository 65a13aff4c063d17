// End to end: in-vocabulary corpus words a second of training, one row for each composition, loss
// and, with --evaluate FOLDER, the scores of the same vectors beside it.
#include <benchmark/benchmark.h>

#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>
#include <wordloom/wordloom.hpp>

#include "support/arguments.hpp"
#include "support/demo_text.hpp"
#include "support/machine.hpp"
#include "support/training.hpp"

using namespace wordloom;

namespace {

template <class AnySampler, class Kernel>
void add(const std::string& name, const TrainingInput& input, const Hyperparameters& parameters) {
  const std::string row = name + "/D:" + std::to_string(parameters.dimension) +
                          "/threads:" + std::to_string(resolve_threads(parameters.threads));
  benchmark::RegisterBenchmark(row.c_str(),
                               [&input, parameters](benchmark::State& state) {
                                 measure_training<Trainer<AnySampler, Kernel>>(state, input,
                                                                               parameters);
                               })
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

template <class AnySampler>
void add_kernels(const std::string& name, const TrainingInput& input,
                 const Hyperparameters& parameters) {
  add<AnySampler, DotKernel>(name + "+dot", input, parameters);
#if WORDLOOM_HAS_BLAS
  add<AnySampler, GemmKernel>(name + "+gemm", input, parameters);
#endif
  add<AnySampler, FusedKernel<>>(name + "+fused", input, parameters);
}

/// One place for all compositions.
void add_all(const TrainingInput& input, Hyperparameters parameters) {
  add<Hogwild, DotKernel>("hogwild+dot", input, parameters);
  add<Hogwild, FusedKernel<>>("hogwild+fused", input, parameters);
  add_kernels<SharedNegative>("shared", input, parameters);
  if (parameters.dimension == 128)
    add<SharedNegative, FusedKernel<128>>("shared+fused128", input, parameters);
  if (parameters.dimension == 300)
    add<SharedNegative, FusedKernel<300>>("shared+fused300", input, parameters);
  add<SharedNegativeFixedWindow, FusedKernel<>>("shared-fixed+fused", input, parameters);
  add_kernels<SplitSharedNegative>("split", input, parameters);
  const auto named = [&](const char* sampler, std::size_t minibatch, std::size_t negatives) {
    parameters.minibatch = minibatch;
    parameters.shared_negatives = negatives;
    return std::string(sampler) + "/" + std::to_string(minibatch) + "x" + std::to_string(negatives);
  };
  std::string name = named("minibatch", 16, 30);
  add_kernels<SentenceMinibatch>(name, input, parameters);
  name = named("minibatch", 16, 16);
  add<SentenceMinibatch, FusedKernel<>>(name + "+fused", input, parameters);
  name = named("combined", 4, 8);
  add_kernels<CombinedContext>(name, input, parameters);
  add<CombinedContextFixedWindow, FusedKernel<>>("combined-fixed/4x8+fused", input, parameters);
  name = named("combined-fixed", 4, 6);
  add<CombinedContextFixedWindow, FusedKernel<>>(name + "+fused", input, parameters);
  name = named("grouped", 3, 7);
  add_kernels<GroupedWindow>(name, input, parameters);
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("End-to-end training speed");
  std::string corpus, gold;
  std::vector<std::size_t> dimensions{128}, threads{1};
  Hyperparameters parameters{.subsample = 1e-4, .epochs = 1};
  app.add_option("--corpus", corpus, "Text to train on; default: the demo corpus");
  app.add_option("--dimension", dimensions, "Dimensions, several allowed");
  app.add_option("--threads", threads, "Numbers of threads, several allowed");
  app.add_option("--epochs", parameters.epochs, "Epochs");
  app.add_option("--sample", parameters.subsample, "Subsampling threshold");
  app.add_option("--evaluate", gold,
                 "Folder with similarity/ and analogy/ to score the vectors on");
  try {
    parse_arguments(app, argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  }
  describe_machine();
  const BenchmarkText text(corpus, 200'000);
  const auto vocabulary = Vocabulary::from_text(text.path());
  const TrainingInput input{vocabulary, EncodedCorpus::from_text(text.path(), vocabulary), gold};
  benchmark::AddCustomContext("tokens", std::to_string(input.corpus.token_count()));
  for (const std::size_t dimension : dimensions)
    for (const std::size_t n : threads) {
      parameters.dimension = dimension;
      parameters.threads = n;
      parameters.validate();
      add_all(input, parameters);
    }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
} catch (const std::exception& error) {
  std::cerr << "bench_train: " << error.what() << '\n';
  return 1;
}
