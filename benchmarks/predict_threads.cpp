// How fast many cores would train, from what one and two of this machine do. The blocks that
// threads would train are replayed against a simple model of caches, see support/replay.hpp. Of its
// costs, `pair` is measured on random sentences of so few words that their rows are in the cache,
// `merge` on a few rows; `load` then follows from one thread, `transfer` from two that share all
// rows. All else is predicted. Of several runs the fastest counts: other programs only slow them.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iomanip>
#include <iostream>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/train/merge_rows.hpp>
#include <wordloom/wordloom.hpp>

#include "support/arguments.hpp"
#include "support/demo_text.hpp"
#include "support/machine.hpp"
#include "support/replay.hpp"
#include "support/training.hpp"

using namespace wordloom;
using namespace wordloom::replay;

namespace {

/// Returns the MiB of a core's second-level cache, or 2 where the system does not tell.
double machine_cache() {
  const std::size_t bytes = detail::second_level_cache_bytes();
  return bytes == 0 ? 2 : static_cast<double>(bytes) / (1 << 20);
}

struct Arguments {
  Hyperparameters parameters{.dimension = 128, .subsample = 1e-4, .epochs = 1};
  std::vector<std::size_t> threads{2, 8, 32, 64, 128}, private_rows{0, 64, 512};
  std::size_t words = 20'000, runs = 5;
  double cache = machine_cache(), busy = 200, hidden = 400;  // MiB, ns, ns
};

/// Returns the number of rows that a core's second-level cache holds.
std::size_t cached_rows(const Arguments& given) {
  return static_cast<std::size_t>(given.cache * (1 << 20)) / (4 * given.parameters.dimension);
}

/// Returns the seconds of training for each word of the corpus.
template <class Sampler, class Kernel>
double measured(const TrainingInput& input, Hyperparameters parameters, std::size_t threads,
                std::size_t private_rows) {
  parameters.threads = threads;
  parameters.private_rows = private_rows;
  Trainer<Sampler, Kernel> trainer(parameters);
  trainer.fit(input.corpus, input.vocabulary);
  return 1 / trainer.report().words_per_second;
}
double fastest(const std::vector<double>& seconds) {
  return *std::min_element(seconds.begin(), seconds.end());
}

/// Returns the seconds of merging a private row that is in the cache.
double merge_seconds(std::size_t dimension) {
  constexpr std::size_t count = 16, rounds = 10'000;
  RowMatrix rows(3 * count, dimension), direction(1, dimension);
  const auto merge = simd::merge_function();
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < 3 * count; i += 3)
      merge({rows.row_data(i), rows.row_data(i + 1), rows.row_data(i + 2)}, direction.row_data(0),
            1.0f, rows.stride());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
         (count * rounds);
}

