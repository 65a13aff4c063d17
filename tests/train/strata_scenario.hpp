#pragma once
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#include <wordloom/core/error.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/kernel/fused_kernel.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/stratified_pairs.hpp>
#include <wordloom/schedule/linear_decay.hpp>
#include <wordloom/sync/concept.hpp>
#include <wordloom/sync/detail/passed_rows.hpp>
#include <wordloom/sync/row_allgather.hpp>
#include <wordloom/sync/thread_ranks.hpp>
#include <wordloom/train/detail/checkpoint.hpp>
#include <wordloom/train/trainer.hpp>

#include "small_models.hpp"
#include "support.hpp"

/// A text, policies that record what is trained by strata, pairs to sort, and ranks.
namespace strata_scenario {

using namespace wordloom;
using Format = SyncOptions::Format;
using detail::PassedRows, detail::Strata;

/// A text that is trained by strata. The higher the power, the more frequent are a few words.
struct StrataScenario {
  Vocabulary vocabulary;
  EncodedCorpus corpus;

  explicit StrataScenario(std::size_t words = 336, std::size_t sentences = 300, double power = 1)
      : StrataScenario(EncodedCorpus::from_ids(text(words, sentences, power), {.min_count = 1})) {}

  static Hyperparameters parameters(std::size_t threads = 1) {
    return {.dimension = 20, .subsample = 0.01, .epochs = 2, .threads = threads};
  }
  /// Returns a sampler with so many strata, and several episodes in each epoch.
  static StratifiedPairs sampler(std::size_t strata = 7) {
    StratifiedPairs policy;
    policy.strata = strata;
    policy.episode = 1500;
    return policy;
  }

 private:
  explicit StrataScenario(std::pair<Vocabulary, EncodedCorpus> both)
      : vocabulary(std::move(both.first)), corpus(std::move(both.second)) {}

  static std::vector<std::vector<int>> text(std::size_t words, std::size_t sentences,
                                            double power) {
    std::vector<std::vector<int>> all(sentences);
    Random random(4);
    for (auto& sentence : all) {
      const std::size_t size = 1 + random.below(18);
      for (std::size_t i = 0; i < size; ++i)
        sentence.push_back(
            static_cast<int>(static_cast<double>(random.below(words)) *
                             (i % 2 == 0 ? 1.0 : std::pow(random.uniform(), power))));
    }
    return all;
  }
};

template <class Kernel = FusedKernel, class Sync = NoSync>
using StrataTrainer = Trainer<StratifiedPairs, Kernel, Sync, LinearDecay>;

/// Returns the model that one process trains.
inline Model train_strata(const StrataScenario& scenario, std::size_t threads = 1,
                          const StratifiedPairs& sampler = StrataScenario::sampler()) {
  StrataTrainer<> trainer(StrataScenario::parameters(threads), sampler);
  Model model = trainer.new_model(scenario.vocabulary);
  trainer.train(scenario.corpus, model);
  return model;
}

/// A block of StratifiedPairs that was trained.
struct Trained {
  std::vector<RowId> inputs, outputs;
  float rate = 0;
  std::thread::id thread = {};
};

struct Recorder {
  std::mutex guard;
  std::vector<Trained> blocks;
  std::size_t awaited = 1;  // threads that have begun a block before any ends its first
  std::set<std::thread::id> threads;
  std::condition_variable begun;

  void record(Trained block) {
    std::unique_lock lock(guard);
    threads.insert(block.thread);
    blocks.push_back(std::move(block));
    begun.notify_all();
    if (!begun.wait_for(lock, std::chrono::seconds(60), [&] { return threads.size() >= awaited; }))
      awaited = 1;  // in vain
  }
};

/// Records blocks instead of training them.
struct RecordingKernel {
  static constexpr bool keeps_nothing_by_row = true;
  Recorder* recorder = nullptr;

  template <class Visit>
  void visit_parameters(Visit&&) const {}

  struct Worker {
    Recorder* recorder;
    template <bool>
    double update(Model&, const Block& block, float rate) {
      if (block.positives != 1 || block.examples != block.inputs.size() || block.paired != 0 ||
          block.has_bags() || block.in_turn || block.update != Block::Sides::both)
        throw TrainingError("a block of another kind");
      recorder->record({{block.inputs.begin(), block.inputs.end()},
                        {block.outputs.begin(), block.outputs.end()},
                        rate,
                        std::this_thread::get_id()});
      return 0.0;
    }
  };
  Worker worker(const Model&, Block::Shape) const { return {recorder}; }
};

inline std::vector<Trained> trained_blocks(const StrataScenario& text,
                                           const StratifiedPairs& sampler,
                                           const Hyperparameters& parameters,
                                           std::size_t awaited = 1) {
  Recorder recorder;
  recorder.awaited = awaited;
  StrataTrainer<RecordingKernel>(parameters, sampler, RecordingKernel{&recorder})
      .fit(text.corpus, text.vocabulary);
  return std::move(recorder.blocks);
}

struct ThrowingAtSeven {
  static constexpr bool keeps_nothing_by_row = true;
  struct Worker {
    template <bool>
    double update(Model&, const Block& block, float) {
      if (block.inputs[0] == 7) throw IoError("word seven");
      return 0.0;
    }
  };
  Worker worker(const Model&, Block::Shape) const { return {}; }
};

/// Trains slowly on rank 0, and throws on rank 1 in some step: in the thread that waits for rows
/// of rank 0, or in another one.
struct FailingKernel {
  static constexpr bool keeps_nothing_by_row = true;
  std::size_t rank = 0;
  bool in_first_thread = true;
  std::thread::id first_thread = std::this_thread::get_id();

  template <class Visit>
  void visit_parameters(Visit&&) const {}

