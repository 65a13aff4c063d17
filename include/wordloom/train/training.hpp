#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <wordloom/core/error.hpp>
#include <wordloom/core/hash.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/parameters.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/concept.hpp>
#include <wordloom/sync/concept.hpp>
#include <wordloom/train/batch_loop.hpp>
#include <wordloom/train/checkpoint.hpp>
#include <wordloom/train/checkpointer.hpp>
#include <wordloom/train/progress.hpp>
#include <wordloom/train/run.hpp>
#include <wordloom/train/run_state.hpp>
#include <wordloom/train/thread_loop.hpp>

namespace wordloom::detail {

/// What a trainer was told.
template <class SamplerPolicy, class KernelPolicy, class Sync, class Schedule>
struct TrainerSettings {
  Hyperparameters parameters;
  SamplerPolicy sampler;
  KernelPolicy kernel;
  Schedule schedule;
  Sync sync;
  ProgressCallback callback = {};
  double callback_seconds = 1.0;
  std::filesystem::path checkpoint = {};  // empty: none
  double checkpoint_seconds = 600;
};

/// One run of a trainer: checks that everything goes together, makes the ranks start alike, runs
/// the loop of the kernel, and tells other ranks when it fails.
template <class SamplerPolicy, class KernelPolicy, class Sync, class Schedule>
class Training {
  static constexpr bool on_device = OnDevice<KernelPolicy>;

 public:
  using Settings = TrainerSettings<SamplerPolicy, KernelPolicy, Sync, Schedule>;
  using SamplerRun = RunOf<SamplerPolicy>;

  /// `checkpoint`: the file that the run resumes, or null.
  Training(Settings& settings, const SamplerRun& samplers, const std::filesystem::path* checkpoint)
      : settings_(settings), samplers_(samplers), checkpoint_(checkpoint) {}

  template <class Corpus>
  TrainReport train(const Corpus& corpus, Model& model) {
    // Outlives a failure: memory of a device is free only after other ranks are told.
    [[maybe_unused]] std::unique_ptr<DeviceRun<KernelPolicy>> device;
    try {
      check(corpus, model);
      Checkpoint start = beginning(corpus, model);
      if (settings_.sync.rank() == 0 && checkpoint_ != nullptr)
        start = load_checkpoint(*checkpoint_, start, model);
      if constexpr (on_device) {
        device =
            settings_.kernel.start(settings_.sampler, settings_.parameters, std::as_const(model));
        auto replica = device->replica();
        const auto interval = start_sync(corpus, model, replica, start);
        run(corpus, start, interval,
            [&](const auto& run) { BatchLoop(corpus, *device, model, run).train(); });
        device->download(model);
      } else {
        const auto kernels = start_kernel(settings_.kernel, model);
        const auto interval = start_sync(corpus, model, model, start);
        run(corpus, start, interval,
            [&](const auto& run) { ThreadLoop(corpus, samplers_, kernels, model, run).train(); });
      }
    } catch (const std::exception& error) {
      settings_.sync.fail(error.what());
      throw;
    } catch (...) {
      settings_.sync.fail("an exception that is no std::exception");
      throw;
    }
    return report_;
  }

 private:
  /// Where a run begins, without its matrices.
  template <class Corpus>
  Checkpoint beginning(const Corpus& corpus, const Model& model) const {
    Checkpoint start;
    start.method = fingerprint();
    start.vocabulary = model.vocabulary.fingerprint();
    start.corpus_tokens = corpus.token_count();
    for (std::size_t stream = 0; stream < settings_.sync.size() * threads(); ++stream) {
      if (stream % threads() == 0)
        start.ranks.emplace_back().losses.resize(settings_.parameters.epochs);
      const Random random(settings_.parameters.seed, stream, 0);
      start.ranks.back().threads.push_back(
          {.random_state = random.state(), .random_gamma = random.gamma()});
    }
    return start;
  }

