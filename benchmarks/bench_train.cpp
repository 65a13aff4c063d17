// End to end: in-vocabulary corpus words a second of training, a row for each composition, with the
// loss and, with --evaluate FOLDER, the scores of the same vectors beside it. With --limits, what a
// word that subsampling keeps costs, on the text and ("cached") on few words whose rows are in the
// cache: nanoseconds of user time, pairs, rows, bytes, and the share of the machine's limits.
// "missed": visits of rows that the third-level cache does not hold, by a model of it.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <wordloom/any_trainer.hpp>
#include <wordloom/registry.hpp>
#include <wordloom/wordloom.hpp>

#include "support/arguments.hpp"
#include "support/demo_text.hpp"
#include "support/limits.hpp"
#include "support/machine.hpp"
#include "support/training.hpp"

using namespace wordloom;

namespace {

using Names = std::vector<std::string>;

/// Whether a name was chosen: all are when none is given.
bool is_chosen(const Names& chosen, std::string_view name) {
  return chosen.empty() || std::find(chosen.begin(), chosen.end(), name) != chosen.end();
}

/// Trains a new model. `callback` is called 20 times a second.
TrainReport train(std::string_view sampler, std::string_view kernel,
                  const Hyperparameters& parameters, const TrainingInput& input,
                  std::optional<Model>& model, std::function<bool(const Progress&)> callback = {}) {
  auto trainer = make_trainer(sampler, kernel, parameters);
  trainer.on_progress(std::move(callback), std::chrono::milliseconds(50));
  model.emplace(trainer.new_model(input.vocabulary));
  return trainer.train(input.corpus, *model);
}

/// Returns the MiB of the third-level cache, or 32 where the system does not tell.
double shared_cache_mib() {
  for (const auto& cache : benchmark::CPUInfo::Get().caches)
    if (cache.level == 3) return cache.size / 1048576.0;
  return 32;
}

/// Adds columns to a row: given its state, the name of its sampler and words a second by user time.
using AddColumns = std::function<void(benchmark::State&, std::string_view, double)>;

/// Registers a row for each composition of the samplers and kernels chosen. `ending`: of its name.
void add_all(const Names& samplers, const Names& kernels, const TrainingInput& input,
             const Hyperparameters& parameters, const std::string& ending = {},
             const AddColumns& add_columns = {}) {
  std::string settings;
  if (parameters.minibatch != 0 || parameters.shared_negatives != 0)
    settings = "/" + std::to_string(parameters.minibatch) + "x" +
               std::to_string(parameters.shared_negatives);
  if (parameters.fixed_window) settings += "/fixed";
  settings += "/D:" + std::to_string(parameters.dimension) +
              "/threads:" + std::to_string(resolve_threads(parameters.threads)) + ending;
  Policies::Samplers::for_each([&]<class>(std::string_view sampler) {
    const auto add = [&]<class>(std::string_view kernel) {
      if (!is_chosen(samplers, sampler) || !is_chosen(kernels, kernel)) return;
      const std::string row = std::string(sampler) + "+" + std::string(kernel) + settings;
      const auto run = [&input, parameters, sampler, kernel, add_columns](benchmark::State& state) {
        limits::UserSpeed speed;
        measure(state, input, [&](auto& model) {
          if (!add_columns) return train(sampler, kernel, parameters, input, model);
          speed = {};
          return train(sampler, kernel, parameters, input, model, std::ref(speed));
        });
        const auto threads = static_cast<double>(resolve_threads(parameters.threads));
        if (add_columns) add_columns(state, sampler, speed.words_per_second(threads));
      };
      benchmark::RegisterBenchmark(row.c_str(), run)
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond);
    };
    Policies::Kernels::for_each(add);
    Policies::RowKernels::for_each([&]<class Kernel>(std::string_view kernel) {
      if (Policies::RowSamplers::contains(sampler) && Kernel::runs_here())
        add.template operator()<Kernel>(kernel);
    });
  });
}

/// Returns the work of a sampler for each kept word, counted on the first call.
class WorkOfSamplers {
 public:
  WorkOfSamplers(const TrainingInput& input, const Hyperparameters& parameters, double cached_rows)
      : input_(input), parameters_(parameters), cached_rows_(cached_rows) {}