  struct Worker {
    std::size_t rank;
    bool fails;
    float rate = 0;
    std::size_t steps = 0;
    template <bool>
    double update(Model&, const Block&, float now) {
      if (std::exchange(rate, now) == now) return 0.0;
      std::this_thread::sleep_for(rank == 0 ? 10ms : fails ? 4ms : 1ms);
      if (fails && ++steps == 3) throw IoError("no more rows");
      return 0.0;
    }
  };
  Worker worker(const Model&, Block::Shape) const {
    const bool is_first = std::this_thread::get_id() == first_thread;
    return {rank, rank == 1 && is_first == in_first_thread};
  }
};

using PairCounts = std::map<std::pair<RowId, RowId>, std::uint64_t>;

/// Counts the pairs of context and centre in a text, with so many words on each side.
inline PairCounts pairs_of(const EncodedCorpus& corpus, std::size_t window, std::uint64_t epochs) {
  PairCounts counts;
  for (std::size_t s = 0; s < corpus.sentence_count(); ++s) {
    const auto words = corpus.sentence(s);
    for (std::size_t i = 0; i < words.size(); ++i)
      for (std::size_t k = 0; k < words.size(); ++k)
        if (i != k && (i < k ? k - i : i - k) <= window) counts[{words[k], words[i]}] += epochs;
  }
  return counts;
}

inline constexpr std::array formats{Format::fp32, Format::bf16, Format::bits8};

/// Returns a row as the rank receives it to which it is passed on.
inline std::vector<float> passed(Format format, const std::vector<float>& row,
                                 std::uint64_t seed = 1) {
  PassedRows rows(format, row.size());
  Random random(seed);
  std::vector<std::byte> bytes(rows.bytes() + 1, std::byte{7});
  std::vector<float> scratch;
  rows.write(row.data(), random, scratch, bytes.data());
  if (bytes.back() != std::byte{7}) FAIL("more bytes than bytes()");
  std::vector<float> result(row.size());
  rows.read(bytes.data(), result.data());
  return result;
}

/// Returns values between -2 and 2, most of them small.
inline std::vector<float> values_of(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(size);
  for (float& x : values) x = static_cast<float>(std::pow(random.uniform() * 2 - 1, 3) * 2);
  return values;
}

/// Returns the distance of two neighbouring values in the format of a row.
inline double step_of(Format format, const std::vector<float>& row, std::size_t i) {
  if (format == Format::bits8) {
    float largest = 0;
    for (const float x : row) largest = std::max(largest, std::abs(x));
    return double{largest} / 127;
  }
  return std::ldexp(1.0, std::ilogb(row[i]) - 7);
}

using Sync = RowAllgather<ThreadRanks>;

/// Does all parts in the calling thread.
inline const detail::RankTeam one_thread = [](std::size_t parts, const auto& work) {
  for (std::size_t i = 0; i < parts; ++i) work(i);
};

/// Returns a model of which each rank has other rows.
inline Model model_of(std::size_t rank) {
  Model model(12, 5);
  for (RowMatrix* matrix : {&model.input, &model.output})
    for (std::size_t i = 0; i < 12; ++i)
      std::ranges::copy(values_of(5, 100 * rank + i + (matrix == &model.input ? 0 : 50)),
                        matrix->row(i).begin());
  return model;
}

using RankTrainer = StrataTrainer<FusedKernel, Sync>;

inline const StrataScenario& scenario() {
  static const StrataScenario text;
  return text;
}

struct Team {
  std::size_t ranks, threads = 1;
  Format format = Format::fp32;
  std::size_t strata = 20;
};

/// Returns what ranks train, each in a thread of its own. `prepare(rank, trainer)` sets options.
/// `from`: the checkpoint that they resume.
template <class Prepare>
std::vector<std::optional<Model>> train_team(const Team& team, Prepare prepare,
                                             const std::filesystem::path& from = {}) {
  std::vector<std::optional<Model>> result(team.ranks);
  ThreadRanks::run(team.ranks, [&](ThreadRanks self) {
    RankTrainer trainer(StrataScenario::parameters(team.threads),
                        StrataScenario::sampler(team.strata), FusedKernel{},
                        Sync(self, team.format));
    Model model = trainer.new_model(scenario().vocabulary);
    prepare(self.rank(), trainer);
    if (from.empty())
      trainer.train(scenario().corpus, model);
    else
      trainer.resume_training(scenario().corpus, model, from);
    result[self.rank()].emplace(std::move(model));
  });
  return result;
}
inline std::vector<std::optional<Model>> train_team(const Team& team,
                                                    const std::filesystem::path& from = {}) {
  return train_team(
      team, [](std::size_t, auto&) {}, from);
}

inline bool all_same(const std::vector<std::optional<Model>>& ranks, const Model& expected) {
  return std::ranges::all_of(
      ranks, [&](const std::optional<Model>& model) { return same_matrices(*model, expected); });
}

/// Trains with three ranks until one of them asks to stop, and writes a checkpoint.
inline void stop_ranks(Format format, const std::filesystem::path& path) {
  const auto stopped = train_team({3, 1, format}, [&](std::size_t rank, RankTrainer& trainer) {
    trainer.checkpoint_to(path, 0s);
    if (rank == 1)
      trainer.on_progress([](const Progress& progress) { return progress.fraction() < 0.3; }, 0s);
  });
  CHECK(all_same(stopped, *stopped[0]));
  const auto state = detail::Checkpoint::load(path);
  REQUIRE(state.ranks.size() == 3);
  for (const auto& rank : state.ranks) {
    CHECK(rank.threads[0].epoch == 0);
    CHECK(rank.threads[0].sentences == state.ranks[0].threads[0].sentences);  // steps
    CHECK(rank.threads[0].sentences > 20);
  }
}

}  // namespace strata_scenario
