// Where the time of many threads goes: the same training with all threads on the same rows, on rows
// of their own between those of others, and on rows of their own far apart, as of separate models;
// also with rows of their own for the 512 most frequent words alone. What separate models lack of
// perfect scaling is shared caches and memory; what the same rows lack besides is cache lines that
// travel between cores.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/wordloom.hpp>

#include "support/arguments.hpp"
#include "support/demo_text.hpp"
#include "support/machine.hpp"
#include "support/training.hpp"

using namespace wordloom;

namespace {

/// Which row of a model of `threads` copies of each word a thread takes for a word.
struct RowChoice {
  const char* name;
  std::size_t of_thread, of_word;
  std::size_t frequent = ~std::size_t{0};  // words that have a row for each thread, the first ones

  RowId row(RowId word, std::size_t thread) const {
    const std::size_t is_frequent = word < frequent;  // a branch could not be predicted
    return static_cast<RowId>(word * of_word + is_frequent * thread * of_thread);
  }
};

/// Another sampler on rows that each thread chooses.
template <class Sampler>
struct OnRows {
  static constexpr Block::Features uses = Block::Features::used_by<Sampler>();
  Sampler sampler;
  Vocabulary words;  // the model has `threads` copies of each
  RowChoice choice;
  std::size_t threads;
  double subsample;

  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    sampler.visit_parameters(visit);
  }

  template <class Sink>
  struct MappedSink {
    Sink& sink;
    RowChoice choice;
    std::size_t thread;
    std::vector<RowId>&inputs, &outputs;

    std::span<const RowId> map(std::span<const RowId> words, std::vector<RowId>& rows) const {
      for (std::size_t i = 0; i < words.size(); ++i) rows[i] = choice.row(words[i], thread);
      return {rows.data(), words.size()};
    }
    void operator()(Block block) const {
      block.inputs = map(block.inputs, inputs);
      block.outputs = map(block.outputs, outputs);
      sink(block);
    }
    void prefetch(std::span<const RowId> some, std::span<const RowId> others) const {
      announce_rows(sink, map(some, inputs), map(others, outputs));
    }
  };

  struct Worker {
    detail::WorkerOf<Sampler> worker;
    detail::Subsampling subsampling;
    RowChoice choice;
    std::size_t thread;
    std::vector<RowId> inputs, outputs;
    std::vector<WordId> kept = {};

    Block::Shape max_block() const { return worker.max_block(); }
    void begin_epoch(const Random& stream, std::uint64_t picks) {
      detail::begin_epoch_of(worker, stream, picks);
    }
    template <class Sink>
    void sample(std::span<const WordId> sentence, Random& random, Sink&& sink) {
      using Inner = MappedSink<std::remove_reference_t<Sink>>;
      worker.sample(subsampling(sentence, random, kept), random,
                    Inner{sink, choice, thread, inputs, outputs});
    }
  };

  struct Run {
    detail::RunOf<Sampler> run;
    detail::Subsampling subsampling;
    RowChoice choice;
    std::size_t threads, rows;
    std::shared_ptr<std::atomic<std::size_t>> started =
        std::make_shared<std::atomic<std::size_t>>(0);

    std::size_t output_rows() const { return rows * threads; }
    Worker worker() const {
      auto inner = detail::worker_of(run);
      const Block::Shape most = inner.max_block();
      // As many announced rows as a block has, at most.
      const std::size_t inputs = std::max(most.inputs, most.members) + 64,
                        outputs = most.outputs + 64;
      return {std::move(inner),
              subsampling,
              choice,
              started->fetch_add(1) % threads,
              std::vector<RowId>(inputs),
              std::vector<RowId>(outputs)};
    }
  };
  Run start(const Vocabulary&) const {
    auto run = sampler.start(words);
    const std::size_t rows = detail::output_rows(run, words);
    return {std::move(run), detail::Subsampling(words, subsample), choice, threads, rows};
  }
};

/// The corpus without the fingerprint of its vocabulary, which is not the model's.
struct PlainCorpus {
  const EncodedCorpus& corpus;
  static constexpr bool repeats = true;
  std::uint64_t token_count() const { return corpus.token_count(); }
  auto sentences(const Shard& shard) const { return corpus.sentences(shard); }
};

Vocabulary copies(const Vocabulary& words, std::size_t count) {
  std::vector<std::pair<std::string, std::uint64_t>> all;
  for (std::size_t i = 0; i < words.size(); ++i)
    for (std::size_t copy = 0; copy < count; ++copy)
      all.emplace_back(std::string(words.word(static_cast<WordId>(i))) + "#" + std::to_string(copy),
                       words.counts()[i]);
  return Vocabulary::from_counts(all);
}

template <class Sampler, class Kernel>
void add(const std::string& name, const TrainingInput& input, std::size_t threads,
         Hyperparameters parameters) {
  const std::size_t words = input.vocabulary.size();
  const Vocabulary all = copies(input.vocabulary, threads);
  parameters.threads = threads;
  // The trainer would subsample by the counts of the copies.
  const double subsample = std::exchange(parameters.subsample, 0.0);
  for (const RowChoice& choice :
       {RowChoice{"same_rows", 0, 1}, RowChoice{"rows_between", 1, threads},
        RowChoice{"rows_apart", words, 1}, RowChoice{"frequent_apart", words, 1, 512}}) {
    const std::string row = name + "/" + choice.name + "/threads:" + std::to_string(threads);
    benchmark::RegisterBenchmark(
        row.c_str(),
        [=, &input](benchmark::State& state) {
          measure(state, input, [&](std::optional<Model>& model) {
            Trainer<OnRows<Sampler>, Kernel> trainer(
                parameters,
                {policy_from<Sampler>(parameters), input.vocabulary, choice, threads, subsample});
            model.emplace(trainer.new_model(all));
            return trainer.train(PlainCorpus{input.corpus}, *model);
          });
        })
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
    if (threads == 1) return;  // all the same
  }
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("Threads on the same rows of a model, on rows of their own, on models of their own");
  std::string corpus;
  std::vector<std::size_t> threads{1, 2};
  Hyperparameters parameters{.dimension = 128, .subsample = 1e-4, .epochs = 1};
  app.add_option("--corpus", corpus, "Text to train on; default: the demo corpus");
  app.add_option("--threads", threads, "Numbers of threads, several allowed");
  app.add_option("--dimension", parameters.dimension, "Dimension");
  try {
    parse_arguments(app, argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  }
  describe_machine();
  const TrainingInput input = load_input(BenchmarkText(corpus, 200'000));
  for (const std::size_t n : threads) {
    add<SharedNegative, FusedKernel>("shared+fused", input, n, parameters);
    add<GroupedWindow, FusedKernel>("grouped+fused", input, n, parameters);
    add<Hogwild, DotKernel>("hogwild+dot", input, n, parameters);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
} catch (const std::exception& error) {
  std::cerr << "bench_contention: " << error.what() << '\n';
  return 1;
}