  const limits::Work& operator()(std::string_view sampler) {
    const auto [found, is_new] = work_.try_emplace(std::string(sampler));
    if (is_new)
      Policies::Samplers::with(sampler, [&]<class Sampler>() {
        found->second = limits::work_of<Sampler>(input_, parameters_, cached_rows_);
      });
    return found->second;
  }

 private:
  const TrainingInput& input_;
  const Hyperparameters parameters_;
  const double cached_rows_;
  std::map<std::string, limits::Work> work_;
};

/// Registers rows on the text and on few words, with what each kept word costs. `cache`: bytes.
void add_limits(const Names& samplers, const Names& kernels, const TrainingInput& input,
                const TrainingInput& few, Hyperparameters parameters, double cache) {
  const std::size_t dimension = parameters.dimension;
  const auto threads = static_cast<double>(resolve_threads(parameters.threads));
  const limits::Limits limits{
      threads * fma_peak(),
      limits::random_row_seconds(input.vocabulary.size(), dimension) / threads, dimension};
  std::cerr << "D " << dimension << ", " << threads << " thread(s): FMA peak " << limits.peak / 1e9
            << " GFLOP/s, a random row in " << limits.row_seconds * 1e9 << " ns\n";
  const double row_bytes = 4.0 * static_cast<double>(RowMatrix(1, dimension).stride());
  const auto add = [&](const TrainingInput& text, const std::string& ending) {
    const auto work = std::make_shared<WorkOfSamplers>(text, parameters, cache / row_bytes);
    add_all(samplers, kernels, text, parameters, ending,
            [=](benchmark::State& state, std::string_view sampler, double words_per_second) {
              limits.add_columns(state, (*work)(sampler), words_per_second);
            });
  };
  add(input, "");
  parameters.subsample = 0;
  add(few, "/cached");
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
      ->check(registered<Policies::Samplers>);
  app.add_option("--kernel", kernels, "Kernels, several allowed; default: all")
      ->check(registered<Policies::Kernels, Policies::RowKernels>);
  app.add_flag_callback(
      "--fixed-window", [&] { parameters = parameters.with_fixed_window(); },
      "Windows of always 3 words on each side");
  app.add_option("--minibatch", parameters.minibatch, "Words that a sampler trains together");
  app.add_option("--shared-negatives", parameters.shared_negatives, "Negatives that they share");
  app.add_option("--dimension", dimensions, "Dimensions, several allowed");
  app.add_option("--threads", threads, "Numbers of threads, several allowed");
  app.add_option("--private-rows", parameters.private_rows,
                 "Rows of each matrix of which threads have private copies");
  app.add_option("--epochs", parameters.epochs, "Epochs");
  app.add_option("--alpha", parameters.learning_rate, "Learning rate at the start");
  app.add_option("--sample", parameters.subsample, "Subsampling threshold");
  VocabularyOptions words;
  app.add_option("--min-count", words.min_count, "Words that occur less often are left out");
  bool with_limits = false;
  double cache = shared_cache_mib();
  app.add_flag("--limits", with_limits,
               "Beside the speed what a kept word costs, and the share of the machine's limits");
  app.add_option(
         "--cache", cache,
         "MiB of the cache that cores share: --limits counts the rows that it does not hold")
      ->capture_default_str()
      ->needs("--limits");
  app.add_option("--evaluate", gold,
                 "Folder with similarity/ and analogy/ to score the vectors on");
  try {
    parse_arguments(app, argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  }
  describe_machine();
  const TrainingInput input = load_input(BenchmarkText(corpus, 200'000), gold, {}, words);
  benchmark::AddCustomContext("tokens", std::to_string(input.corpus.token_count()));
  std::list<TrainingInput> few;  // of each dimension and number of threads
  for (const std::size_t dimension : dimensions)
    for (const std::size_t n : threads) {
      parameters.dimension = dimension;
      parameters.threads = n;
      parameters.validate();
      if (!with_limits) {
        add_all(samplers, kernels, input, parameters);
        continue;
      }
      few.push_back(limits::text_in_cache(input, parameters.subsample, dimension));
      add_limits(samplers, kernels, input, few.back(), parameters, cache * (1 << 20));
    }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
} catch (const std::exception& error) {
  std::cerr << "bench_train: " << error.what() << '\n';
  return 1;
}
