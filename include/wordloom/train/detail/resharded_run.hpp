#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/train/detail/checkpoint.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Resumes a checkpoint with another number of ranks or threads than those that wrote it. All begin
/// in the first epoch that some thread has not ended, and skip an equal share of their shards: as
/// many words as were trained, but not always the same words.
struct ReshardedRun {
  /// Returns the number of sentences (on a device: of their pieces) that hold the first so many
  /// words of a shard.
  using SentencesOf = std::function<std::uint64_t(const Shard&, std::uint64_t)>;

  /// Makes the random streams of threads that continue the work of others differ from theirs.
  static constexpr std::uint64_t streams = 0x6465616c74;

  /// Divides the rest of the run among as many ranks and threads as `team` has, and sets
  /// `resharded_at` to its progress. Threads that train columns, which all have the same position,
  /// keep it.
  static void reshard(Checkpoint& run, const Checkpoint& team, bool columns);

  /// Makes a rank's threads begin behind the share of the epoch that was trained.
  static void skip_trained(Checkpoint& run, std::size_t rank, std::uint64_t seed,
                           const SentencesOf& sentences_of);

  /// `longest`: the longest piece of a sentence on a device; 0: on the host.
  template <class Corpus>
  static SentencesOf sentences_of(const Corpus& corpus, std::size_t longest) {
    return [&corpus, longest](const Shard& shard, std::uint64_t words) {
      std::uint64_t sentences = 0;
      for (const std::span<const WordId> sentence : corpus.sentences(shard)) {
        if (words == 0) break;
        const auto part = (std::min<std::uint64_t>)(sentence.size(), words);
        words -= part;
        sentences += longest == 0 ? 1 : (part + longest - 1) / longest;
      }
      return sentences;
    };
  }
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION void ReshardedRun::reshard(Checkpoint& run, const Checkpoint& team,
                                             bool columns) {
  const std::size_t epochs = run.ranks[0].losses.size(), count = team.ranks.size();
  Checkpoint::Rank all{0, std::vector<Checkpoint::EpochLoss>(epochs), {}};
  Checkpoint::Thread first = run.ranks[0].threads.at(0);
  for (const Checkpoint::Rank& rank : run.ranks) {
    all.tokens += rank.tokens;
    for (std::size_t e = 0; e < epochs; ++e)
      all.losses[e].add(rank.losses[e].loss, rank.losses[e].examples);
    for (const Checkpoint::Thread& thread : rank.threads) {
      all.tokens += thread.tokens;
      if (thread.epoch < epochs) all.losses[thread.epoch].add(thread.loss, thread.examples);
      if (thread.epoch < first.epoch) first = thread;
    }
  }
  const double total = static_cast<double>(run.corpus_tokens) * static_cast<double>(epochs);
  run.resharded_at = (std::min)(1.0, static_cast<double>(all.tokens) / (std::max)(total, 1.0));
  first = {.epoch = first.epoch, .sentences = columns ? first.sentences : 0};
  all.tokens /= count;
  for (Checkpoint::EpochLoss& loss : all.losses) {
    loss.loss /= static_cast<double>(count);
    loss.examples /= count;
  }
  all.threads.assign(team.ranks[0].threads.size(), first);
  run.ranks.assign(count, all);
}

WORDLOOM_FUNCTION void ReshardedRun::skip_trained(Checkpoint& run, std::size_t rank,
                                                  std::uint64_t seed,
                                                  const SentencesOf& sentences_of) {
  auto& threads = run.ranks[rank].threads;
  const std::size_t epochs = run.ranks[rank].losses.size(), epoch = threads[0].epoch;
  const double share = run.resharded_at * static_cast<double>(epochs) - static_cast<double>(epoch);
  if (share <= 0 || epoch == epochs) return;
  const std::size_t shards = run.ranks.size() * threads.size();
  const std::uint64_t shard_words = run.corpus_tokens / shards;
  const auto words = share < 1
                         ? static_cast<std::uint64_t>(share * static_cast<double>(shard_words))
                         : (std::numeric_limits<std::uint64_t>::max)();
  for (std::size_t i = 0; i < threads.size(); ++i) {
    const std::size_t shard = rank * threads.size() + i;
    threads[i].sentences = sentences_of({shard, shards, epoch, seed}, words);
    const Random random(seed ^ streams, shard, epoch);
    threads[i].random_state = random.state();
    threads[i].random_gamma = random.gamma();
  }
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