  /// Makes the replicas alike, and `start` what it is on rank 0. Returns the words that a rank may
  /// train between two ticks.
  template <class Corpus, class Replica>
  std::uint64_t start_sync(const Corpus& corpus, const Model& model, Replica& replica,
                           Checkpoint& start) {
    const bool saves = !settings_.checkpoint.empty(), resumes = checkpoint_ != nullptr;
    SyncRun run{.agreed = {{"corpus (words)", corpus.token_count()},
                           {"vocabulary (fingerprint)", model.vocabulary.fingerprint()},
                           {"method or set of hyperparameters (fingerprint)", fingerprint()},
                           {"use of checkpoints", (saves ? 1u : 0u) + (resumes ? 2u : 0u)},
                           {"number of threads", saves || resumes ? std::uint64_t{threads()} : 0}},
                .input_rows = model.input.rows(),
                .output_rows = model.output.rows(),
                .dimension = model.dimension(),
                .words_per_epoch = corpus.token_count() / settings_.sync.size(),
                .epochs = settings_.parameters.epochs,
                .rate = [schedule = settings_.schedule](double at) { return schedule.rate(at); },
                .resumes = resumes,
                .sync_state = {start.synchronisations, start.sync_options}};
    if constexpr (on_device) run.min_interval = KernelPolicy::min_words;
    if (settings_.sync.size() > 1) {
      if constexpr (ExpectsUpdates<SamplerPolicy>)
        run.expected =
            samplers_.expected_updates(WordRates(model.vocabulary, settings_.parameters.subsample));
      else
        throw InvalidArgument(
            "this Sampler lacks expected_updates(rates), which training by several ranks needs");
    }
    for (const Checkpoint::Rank& rank : start.ranks)
      for (const std::uint64_t number : rank.numbers()) run.positions.push_back(number);
    const std::uint64_t interval = settings_.sync.start(replica, run);
    const std::size_t size = run.positions.size() / start.ranks.size();
    for (std::size_t i = 0; i < start.ranks.size(); ++i)
      start.ranks[i] = Checkpoint::Rank::from(std::span(run.positions).subspan(i * size, size),
                                              settings_.parameters.epochs, threads());
    return interval;
  }

  /// Calls `loop(run)` and takes its report.
  template <class Corpus, class Loop>
  void run(const Corpus& corpus, const Checkpoint& start, std::uint64_t interval, Loop loop) {
    const Checkpoint::Rank& own = start.ranks[settings_.sync.rank()];
    const std::uint64_t tokens = corpus.token_count() / settings_.sync.size();
    RunState state(tokens, settings_.parameters.epochs, settings_.callback,
                   settings_.callback_seconds);
    state.resume(own);
    std::optional<Checkpointer> checkpointer;
    if (!settings_.checkpoint.empty())
      checkpointer.emplace(settings_.checkpoint, settings_.checkpoint_seconds, start,
                           settings_.sync.rank());
    loop(Run<Sync, Schedule>{settings_.parameters, settings_.sync, settings_.schedule, own, tokens,
                             interval, state, checkpointer ? &*checkpointer : nullptr});
    report_ = state.finish();
  }

  /// Of policies and hyperparameters.
  std::uint64_t fingerprint() const {
    Hash hash;
    hash.add(std::string_view(__PRETTY_FUNCTION__));
    add_parameters(hash, settings_.parameters);
    add_parameters(hash, settings_.sampler);
    add_parameters(hash, settings_.kernel);
    add_parameters(hash, settings_.schedule);
    return hash.value();
  }

  /// Threads of the host that train.
  std::size_t threads() const {
    return on_device ? 1 : resolve_threads(settings_.parameters.threads);
  }

  template <class Corpus>
  void check(const Corpus& corpus, const Model& model) const {
    if (corpus.token_count() == 0)
      throw CorpusError("the corpus has no word of the vocabulary: nothing to train on");
    if constexpr (requires { corpus.vocabulary_fingerprint(); })
      if (corpus.vocabulary_fingerprint() != model.vocabulary.fingerprint())
        throw CorpusError("the corpus was encoded with another vocabulary than the model's");
    const auto require = [&](const char* matrix, const RowMatrix& got, std::size_t rows) {
      if (got.rows() != rows || got.columns() != settings_.parameters.dimension)
        throw InvalidArgument(std::string("the model's ") + matrix + " is " +
                              std::to_string(got.rows()) + " x " + std::to_string(got.columns()) +
                              ", its vocabulary, this sampler and the hyperparameters need " +
                              std::to_string(rows) + " x " +
                              std::to_string(settings_.parameters.dimension));
    };
    require("input", model.input, model.vocabulary.size());
    require("output", model.output, output_rows(samplers_, model.vocabulary));
  }

  Settings& settings_;
  const SamplerRun& samplers_;
  const std::filesystem::path* checkpoint_;
  TrainReport report_;
};

}  // namespace wordloom::detail
