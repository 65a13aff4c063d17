#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <wordloom/core/error.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/nothing_to_train.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/concept.hpp>
#include <wordloom/sync/concept.hpp>
#include <wordloom/train/batch_loop.hpp>
#include <wordloom/train/checkpoint.hpp>
#include <wordloom/train/column_loop.hpp>
#include <wordloom/train/convergence.hpp>
#include <wordloom/train/device_column_loop.hpp>
#include <wordloom/train/encoder_rounds.hpp>
#include <wordloom/train/progress.hpp>
#include <wordloom/train/run.hpp>
#include <wordloom/train/thread_loop.hpp>

namespace wordloom::inline WORDLOOM_ABI::detail {

/// Returns the vectors of a trained model: Run::embeddings() of its sampler, or those of the model.
template <class SamplerRun>
auto embeddings_of(Model&& model) {
  if constexpr (requires { SamplerRun::embeddings(std::move(model)); })
    return SamplerRun::embeddings(std::move(model));
  else
    return std::move(model).embeddings();
}

/// The policies of a trainer, and how a run with them begins and ends.
template <class Sampler, class Kernel, class Sync, class Schedule>
struct Training {
  static constexpr bool on_device = OnDevice<Kernel>;
  using Replica = ReplicaOf<Kernel>;
  using SamplerRun = RunOf<Sampler>;
  static_assert(!shares_rows<Sync> || has_two_steps<Sampler>,
                "wordloom: RowAllgather is for samplers that train columns, as UniformMatrix");

  RunOptions options;
  Sampler sampler;
  Kernel kernel;
  Schedule schedule;
  Sync sync;
  TrainReport report = {};

  Model new_model(const Vocabulary& vocabulary, const SamplerRun& samplers) const {
    return Model(vocabulary,
                 {.dimension = options.parameters.dimension,
                  .output_rows = output_rows(samplers, vocabulary),
                  .one_matrix = uses_one_matrix<SamplerRun>(),
                  .subwords = subwords_of(samplers)},
                 options.parameters.seed);
  }

  /// Trains the model that `model_for(samplers)` returns: checks that everything goes together,
  /// makes the ranks start alike, runs the loop of the kernel, and tells other ranks when it fails.
  /// `from`: the checkpoint that the run resumes, or null.
  template <class Corpus, class ModelFor>
  void train(const Corpus& corpus, const Vocabulary& vocabulary, const std::filesystem::path* from,
             ModelFor model_for) {
    static_assert(require_corpus<Corpus>());
    static_assert(!has_two_steps<Sampler> || HasColumns<Corpus>,
                  "wordloom: this Sampler trains the columns of a WordContextMatrix, and this "
                  "Corpus has none: WordContextMatrix::from(corpus, vocabulary) makes one");
    // Outlives a failure: other ranks are notified before the memory of a device is freed.
    [[maybe_unused]] std::unique_ptr<DeviceRun<Kernel>> device;
    try {
      const SamplerRun samplers = sampler.start(vocabulary);
      Model& model = model_for(samplers);
      check(corpus, samplers, model);
      Checkpoint start = beginning(corpus.token_count(), vocabulary);
      if constexpr (requires { corpus.fingerprint(); })
        if (options.saves() || from != nullptr || (shares_rows<Sync> && sync.size() > 1))
          start.corpus = corpus.fingerprint();
      if (sync.rank() == 0) options.try_checkpoint();
      if (sync.rank() == 0 && from != nullptr) {
        Checkpoint loaded = Checkpoint::load(*from);
        loaded.require_run(start, *from);
        model.set_matrices(std::exchange(loaded.matrices, {}));
        start = std::move(loaded);
      }
      const auto run_loop = [&](Replica& replica, auto loop) {
        const auto interval = start_sync(samplers, model, replica, from != nullptr, start);
        Run<Sync, Schedule, Replica> run{options, sync, schedule, model, replica, start, interval};
        try {
          loop(run);
        } catch (const NothingTrained&) {
          throw nothing_trained(corpus, subsample_of<SamplerRun>(options.parameters),
                                options.parameters.seed);
        }
        require_convergence(model, resolve_threads(options.parameters.threads));
        report = run.state.finish();
      };
      if constexpr (on_device) {
        static_assert(!HasEncoder<SamplerRun>,
                      "wordloom: an encoder needs an UpdateKernel of the host");
        device = kernel.start(sampler, options.parameters, model);
        auto replica = device->replica();
        run_loop(replica, [&](auto& run) {
          if constexpr (has_two_steps<Sampler>)
            DeviceColumnLoop(corpus, *device, run).train();
          else
            BatchLoop(corpus, *device, run).train();
        });
      } else if constexpr (has_two_steps<Sampler>) {
        const auto kernels = start_kernel(kernel, model);
        EncoderRoundsOf<SamplerRun> encoder(samplers, model, options.parameters);
        run_loop(model, [&](auto& run) {
          ColumnLoop(corpus, samplers, kernels, encoder, run).train();
        });
      } else {
        static_assert(!HasSubwords<SamplerRun> || KeepsNothingByRow<KernelRun<Kernel>>,
                      "wordloom: this UpdateKernel keeps data by row, as an optimizer does, and "
                      "cannot train the scratch rows of Subwords");
        const auto kernels = start_kernel(kernel, model);
        EncoderRoundsOf<SamplerRun> encoder(samplers, model, options.parameters);
        run_loop(model, [&](auto& run) {
          train_by_threads<features_used<Sampler>()>(corpus, samplers, kernels, encoder, run);
        });
      }
    } catch (const std::exception& error) {
      sync.fail(error.what());
      throw;
    } catch (...) {
      sync.fail("an exception that is no std::exception");
      throw;
    }
  }