template <class Sampler, class Kernel>
void predict(const std::string& name, const TrainingInput& input, const TrainingInput& few,
             const Arguments& given, Hyperparameters parameters) {
  const Caches caches{static_cast<double>(cached_rows(given)), given.busy * 1e-9,
                      given.hidden * 1e-9};
  // In alternation: a busy minute then slows all of them.
  std::vector<double> in_cache, one;
  std::vector<std::vector<double>> two(given.private_rows.size());
  for (std::size_t run = 0; run < given.runs; ++run) {
    Hyperparameters all_words = parameters;
    all_words.subsample = 0;
    in_cache.push_back(measured<Sampler, Kernel>(few, all_words, 1, 0));
    one.push_back(measured<Sampler, Kernel>(input, parameters, 1, 0));
    for (std::size_t i = 0; i < two.size(); ++i)
      two[i].push_back(measured<Sampler, Kernel>(input, parameters, 2, given.private_rows[i]));
  }
  Costs costs;
  costs.merge = merge_seconds(parameters.dimension);
  const auto replay = [&](const TrainingInput& of, std::size_t threads, std::size_t copied) {
    parameters.threads = threads;
    parameters.private_rows = copied;
    return Replay<Sampler>(of, parameters, caches, costs).run(given.words);
  };
  const double subsample = std::exchange(parameters.subsample, 0.0);
  costs.pair = fastest(in_cache) / replay(few, 1, 0).pairs;
  parameters.subsample = subsample;
  const Replayed alone = replay(input, 1, 0);
  costs.load = std::max(0.0, (fastest(one) - alone.pairs * costs.pair) / alone.loads);
  costs.transfer = costs.load;
  for (int i = 0; i < 3; ++i) {  // what threads do depends a little on their pace
    const Replayed shared = replay(input, 2, 0);
    costs.transfer = std::max(0.0, (2 * fastest(two[0]) - shared.pairs * costs.pair -
                                    shared.loads * costs.load - shared.waited) /
                                       shared.transfers);
  }
  std::cout << std::fixed << std::setprecision(2) << "\n`" << name << "`: " << costs.pair * 1e9
            << " ns a pair, " << std::setprecision(1) << costs.load * 1e9
            << " ns for a row from the shared cache, " << costs.transfer * 1e9
            << " ns from another core, " << costs.merge * 1e9 << " ns to merge one; one thread "
            << 1e-6 / fastest(one) << " M words/s.\n\n"
            << "| private rows | threads | rows a word: loaded | transferred | waited, ns | "
               "predicted x one thread | measured |\n|---|---|---|---|---|---|---|\n";
  const std::size_t stride = RowMatrix(1, parameters.dimension).stride();
  for (std::size_t i = 0; i < given.private_rows.size(); ++i)
    for (const std::size_t n : given.threads) {
      const Replayed result = replay(input, n, given.private_rows[i]);
      std::cout << "| " << PrivateRows::usual_count(given.private_rows[i], stride) << " | " << n
                << " | " << std::setprecision(2) << result.loads << " | " << result.transfers
                << " | " << result.waited * 1e9 << " | " << fastest(one) / result.seconds << " | ";
      if (n == 2)
        std::cout << fastest(one) / fastest(two[i]) << (i == 0 ? " (fitted)" : "");
      else
        std::cout << '-';
      std::cout << " |" << std::endl;
    }
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("Speed of many threads, predicted from one and two");
  Arguments given;
  std::string corpus;
  app.add_option("--corpus", corpus, "Text to train on; default: the demo corpus");
  app.add_option("--threads", given.threads, "Numbers of threads to predict")
      ->check(CLI::Range(1, 65536));
  app.add_option("--private-rows", given.private_rows, "Rows that are copied; the first is 0");
  app.add_option("--runs", given.runs, "Runs of each measurement")->check(CLI::Range(1, 1000));
  app.add_option("--words", given.words, "Words of each thread to replay")
      ->check(CLI::Range(1, 1'000'000'000));
  app.add_option("--cache", given.cache,
                 "MiB of a core's second-level cache; default: as the system tells, or 2")
      ->check(CLI::Range(0.01, 1000.0));
  app.add_option("--busy", given.busy, "ns that a row travels between cores");
  app.add_option("--hidden", given.hidden, "ns of waiting that prefetching hides");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  }
  if (given.private_rows.empty() || given.private_rows[0] != 0)
    throw InvalidArgument("--private-rows must begin with 0: without copies, costs are fitted");
  const TrainingInput input = load_input(BenchmarkText(corpus, 200'000));
  std::vector<std::pair<std::string, std::uint64_t>> counts;
  const std::size_t cached_words = std::clamp<std::size_t>(cached_rows(given) / 2, 100, 1000);
  for (std::size_t i = 0; i < cached_words; ++i)
    counts.emplace_back(std::string("w").append(std::to_string(i)), 1000);
  const auto few_words = Vocabulary::from_counts(counts);
  std::vector<std::vector<WordId>> sentences(2000, std::vector<WordId>(1000));
  Random random(1);
  for (auto& sentence : sentences)
    for (WordId& word : sentence) word = static_cast<WordId>(random.below(cached_words));
  const TrainingInput few{few_words, EncodedCorpus::from_sentences(sentences, few_words), {}};
  predict<SharedNegative, FusedKernel>("shared+fused", input, few, given, given.parameters);
  Hyperparameters grouped = given.parameters;
  grouped.learning_rate = 0.03;
  predict<GroupedWindow, FusedKernel>("grouped+fused", input, few, given, grouped);
  predict<Hogwild, DotKernel>("hogwild+dot", input, few, given, given.parameters);
} catch (const std::exception& error) {
  std::cerr << "predict_threads: " << error.what() << '\n';
  return 1;
}
