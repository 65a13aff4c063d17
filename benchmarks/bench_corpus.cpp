// Reading text: counting words, encoding, streaming. --corpus FILE, else the demo corpus.
#include <benchmark/benchmark.h>

#include <exception>
#include <iostream>
#include <string>
#include <wordloom/wordloom.hpp>

#include "support/arguments.hpp"
#include "support/demo_text.hpp"
#include "support/machine.hpp"

using namespace wordloom;

int main(int argc, char** argv) try {
  CLI::App app("Speed of vocabulary and corpus");
  std::string corpus;
  app.add_option("--corpus", corpus, "Text to read, plain or .gz; default: the demo corpus");
  parse_arguments(app, argc, argv);
  describe_machine();

  const BenchmarkText text(corpus, 500'000);
  const auto path = text.path();
  const auto vocabulary = Vocabulary::from_text(path);
  const auto count = [&](benchmark::State& state) {
    state.SetBytesProcessed(static_cast<std::int64_t>(std::filesystem::file_size(path)) *
                            state.iterations());
    state.counters["tokens"] = benchmark::Counter(
        static_cast<double>(vocabulary.total_count()) * static_cast<double>(state.iterations()),
        benchmark::Counter::kIsRate);
  };
  for (const std::size_t threads : {1u, 2u}) {
    const std::string end = "/threads:" + std::to_string(threads);
    const auto add = [&](const std::string& name, auto&& work) {
      benchmark::RegisterBenchmark((name + end).c_str(),
                                   [=](benchmark::State& state) {
                                     for (auto _ : state) work();
                                     count(state);
                                   })
          ->UseRealTime()
          ->Unit(benchmark::kMillisecond);
    };
    add("vocabulary", [=] {
      benchmark::DoNotOptimize(Vocabulary::from_text(path, {.threads = threads}).size());
    });
    add("encoded_corpus", [=] {
      benchmark::DoNotOptimize(
          EncodedCorpus::from_text(path, vocabulary, {.threads = threads}).token_count());
    });
    add("text_corpus", [=] {
      const TextCorpus streamed(path, vocabulary, {.threads = threads});
      detail::run_threads(threads, [&](std::size_t thread) {
        std::size_t words = 0;
        for (const auto sentence : streamed.sentences({.index = thread, .count = threads}))
          words += sentence.size();
        benchmark::DoNotOptimize(words);
      });
    });
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
} catch (const CLI::CallForHelp& help) {
  std::cout << "bench_corpus [--corpus FILE] [--benchmark_...]\n";
} catch (const std::exception& error) {
  std::cerr << "bench_corpus: " << error.what() << '\n';
  return 1;
}
