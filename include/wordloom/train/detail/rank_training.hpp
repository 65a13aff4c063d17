#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>

#include <wordloom/core/files.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/corpus/detail/nothing_to_train.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sync/concept.hpp>
#include <wordloom/train/detail/checkpoint.hpp>
#include <wordloom/train/detail/model_checks.hpp>
#include <wordloom/train/detail/rank_run.hpp>
#include <wordloom/train/detail/resharded_run.hpp>
#include <wordloom/train/progress.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The part of a Training that is independent of samplers and kernels, so that a program with many
/// of them contains it once.
template <class Sync, class Schedule, class Replica>
struct RankTraining {
  using RankRun = detail::RankRun<Sync, Schedule, Replica>;

  /// The values that depend on the types of sampler, kernel and corpus.
  struct Traits {
    Model::Shape shape;
    RunMethod method;
    std::uint64_t corpus_tokens = 0;
    std::optional<std::uint64_t> corpus_vocabulary = {};  // fingerprint, if it has one
    std::function<std::uint64_t()> corpus_fingerprint = {};
    ReshardedRun::SentencesOf sentences_of = {};  // empty: threads train columns
    std::size_t threads = 1;         // those with a position of their own in the corpus
    std::uint64_t min_interval = 0;  // see RankInfo
    /// Returns the updates for several ranks. Throws InvalidArgument if they cannot train together.
    std::function<ExpectedUpdates()> expected = {};
    std::function<CorpusError()> nothing_trained = {};
    bool in_parts = false;  // each rank trains a part of the corpus that depends on their number
  };

  TrainerSettings options;
  Schedule schedule;
  Sync sync;
  TrainReport report = {};

  /// Checks that everything fits, and returns the position at which the run begins: that of the
  /// checkpoint `from`, whose matrices the model receives, or the beginning if it is null.
  Checkpoint starting_position(Model& model, const Traits& traits,
                               const std::filesystem::path* from) const;

  /// Makes the ranks start equally, and runs the loop of a kernel.
  void run(Model& model, Replica& replica, const Traits& traits, bool resumes, Checkpoint& start,
           const std::function<void(RankRun&)>& loop);

 private:
  /// Copies rank 0's model and starting position to all ranks. Returns the words that a rank may
  /// train between two ticks, and whether any of its threads may tick.
  std::pair<std::uint64_t, bool> start_sync(const Model& model, Replica& replica,
                                            const Traits& traits, bool resumes, Checkpoint& start);
};

// Defined outside of the class, so that instances that are compiled elsewhere (systems.hpp) are not
// compiled again.
template <class Sync, class Schedule, class Replica>
[[gnu::noinline]] Checkpoint RankTraining<Sync, Schedule, Replica>::starting_position(
    Model& model, const Traits& traits, const std::filesystem::path* from) const {
  Checkpoint start{.method = traits.method,
                   .vocabulary = model.vocabulary.fingerprint(),
                   .corpus_tokens = traits.corpus_tokens};
  check_corpus(traits.corpus_tokens, traits.corpus_vocabulary, model);
  check_shape(model, traits.shape);
  start.ranks.resize(sync.size());
  for (Checkpoint::Rank& rank : start.ranks) {
    rank.losses.resize(options.parameters.epochs);
    rank.threads.resize(traits.threads);
  }
  if (traits.corpus_fingerprint &&
      (options.saves() || from != nullptr || (shares_rows<Sync> && sync.size() > 1)))
    start.corpus = traits.corpus_fingerprint();
  // Before training, so that a wrong name does not cost hours.
  if (sync.rank() == 0 && options.saves()) static_cast<void>(AtomicFile{options.checkpoint});
  if (sync.rank() == 0 && from != nullptr) {
    Checkpoint loaded = Checkpoint::load(*from);
    loaded.require_run(start, *from, traits.in_parts);
    loaded.corpus = start.corpus;  // of these ranks' parts
    model.set_matrices(std::exchange(loaded.matrices, {}));
    if (!loaded.has_team_of(start)) ReshardedRun::reshard(loaded, start, !traits.sentences_of);
    start = std::move(loaded);
  }
  return start;
}

template <class Sync, class Schedule, class Replica>
[[gnu::noinline]] void RankTraining<Sync, Schedule, Replica>::run(
    Model& model, Replica& replica, const Traits& traits, bool resumes, Checkpoint& start,
    const std::function<void(RankRun&)>& loop) {
  const auto [interval, any_thread] = start_sync(model, replica, traits, resumes, start);
  RankRun run{options, sync, schedule, model, replica, start, interval, any_thread};
  try {
    loop(run);
  } catch (const NothingTrained&) {
    throw traits.nothing_trained();
  }
  require_convergence(model, resolve_threads(options.parameters.threads));
  report = run.state.summary();
}

template <class Sync, class Schedule, class Replica>
std::pair<std::uint64_t, bool> RankTraining<Sync, Schedule, Replica>::start_sync(
    const Model& model, Replica& replica, const Traits& traits, bool resumes, Checkpoint& start) {
  const bool saves = options.saves();
  RankInfo run{
      .agreed = {{"corpus (words)", start.corpus_tokens},
                 {"vocabulary (fingerprint)", start.vocabulary},
                 {"method or set of hyperparameters (fingerprint)", start.method.fingerprint},
                 {"use of checkpoints", (saves ? 1u : 0u) + (resumes ? 2u : 0u)},
                 {"number of threads", saves || resumes ? std::uint64_t{traits.threads} : 0}},
      .method = start.method.lines,
      .input_rows = model.input.rows(),
      .output_rows = model.has_one_matrix() ? 0 : model.output.rows(),
      .dimension = model.dimension(),
      .words_per_epoch = start.corpus_tokens / sync.size(),
      .epochs = options.parameters.epochs,
      .rate = [schedule = schedule](double at) { return schedule.rate(at); },
      .min_interval = traits.min_interval,
      .resumes = resumes,
      .positions = {
          start.positions(), {start.synchronisations, start.sync_options}, start.resharded_at}};
  if constexpr (shares_rows<Sync>) run.agreed.emplace_back("corpus (fingerprint)", start.corpus);
  if (sync.size() > 1) run.expected = traits.expected();
  const std::uint64_t interval = sync.start(replica, run);
  start.set_positions(run.positions.numbers, run.epochs, traits.threads);
  start.resharded_at = run.positions.resharded_at;
  if (start.resharded_at >= 0 && traits.sentences_of)
    ReshardedRun::skip_trained(start, sync.rank(), options.parameters.seed, traits.sentences_of);
  return {interval, run.ticks_from_any_thread && sync.size() > 1};
}

}}}  // namespace wordloom::WORDLOOM_ABI::detail
