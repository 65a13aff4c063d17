#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <queue>
#include <span>
#include <utility>
#include <vector>
#include <wordloom/wordloom.hpp>

#include "training.hpp"

/// The blocks that threads would train, replayed against a simple model of caches:
///   - A core's second-level cache holds the rows that the core used last. A row there that it
///     wrote last costs nothing.
///   - A row that another core wrote last and still holds costs `transfer` seconds, any other row
///     `load` seconds. Both are less than the latency: rows are prefetched.
///   - Groups of cores share a third-level cache. A row that a core of another group used last
///   costs
///     `far` seconds, whether that core still holds it or not.
///   - A row travels to one core at a time and is busy meanwhile. A core that comes later waits, as
///     far as prefetching does not hide it.
///   - A pair costs `pair` seconds, merging a private row `merge`. Memory and the shared cache
///     serve any number of cores.
namespace wordloom::replay {

using detail::PrivateRows;

/// The costs of a pair of rows, of rows that are not in the cache of a core and of merging a
/// private row, in seconds.
struct Costs {
  double pair = 0, load = 0, transfer = 0, far = 0, merge = 0;
};
struct Caches {
  double rows;        // rows that a core's second-level cache holds
  double busy;        // seconds that a row travels
  double hidden;      // seconds of waiting that prefetching hides
  std::size_t group;  // cores that share a third-level cache
};

/// The counts of all threads, in total or for each word.
struct Replayed {
  double pairs = 0, loads = 0, transfers = 0;
  double kept = 0;     // words that subsampling keeps
  double rows = 0;     // visits of rows
  double far = 0;      // rows that cores of other groups used last, not counted above
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
        samplers_(policy_from<Sampler>(parameters).start(input.vocabulary)),
        model_(input.vocabulary, {.dimension = parameters.dimension,
                                  .output_rows = detail::output_rows(samplers_, input.vocabulary)}),
        clocks_(parameters.threads),
        used_(parameters.threads) {
    copies_ = detail::private_rows(
        samplers_, FusedKernel(), model_, parameters, parameters.subsample, parameters.threads,
        PrivateRows::usual_pairs(parameters.threads, 1, parameters.learning_rate));
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
    return {(total_.pairs - first.pairs) / n,
            (total_.loads - first.loads) / n,
            (total_.transfers - first.transfers) / n,
            (total_.kept - first.kept) / n,
            (total_.rows - first.rows) / n,
            (total_.far - first.far) / n,
            (total_.waited - first.waited) / n,
            (total_.seconds - first.seconds) / n,
            n};
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
    double pairs, words, kept;
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
    detail::Subsampling subsampling;
    std::size_t set = 0;

    Thread(Replay& replay, std::size_t t)
        : all(replay),
          index(t),
          worker(detail::worker_of(replay.samplers_)),
          random(replay.parameters_.seed, t, 0),
          sentences(std::make_unique<Sentences>(replay.sentences(t, 0))),
          at(sentences->begin()),
          subsampling(replay.input_.vocabulary, replay.parameters_.subsample) {
      detail::begin_epoch_of(worker, Random(replay.parameters_.seed ^ detail::pool_streams, t), 0);
      if (!replay.copies_) return;
      own = replay.copies_->thread(t);
      while (t >= detail::part_of(replay.clocks_.size(), set, replay.sets_.size()).second) ++set;
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
        const std::span<const WordId> words = subsampling(sentence, random, kept);
        worker.sample(words, random, [&](const Block& block) {
          blocks.push_back(
              {static_cast<double>(block.input_count() * block.outputs.size()), 0, 0, {}, {}});
          std::ranges::transform(block.inputs, std::back_inserter(blocks.back().inputs),
                                 own.maps().input);
          std::ranges::transform(block.outputs, std::back_inserter(blocks.back().outputs),
                                 own.maps().output);
          is_idle = false;
        });
        // Words that are left out count too.
        for (Trained& block : blocks) {
          block.words = static_cast<double>(sentence.size()) / static_cast<double>(blocks.size());
          block.kept = static_cast<double>(words.size()) / static_cast<double>(blocks.size());
        }
      }
    }

    void train_block() {
      sample();
      const Trained& block = blocks[next++];
      all.clocks_[index] += block.pairs * all.costs_.pair;
      all.total_.pairs += block.pairs;
      all.total_.words += block.words;
      all.total_.kept += block.kept;
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
    ++total_.rows;
    const bool is_cached = row.owner != ~0u && used_[row.owner] - row.used < caches_.rows;
    if (row.owner != thread || !is_cached) {
      const bool travels = row.owner != thread && is_cached;
      const bool is_far = row.owner != ~0u && row.owner / caches_.group != thread / caches_.group;
      if (travels) {
        const double wait = row.busy_until - clocks_[thread] - caches_.hidden;
        if (wait > 0) {
          total_.waited += wait;
          clocks_[thread] += wait;
        }
        row.busy_until = std::max(row.busy_until, clocks_[thread]) + caches_.busy;
      }
      clocks_[thread] += is_far ? costs_.far : travels ? costs_.transfer : costs_.load;
      ++(is_far ? total_.far : travels ? total_.transfers : total_.loads);
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

}  // namespace wordloom::replay