 private:
  static std::string described(const std::optional<SubwordOptions>& subwords) {
    if (!subwords) return "no subwords";
    return joined({"subwords of minn ", subwords->minn, ", maxn ", subwords->maxn, ", ",
                   subwords->buckets, " buckets"});
  }

  template <class Corpus>
  void check(const Corpus& corpus, const SamplerRun& samplers, const Model& model) const {
    if (corpus.token_count() == 0)
      throw CorpusError("the corpus has no word of the vocabulary: nothing to train on");
    if constexpr (requires { corpus.vocabulary_fingerprint(); })
      if (corpus.vocabulary_fingerprint() != model.vocabulary.fingerprint())
        throw CorpusError("the corpus was encoded with another vocabulary than the model's");
    const auto require = [&](const char* matrix, const RowMatrix& got, std::size_t rows) {
      if (got.rows() != rows || got.columns() != options.parameters.dimension)
        throw InvalidArgument{"the model's ", matrix, " is ", got.rows(), " x ", got.columns(),
                              ", its vocabulary, this sampler and the hyperparameters need ", rows,
                              " x ", options.parameters.dimension};
    };
    if (model.has_one_matrix() != uses_one_matrix<SamplerRun>())
      throw InvalidArgument(model.has_one_matrix()
                                ? "the model has one matrix for both sides, this sampler needs two"
                                : "the model has two matrices, this sampler needs one for both "
                                  "sides (ModelShape::one_matrix)");
    if (model.subwords != subwords_of(samplers))
      throw InvalidArgument{"the model has ", described(model.subwords), ", this sampler ",
                            described(subwords_of(samplers))};
    require("input", model.input,
            model.vocabulary.size() + (model.subwords ? model.subwords->rows() : 0));
    require("output", model.output, output_rows(samplers, model.vocabulary));
  }

  /// Threads that have a position of their own in the corpus.
  std::size_t threads() const {
    return on_device || has_two_steps<Sampler> ? 1 : resolve_threads(options.parameters.threads);
  }

  /// Where a run begins, without its matrices.
  Checkpoint beginning(std::uint64_t corpus_tokens, const Vocabulary& vocabulary) const {
    const Hyperparameters& parameters = options.parameters;
    Checkpoint start;
    start.method = method_of(parameters, sampler, kernel, schedule);
    start.vocabulary = vocabulary.fingerprint();
    start.corpus_tokens = corpus_tokens;
    for (std::size_t stream = 0; stream < sync.size() * threads(); ++stream) {
      if (stream % threads() == 0) start.ranks.emplace_back().losses.resize(parameters.epochs);
      const Random random(parameters.seed, stream, 0);
      start.ranks.back().threads.push_back(
          {.random_state = random.state(), .random_gamma = random.gamma()});
    }
    return start;
  }

  /// Makes the replicas alike, and `start` what it is on rank 0. Returns the words that a rank may
  /// train between two ticks.
  std::uint64_t start_sync(const SamplerRun& samplers, const Model& model, Replica& replica,
                           bool resumes, Checkpoint& start) {
    const bool saves = options.saves();
    SyncRun run{.agreed = {{"corpus (words)", start.corpus_tokens},
                           {"vocabulary (fingerprint)", start.vocabulary},
                           {"method or set of hyperparameters (fingerprint)", start.method},
                           {"use of checkpoints", (saves ? 1u : 0u) + (resumes ? 2u : 0u)},
                           {"number of threads", saves || resumes ? std::uint64_t{threads()} : 0}},
                .input_rows = model.input.rows(),
                .output_rows = model.has_one_matrix() ? 0 : model.output.rows(),
                .dimension = model.dimension(),
                .words_per_epoch = start.corpus_tokens / sync.size(),
                .epochs = options.parameters.epochs,
                .rate = [schedule = schedule](double at) { return schedule.rate(at); },
                .resumes = resumes,
                .positions = {start.positions(), {start.synchronisations, start.sync_options}}};
    if constexpr (on_device && !has_two_steps<Sampler>) run.min_interval = Kernel::min_words;
    if constexpr (shares_rows<Sync>) run.agreed.emplace_back("corpus (fingerprint)", start.corpus);
    if (sync.size() > 1) {
      if constexpr (has_two_steps<Sampler> && !shares_rows<Sync>)
        throw InvalidArgument(
            "ranks that train columns need the SyncPolicy RowAllgather: this one has no "
            "share_rows(replica, side, first, last)");
      else if constexpr (HasEncoder<SamplerRun> && !has_two_steps<Sampler>)
        throw InvalidArgument(
            "an encoder that several ranks train needs a sampler of columns, as UniformMatrix");
      else if constexpr (ExpectsUpdates<Sampler>)
        run.expected = samplers.expected_updates(
            WordRates(model.vocabulary, subsample_of<SamplerRun>(options.parameters)));
      else
        throw InvalidArgument(
            "this Sampler lacks expected_updates(rates), which training by several ranks needs");
    }
    const std::uint64_t interval = sync.start(replica, run);
    start.set_positions(run.positions.numbers, run.epochs, threads());
    return interval;
  }
};

}  // namespace wordloom::inline WORDLOOM_ABI::detail
