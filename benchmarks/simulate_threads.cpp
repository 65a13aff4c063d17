// The loss of quality by many threads with private copies of rows, simulated on one core: threads
// take turns of a short sentence, so that their copies are as old as on a machine with a core for
// each thread. Prints a table.
#include <cstddef>
#include <deque>
#include <exception>
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/registry.hpp>
#include <wordloom/wordloom.hpp>

#include "support/arguments.hpp"
#include "support/demo_text.hpp"
#include "support/training.hpp"

using namespace wordloom;
using detail::PrivateRows;

namespace {

using Simulated = Registry<Named<"shared", SharedNegative>, Named<"grouped", GroupedWindow>,
                           Named<"hogwild", Hogwild>, Named<"grouped-cbow", GroupedCbow>,
                           Named<"shared-hs", HierarchicalSoftmax>>;

/// A thread of a trainer, whose turn is a sentence.
template <class SamplerWorker, class KernelWorker>
class Turns {
 public:
  template <class Samplers, class Kernel>
  Turns(const Samplers& samplers, const Kernel& kernel, Model& model, double rate,
        const PrivateRows::Thread& own)
      : sampler_(detail::worker_of(samplers)),
        kernel_(kernel.worker(std::as_const(model), sampler_.max_block())),
        sink_(model, kernel_, sampler_.max_block(), rate, {}, own) {}

  void train(std::span<const WordId> sentence, const detail::Subsampling& subsampling,
             Random& random, double rate) {
    sink_.learning_rate = static_cast<float>(rate);
    sampler_.sample(subsampling(sentence, random, kept_), random, sink_);
    sink_.end_update();
  }
  detail::WorkDone done() { return std::exchange(sink_.done, {}); }

 private:
  SamplerWorker sampler_;
  KernelWorker kernel_;
  detail::UpdateSink<KernelWorker> sink_;
  std::vector<WordId> kept_;
};

/// Trains as Trainer does, by threads that take turns. Returns the mean loss of the last epoch.
template <class Sampler>
double train(const TrainingInput& input, const detail::RunOf<Sampler>& samplers,
             const Hyperparameters& parameters, double pairs, Model& model) {
  const FusedKernel kernel;
  const auto rows = detail::private_rows(samplers, kernel, model, parameters, parameters.subsample,
                                         parameters.threads, pairs);
  std::deque<Turns<detail::WorkerOf<Sampler>, FusedKernel::Worker>> threads;
  for (std::size_t t = 0; t < parameters.threads; ++t)
    threads.emplace_back(samplers, kernel, model, parameters.learning_rate,
                         rows ? rows->thread(t) : PrivateRows::Thread());

  const detail::Subsampling subsampling(input.vocabulary, parameters.subsample);
  const auto schedule = policy_from<LinearDecay>(parameters);
  const double total = static_cast<double>(input.corpus.token_count() * parameters.epochs);
  double trained = 0, loss = 0, examples = 0;
  for (std::size_t epoch = 0; epoch < parameters.epochs; ++epoch) {
    const auto shard = [&](std::size_t t) {
      return input.corpus.sentences(Shard{t, threads.size(), epoch, parameters.seed});
    };
    std::vector<decltype(shard(0))> shards;
    std::vector<Random> random;
    for (std::size_t t = 0; t < threads.size(); ++t) {
      shards.push_back(shard(t));
      random.emplace_back(parameters.seed, t, epoch);
    }
    std::vector<decltype(shards[0].begin())> at;
    for (auto& sentences : shards) at.push_back(sentences.begin());
    for (std::size_t left = threads.size(); left > 0;) {
      left = 0;
      for (std::size_t t = 0; t < threads.size(); ++t) {
        if (at[t] == shards[t].end()) continue;
        ++left;
        const std::span<const WordId> sentence = *at[t];
        threads[t].train(sentence, subsampling, random[t], schedule.rate(trained / total));
        trained += static_cast<double>(sentence.size());
        ++at[t];
      }
    }
    loss = examples = 0;
    for (auto& thread : threads) {
      const detail::WorkDone done = thread.done();
      loss += done.loss.value();
      examples += static_cast<double>(done.examples);
    }
  }
  if (rows) rows->merge_all();
  return loss / examples;
}

template <class Sampler>
void row(const std::string& name, const TrainingInput& input, const Hyperparameters& parameters,
         double pairs) {
  const auto samplers = policy_from<Sampler>(parameters).start(input.vocabulary);
  Model model(input.vocabulary,
              {.dimension = parameters.dimension,
               .output_rows = detail::output_rows(samplers, input.vocabulary)},
              parameters.seed);
  const bool copies = parameters.threads > 1 && parameters.private_rows > 0;
  if (!copies)
    pairs = 0;
  else if (pairs == 0)
    pairs = PrivateRows::usual_pairs(parameters.threads, 1, parameters.learning_rate);
  const double loss = train<Sampler>(input, samplers, parameters, pairs, model);
  std::cout << "| " << name << " | " << parameters.threads << " | "
            << (copies ? PrivateRows::usual_count(parameters.private_rows, model.input.stride())
                       : 0)
            << " | " << std::defaultfloat << pairs << " | " << parameters.learning_rate << " | "
            << std::fixed << std::setprecision(4) << loss << " | ";
  Scores::print(std::cout, model.embeddings(), input.gold);
  std::cout << " |" << std::endl;
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("Quality against the number of threads, simulated");
  std::string corpus, gold;
  std::vector<std::string> samplers{"shared"};
  std::vector<std::size_t> threads{1, 64}, rows{512};
  std::vector<double> rates{0.025}, pairs{0};
  Hyperparameters parameters{.dimension = 128, .subsample = 1e-4, .epochs = 1};
  app.add_option("--corpus", corpus, "Text to train on; default: the demo corpus");
  app.add_option("--sampler", samplers, "Samplers: " + Simulated::names())
      ->check(registered<Simulated>);
  app.add_option("--threads", threads, "Numbers of threads, several allowed")
      ->check(CLI::Range(1, 65536));
  app.add_option("--private-rows", rows, "Numbers of rows of each matrix that are copied");
  app.add_option("--pairs", pairs, "Pairs of a row between two merges; 0: as a trainer");
  app.add_option("--alpha", rates, "Learning rates");
  app.add_option("--seed", parameters.seed, "Seed");
  app.add_option("--epochs", parameters.epochs, "Epochs");
  app.add_option("--dimension", parameters.dimension, "Dimension");
  app.add_option("--window", parameters.window, "Window");
  app.add_option("--negatives", parameters.negatives, "Negatives");
  app.add_option("--sample", parameters.subsample, "Subsampling threshold");
  app.add_option("--evaluate", gold, "Folder with similarity/ and analogy/ to score on");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  }
  // Short turns: threads that train at the same time know little of each other's last words.
  const TrainingInput input =
      load_input(BenchmarkText(corpus, 200'000), gold, {.max_sentence_length = 100});
  std::cout << "| sampler | threads | private rows | pairs | learning rate | loss | WS-353 | "
               "SimLex-999 | analogies |\n|---|---|---|---|---|---|---|---|---|\n";
  for (const std::string& name : samplers)
    for (const std::size_t n : threads)
      for (const std::size_t copied : rows)
        for (const double between : pairs)
          for (const double rate : rates) {
            parameters.threads = n;
            parameters.private_rows = copied;
            parameters.learning_rate = rate;
            parameters.validate();
            Simulated::with(
                name, [&]<class Sampler>() { row<Sampler>(name, input, parameters, between); });
          }
} catch (const std::exception& error) {
  std::cerr << "simulate_threads: " << error.what() << '\n';
  return 1;
}
