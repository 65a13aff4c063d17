// How fast many cores would train, from what one and two of this machine do. The blocks that
// threads would train are replayed against a simple model of caches:
//   - A core's second-level cache holds the rows that the core used last. A row there that it wrote
//     last costs nothing.
//   - A row that another core wrote last and still holds costs `transfer` seconds, any other row
//     `load` seconds. Both are less than the latency: rows are prefetched.
//   - A row travels to one core at a time and is busy meanwhile. A core that comes later waits, as
//     far as prefetching does not hide it.
//   - A pair costs `pair` seconds, merging a private row `merge`. Memory and the shared cache serve
//     any number of cores.
// `pair` is measured on random sentences of so few words that their rows are in the cache, `merge`
// on a few rows; `load` then follows from one thread, `transfer` from two that share all rows. All
// else is predicted. Of several runs the fastest counts: other programs only slow them.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <memory>
#include <queue>
#include <span>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/train/merge_rows.hpp>
#include <wordloom/wordloom.hpp>

#include "support/arguments.hpp"
#include "support/demo_text.hpp"
#include "support/machine.hpp"
#include "support/training.hpp"

using namespace wordloom;
using detail::PrivateRows;

namespace {

/// The costs of a pair of rows, of rows that are not in the cache of a core and of merging a
/// private row, in seconds.
struct Costs {
  double pair = 0, load = 0, transfer = 0, merge = 0;
};
struct Caches {
  double rows;    // rows that a core's second-level cache holds
  double busy;    // seconds that a row travels
  double hidden;  // seconds of waiting that prefetching hides
};

/// The counts of all threads, in total or for each word.
struct Replayed {
  double pairs = 0, loads = 0, transfers = 0;
  double waited = 0;   // seconds, of all threads
  double seconds = 0;  // from start to end
  double words = 0;
};

/// A replay of the blocks that threads train.
template <class Sampler>
class Replay {
 public:
  Replay(const TrainingInput& input, const Hyperparameters& parameters, const Caches& caches,
         const Costs& costs)
      : input_(input),
        parameters_(parameters),
        caches_(caches),
        costs_(costs),
        samplers_(detail::policy_from<Sampler>(parameters).start(input.vocabulary)),
        model_(input.vocabulary, {.dimension = parameters.dimension,
                                  .output_rows = detail::output_rows(samplers_, input.vocabulary)}),
        clocks_(parameters.threads),
        used_(parameters.threads) {
    copies_ =
        detail::private_rows(samplers_, FusedKernel(), model_, parameters, parameters.threads);
    if (copies_)
      sets_.resize(std::min(parameters.threads, PrivateRows::max_sets),
                   {0, std::vector<double>(copies_->chunks().size())});
    // The rows of a matrix, their private copies, and the values when these were merged last.
    for (std::size_t m = 0; m < 2; ++m)
      rows_[m].resize((m == 0 ? model_.input : model_.output).rows() +
                      2 * PrivateRows::max_sets * parameters.private_rows);
  }

  /// Returns what threads do for each word. `words`: of each thread; the first half fills caches.
  Replayed run(std::size_t words) {
    using Later = std::pair<double, std::size_t>;
    std::priority_queue<Later, std::vector<Later>, std::greater<>> queue;
    std::vector<Thread> threads;
    threads.reserve(clocks_.size());
    for (std::size_t t = 0; t < clocks_.size(); ++t) {
      threads.emplace_back(*this, t);
      queue.push({0, t});
    }
    Replayed first;  // half
    const double all = static_cast<double>(words * threads.size());
    while (total_.words < all) {
      const std::size_t t = queue.top().second;
      queue.pop();
      threads[t].train_block();
      queue.push({clocks_[t], t});
      total_.seconds = queue.top().first;
      if (first.words == 0 && total_.words >= all / 2) first = total_;
    }
    const double n = total_.words - first.words;
    return {(total_.pairs - first.pairs) / n,         (total_.loads - first.loads) / n,
            (total_.transfers - first.transfers) / n, (total_.waited - first.waited) / n,
            (total_.seconds - first.seconds) / n,     n};
  }

 private:
  struct Row {
    std::uint32_t owner = ~0u;
    double used = 0;  // by the owner: rows it had loaded by then
    double busy_until = 0;
  };

  struct Set {  // of private rows
    double pairs = 0;
    std::vector<double> merged_at;
  };
  struct Trained {  // a block
    double pairs, words;
    std::vector<RowId> inputs, outputs;
  };

  struct Thread {
    Replay& all;
    std::size_t index;
    detail::WorkerOf<Sampler> worker;
    PrivateRows::Thread own;
    Random random;
    using Sentences = decltype(std::declval<const EncodedCorpus&>().sentences(Shard{}));
    std::unique_ptr<Sentences> sentences;  // of an epoch
    decltype(std::declval<Sentences&>().begin()) at;
    std::size_t epoch = 0;
    bool is_idle = false;  // no block since the last epoch began
    std::vector<WordId> kept;
    std::vector<Trained> blocks;  // of a sentence
    std::size_t next = 0;
    Subsampling subsampling;
    std::size_t set = 0;

