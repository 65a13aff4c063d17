// Quality and traffic of several ranks that train one model, as threads of this process: shows what
// a cluster would learn, not how fast it would be. Prints a table.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <exception>
#include <iomanip>
#include <iostream>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include <wordloom/registry.hpp>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/row_allgather.hpp>
#include <wordloom/sync/thread_ranks.hpp>
#include <wordloom/wordloom.hpp>

#include "support/arguments.hpp"
#include "support/demo_text.hpp"
#include "support/training.hpp"

using namespace wordloom;

namespace {

/// A few of the registry: each is a trainer to compile.
using Scaled =
    Registry<Named<"shared", SharedNegative>, Named<"grouped", GroupedWindow>, Named<"cbow", Cbow>,
             Named<"shared-hs", HierarchicalSoftmax>, Named<"stratified", StratifiedPairs>>;

/// The options of synchronisation.
struct Method {
  SyncOptions::Rule rule = {};
  AnySchedule::Kind schedule = AnySchedule::Kind::linear;
  SyncOptions options = {};
  std::size_t strata = 0, block_threads = 1;  // see StratifiedPairs
  std::uint64_t episode = 0;
};

/// Returns the times that a policy has synchronised, 0 if it does not.
std::size_t synchronisations(const auto& sync) {
  if constexpr (requires { sync.synchronisations(); }) return sync.synchronisations();
  return 0;
}

/// Returns the length of the mean unit vector of the 300 most frequent words: how much they have in
/// common.
double common_length(const Embeddings& words) {
  const std::size_t count = std::min<std::size_t>(300, words.size());
  std::vector<double> mean(words.dimension());
  for (std::size_t i = 0; i < count; ++i) {
    double square = 0;
    for (const float x : words.vector(i)) square += double{x} * x;
    for (std::size_t d = 0; d < mean.size(); ++d)
      mean[d] += words.vector(i)[d] / std::sqrt(std::max(square, 1e-30));
  }
  double square = 0;
  for (const double x : mean) square += x * x;
  return std::sqrt(square) / static_cast<double>(count);
}

template <class Policy>
void row(const std::string& name, const TrainingInput& input, const Hyperparameters& parameters,
         const Method& method, std::size_t ranks) {
  std::optional<Embeddings> words;
  double loss = 0, bytes = 0;
  std::size_t times = 0;
  const auto start = std::chrono::steady_clock::now();
  ThreadRanks::run(ranks, [&](ThreadRanks self) {
    constexpr bool by_strata = std::is_same_v<Policy, StratifiedPairs>;
    auto sampler = policy_from<Policy>(parameters);
    if constexpr (by_strata) {
      sampler.strata = method.strata;
      sampler.block_threads = method.block_threads;
      sampler.episode = method.episode;
    }
    const auto make_sync = [&] {
      if constexpr (by_strata) {
        return RowAllgather(self, method.options.format);
      } else {
        return Allreduce<ThreadRanks, SyncOptions::Rule>(self, method.options, method.rule);
      }
    };
    using Sync = decltype(make_sync());
    Trainer<Policy, FusedKernel, Sync, AnySchedule> trainer(
        parameters, sampler, FusedKernel(), make_sync(),
        AnySchedule(method.schedule, parameters, by_strata ? 1 : ranks));
    auto trained = trainer.fit(input.corpus, input.vocabulary);
    if (self.rank() != 0) return;
    words.emplace(std::move(trained));
    loss = trainer.report().loss;
    bytes = static_cast<double>(trainer.sync().bytes_sent()) /
            static_cast<double>(trainer.report().tokens);
    times = synchronisations(trainer.sync());
  });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::cout << "| " << name << " | " << ranks << " | " << parameters.learning_rate << " | " << times
            << " | " << std::fixed << std::setprecision(0) << bytes << " | " << std::setprecision(4)
            << loss << " | " << common_length(*words) << " | ";
  Scores::print(std::cout, *words, input.gold);
  std::cout << std::defaultfloat << " | " << std::setprecision(3) << seconds.count() << " |"
            << std::endl;
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("Quality of several ranks");
  std::string corpus, gold, sampler = "shared";
  std::vector<std::size_t> ranks{1, 2};
  std::vector<std::string> rules{"coherent"};
  std::vector<double> rates{0.025};
  Method method;
  auto& options = method.options;
  bool by_epoch = false, steep = false;
  Hyperparameters parameters{.dimension = 128, .subsample = 1e-4, .epochs = 1, .threads = 1};
  app.add_option("--corpus", corpus, "Text to train on; default: the demo corpus");
  app.add_option("--ranks", ranks, "Numbers of ranks");
  app.add_option("--combine", rules, "Rules that combine changes")
      ->check(CLI::IsMember(std::vector<std::string>(SyncOptions::Rule::names.begin(),
                                                     SyncOptions::Rule::names.end())));
  app.add_option("--sampler", sampler, "Sampler: " + Scaled::names())->check(registered<Scaled>);
  app.add_option("--alpha", rates, "Learning rates");
  app.add_option("--epochs", parameters.epochs, "Epochs");
  app.add_option("--seed", parameters.seed, "Seed");
  app.add_option("--threads", parameters.threads, "Threads of each rank");
  app.add_option("--dimension", parameters.dimension, "Dimension");
  app.add_flag("--steep", steep, "SteepDecay instead of RankScaledDecay");
  app.add_option("--interval", options.interval, "Words from one synchronisation to the next");
  app.add_flag("--by-epoch", by_epoch, "Synchronises after each epoch instead");
  app.add_option("--bytes-per-word", options.bytes_per_word, "Sets the interval");
  app.add_flag("!--no-overlap", options.overlap, "Ranks wait for each exchange");
  app.add_option("--format", options.format,
                 "Numbers in which changes travel: fp32, bf16, 8bit, 4bit, 2bit, 1bit")
      ->transform(CLI::CheckedTransformer(std::vector<std::pair<std::string, SyncOptions::Format>>(
          SyncOptions::formats.begin(), SyncOptions::formats.end())));
  app.add_option("--strata", method.strata, "Strata of stratified");
  app.add_option("--block-threads", method.block_threads, "Threads that share one of its blocks");
  app.add_option("--episode", method.episode, "Words of its episodes");
  app.add_option("--first-rows", options.first_rows, "Rows that travel each time");
  app.add_option("--evaluate", gold, "Folder with similarity/ and analogy/ to score on");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  }
  if (by_epoch) options.interval = SyncOptions::epoch;
  if (steep) method.schedule = AnySchedule::Kind::steep;
  const TrainingInput input = load_input(BenchmarkText(corpus, 200'000), gold);
  std::cout << "| sampler, rule | ranks | learning rate | synchronisations | bytes a word | loss "
               "| in common | WS-353 | SimLex-999 | analogies | seconds "
               "|\n|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const std::string& rule : rules) {
    method.rule = {SyncOptions::Rule::Kind(std::ranges::find(SyncOptions::Rule::names, rule) -
                                           SyncOptions::Rule::names.begin())};
    for (const std::size_t n : ranks)
      for (const double rate : rates) {
        parameters.learning_rate = rate;
        parameters.validate();
        Scaled::with(sampler, [&]<class Policy>() {
          row<Policy>(sampler + ", " + rule, input, parameters, method, n);
        });
      }
  }
} catch (const std::exception& error) {
  std::cerr << "scale_ranks: " << error.what() << '\n';
  return 1;
}
