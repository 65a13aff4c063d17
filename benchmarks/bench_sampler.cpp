// The work before a kernel: random numbers, negatives, subsampling, and each sampler with a sink
// that does nothing. Words are distributed by Zipf's law, as in text.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <wordloom/registry.hpp>
#include <wordloom/wordloom.hpp>

#include "support/machine.hpp"

using namespace wordloom;

namespace {

const Vocabulary& zipf() {
  static const Vocabulary vocabulary = [] {
    std::vector<std::pair<std::string, std::uint64_t>> counts;
    for (std::uint64_t i = 1; i <= 68'000; ++i)
      counts.emplace_back(std::string("w").append(std::to_string(i)), 1'000'000 / i + 5);
    return Vocabulary::from_counts(counts);
  }();
  return vocabulary;
}

/// A sentence of 1,000 words.
std::vector<WordId> sentence() {
  const detail::NegativeDistribution words(zipf(), 1.0);
  Random random(1);
  std::vector<WordId> result(1000);
  WordId last = 0;
  for (WordId& id : result) last = id = words.draw(random, last);
  return result;
}

void count_tokens(benchmark::State& state, std::size_t each) {
  state.counters["tokens"] =
      benchmark::Counter(static_cast<double>(each) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}

void random_draw(benchmark::State& state) {
  Random random(1);
  for (auto _ : state) benchmark::DoNotOptimize(random());
}
BENCHMARK(random_draw);

void negative_draw(benchmark::State& state) {
  const detail::NegativeDistribution negatives(zipf(), 0.75);
  Random random(1);
  for (auto _ : state) benchmark::DoNotOptimize(negatives.draw(random, 5));
}
BENCHMARK(negative_draw);

void subsampling(benchmark::State& state) {
  const detail::Subsampling subsampling(zipf(), 1e-4);
  const auto words = sentence();
  std::vector<WordId> kept;
  Random random(1);
  for (auto _ : state) benchmark::DoNotOptimize(subsampling(words, random, kept).size());
  count_tokens(state, words.size());
}
BENCHMARK(subsampling);

template <class Policy>
void sample(benchmark::State& state) {
  const auto run = policy_from<Policy>(Hyperparameters{}).start(zipf());
  auto worker = detail::worker_of(run);
  const auto words = sentence();
  Random random(1);
  for (auto _ : state)
    worker.sample(words, random, [](const Block& block) {
      benchmark::DoNotOptimize(block.inputs.data());
      benchmark::DoNotOptimize(block.outputs.data());
      benchmark::ClobberMemory();
    });
  count_tokens(state, words.size());
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  describe_machine();
  Policies::Samplers::for_each([]<class Policy>(std::string_view name) {
    benchmark::RegisterBenchmark(("sampler/" + std::string(name)).c_str(), sample<Policy>);
  });
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