    Thread(Replay& replay, std::size_t t)
        : all(replay),
          index(t),
          worker(detail::worker_of(replay.samplers_)),
          random(replay.parameters_.seed, t, 0),
          sentences(std::make_unique<Sentences>(replay.sentences(t, 0))),
          at(sentences->begin()),
          subsampling(replay.input_.vocabulary, replay.parameters_.subsample) {
      if (!replay.copies_) return;
      own = replay.copies_->thread(t);
      while (t >= part_of(replay.clocks_.size(), set, replay.sets_.size()).second) ++set;
    }

    /// Makes the blocks of the next sentence that has some.
    void sample() {
      while (next == blocks.size()) {
        blocks.clear();
        next = 0;
        if (at == sentences->end()) {
          if (std::exchange(is_idle, true))
            throw CorpusError("the text has no words for thread " + std::to_string(index + 1) +
                              ": use a longer text or fewer threads");
          sentences = std::make_unique<Sentences>(all.sentences(index, ++epoch));
          at = sentences->begin();
          continue;
        }
        const std::span<const WordId> sentence = *at;
        ++at;
        worker.sample(subsampling(sentence, random, kept), random, [&](const Block& block) {
          blocks.push_back(
              {static_cast<double>(block.input_count() * block.outputs.size()), 0, {}, {}});
          std::ranges::transform(block.inputs, std::back_inserter(blocks.back().inputs),
                                 own.maps().input);
          std::ranges::transform(block.outputs, std::back_inserter(blocks.back().outputs),
                                 own.maps().output);
          is_idle = false;
        });
        // Words that are left out count too.
        for (Trained& block : blocks)
          block.words = static_cast<double>(sentence.size()) / static_cast<double>(blocks.size());
      }
    }

    void train_block() {
      sample();
      const Trained& block = blocks[next++];
      all.clocks_[index] += block.pairs * all.costs_.pair;
      all.total_.pairs += block.pairs;
      all.total_.words += block.words;
      for (const RowId row : block.inputs) all.use(index, 0, row);
      for (const RowId row : block.outputs) all.use(index, 1, row);
      if (all.copies_) merge(all.sets_[set], block.pairs);
    }

    void merge(Set& own_set, double pairs) {
      own_set.pairs += pairs;
      const auto& chunks = all.copies_->chunks();
      for (std::size_t i = 0; i < chunks.size(); ++i) {
        if (own_set.pairs - own_set.merged_at[i] < chunks[i].interval) continue;
        own_set.merged_at[i] = own_set.pairs;
        const std::size_t m = chunks[i].matrix;
        const auto last =
            static_cast<RowId>(all.rows_[m].size() - 1 - set * all.parameters_.private_rows);
        for (std::size_t row = chunks[i].first; row < chunks[i].last; ++row) {
          const auto shared = static_cast<RowId>(row);
          all.use(index, m, shared);
          all.use(index, m, (m == 0 ? own.maps().input : own.maps().output)(shared));
          all.use(index, m, last - shared);  // the base
          all.clocks_[index] += all.costs_.merge;
        }
      }
    }
  };

  auto sentences(std::size_t thread, std::size_t epoch) const {
    return input_.corpus.sentences(Shard{thread, clocks_.size(), epoch, parameters_.seed});
  }

  void use(std::size_t thread, std::size_t matrix, RowId id) {
    Row& row = rows_[matrix][id];
    const bool is_cached = row.owner != ~0u && used_[row.owner] - row.used < caches_.rows;
    if (row.owner != thread || !is_cached) {
      const bool travels = row.owner != thread && is_cached;
      if (travels) {
        const double wait = row.busy_until - clocks_[thread] - caches_.hidden;
        if (wait > 0) {
          total_.waited += wait;
          clocks_[thread] += wait;
        }
        row.busy_until = std::max(row.busy_until, clocks_[thread]) + caches_.busy;
      }
      clocks_[thread] += travels ? costs_.transfer : costs_.load;
      ++(travels ? total_.transfers : total_.loads);
      ++used_[thread];
    }
    row.owner = static_cast<std::uint32_t>(thread);
    row.used = used_[thread];
  }

  const TrainingInput& input_;
  const Hyperparameters parameters_;
  const Caches caches_;
  const Costs costs_;
  detail::RunOf<Sampler> samplers_;
  Model model_;
  std::unique_ptr<PrivateRows> copies_;
  std::vector<Set> sets_;
  std::vector<Row> rows_[2];
  std::vector<double> clocks_, used_;  // of each thread: seconds, rows loaded
  Replayed total_;
};

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
