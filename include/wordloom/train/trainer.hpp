#pragma once
#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

#include <wordloom/core/detail/parameter_effects.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/model/embeddings.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/concept.hpp>
#include <wordloom/schedule/linear_decay.hpp>
#include <wordloom/sync/concept.hpp>
#include <wordloom/train/callbacks.hpp>
#include <wordloom/train/detail/block_checks.hpp>
#include <wordloom/train/detail/training.hpp>
#include <wordloom/train/progress.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {
template <class SamplerPolicy, class KernelPolicy, class SyncPolicyType, class Schedule,
          bool checked>
class ErasedTrainerOf;
}

/// Trains embeddings: each thread takes its shard of the corpus, subsamples each sentence, lets the
/// SamplerPolicy make blocks of it and the KernelPolicy apply their gradients to the one model,
/// without locks (Hogwild). One thread and one seed give bit-identical results on one build and
/// machine; more threads do not. A trainer may be used again; not by two threads at a time.
///
/// `checked`: whether each block of the sampler is checked before a kernel on the host trains it:
/// rows, bags, weights, positives, features and examples. By default, this holds for samplers
/// outside of the library where WORDLOOM_CHECKED is 1, as in debug builds.
template <class SamplerPolicy, class KernelPolicy, class SyncPolicyType = NoSync,
          class Schedule = LinearDecay, bool checked = detail::checks_blocks<SamplerPolicy>>
class Trainer {
  using Training = detail::Training<SamplerPolicy, KernelPolicy, SyncPolicyType, Schedule, checked>;
  static constexpr bool on_device = detail::OnDevice<KernelPolicy>;
  using Replica = detail::ReplicaOf<KernelPolicy>;
  using SamplerRun = detail::RunOf<SamplerPolicy>;
  static_assert(detail::require_sampler<SamplerPolicy>() &&
                detail::require_kernel<KernelPolicy>() &&
                detail::require_match<SamplerPolicy, KernelPolicy>());
  static_assert(!on_device || SyncPolicy<SyncPolicyType, Replica>,
                "wordloom: this UpdateKernel has its model on a device, which this SyncPolicy does "
                "not synchronise");
  static_assert(on_device || SyncPolicy<SyncPolicyType, Replica>,
                "wordloom: this SyncPolicy lacks start(model, run), tick(model, progress, "
                "request), gather(model, numbers), finish(model), fail(cause), rank() or size()");
  static_assert(LearningRateSchedule<Schedule>,
                "wordloom: this LearningRateSchedule lacks 'double rate(double progress) const', "
                "or cannot be copied");

 public:
  /// The type of the vectors of a new model: Embeddings, or SubwordEmbeddings.
  using TrainedEmbeddings = decltype(detail::embeddings_of<SamplerRun>(std::declval<Model>()));

  /// A duration in seconds. Every std::chrono duration converts to it.
  using Duration = std::chrono::duration<double>;

  /// Takes the policies' parameters from `parameters`. Throws InvalidArgument when one is outside
  /// its bounds, and when one that differs from its default has no effect with these policies.
  explicit Trainer(Hyperparameters parameters = {}, SyncPolicyType sync = SyncPolicyType())
      : Trainer(parameters, policy_from<SamplerPolicy>(parameters),
                policy_from<KernelPolicy>(parameters), std::move(sync)) {}

  /// Takes policies with parameters of their own. Throws as above, and InvalidArgument when
  /// `parameters` has a value, other than its default, that the sampler or kernel has another of.
  /// To change one parameter of a policy alone, make the trainer without it and use sampler().
  Trainer(Hyperparameters parameters, SamplerPolicy sampler, KernelPolicy kernel = {},
          SyncPolicyType sync = SyncPolicyType(), std::optional<Schedule> schedule = std::nullopt)
      : training_{{{parameters},
                   schedule ? *schedule : policy_from<Schedule>(parameters, sync.size()),
                   std::move(sync)},
                  std::move(sampler),
                  std::move(kernel)} {
    parameters.validate();
    validate_policies();
    constexpr auto list = &detail::made_parameters<SamplerPolicy, KernelPolicy>;
    detail::require_effects(parameters, list, Training::reads());
    detail::require_agreement(parameters, list,
                              detail::parameters_of(training_.sampler, training_.kernel));
  }

  const Hyperparameters& hyperparameters() const noexcept { return training_.options.parameters; }
  /// The policies, which may be changed until training begins: `trainer.sampler().gradient = ...`.
  /// Training checks their bounds anew.
  SamplerPolicy& sampler() noexcept { return training_.sampler; }
  const SamplerPolicy& sampler() const noexcept { return training_.sampler; }
  KernelPolicy& kernel() noexcept { return training_.kernel; }
  const KernelPolicy& kernel() const noexcept { return training_.kernel; }
  const SyncPolicyType& sync() const noexcept { return training_.sync; }

  /// Adds a callback: a function as on_progress takes it (called about every second), or an object
  /// of callbacks.hpp, or a custom one. All are called, in the order in which they were added, one
  /// at a time. An object is copied; std::ref(object) is not.
  template <class Callback>
  void add(Callback callback) {
    detail::add_callback(training_.options.callbacks, std::move(callback));
  }
  template <class Callback>
  void add(OnCallingThread<Callback> callback) {
    detail::add_callback(training_.options.callbacks, std::move(callback.callback), true);
  }
  /// As checkpoint_to. Throws InvalidArgument where another one was added.
  void add(const Checkpoint& checkpoint) {
    training_.options.add_checkpoint(checkpoint.path, checkpoint.interval);
  }
  /// Removes all callbacks.
  void clear_callbacks() { training_.options.callbacks = {}; }

  /// Adds a function `callback(progress)` or `callback(progress, model)` that is called at most
  /// once in every `interval` of training (0: as often as threads report) and at its end. It may
  /// return nothing; when it returns false, training stops and `fit` returns the model as it is; of
  /// several ranks all stop, at their next synchronisation. It is called by one thread at a time,
  /// any of those that train (see OnCallingThread); while one that takes the model runs, no other
  /// trains. It may throw: training then stops and `fit` throws that.
  template <class F>
  void on_progress(F callback, Duration interval = std::chrono::seconds(1)) {
    detail::add_function(training_.options.callbacks, std::move(callback),
                         {.interval = interval.count()});
  }

  /// Adds a function that is called after each epoch, while all threads wait: `progress.epoch` is
  /// the epoch that has ended, and `progress.mean_loss` its loss. The model has what this rank has
  /// trained. A run that stops there and resumes does not report the epoch again.
  template <class F>
  void on_epoch(F callback) {
    detail::add_function(training_.options.callbacks, std::move(callback), {.each_epoch = true});
  }

  /// Writes a checkpoint to `path` in the background at every `interval` of training, and when a
  /// callback stops training; the file is replaced whole. Takes memory for a second model while it
  /// writes. With several ranks, rank 0 writes for all, after they have made all rows agree. A GPU
  /// kernel finishes its batches in flight first.
  ///
  /// `fit` throws IoError before it trains if no file can be written there. A write that fails
  /// later does not end training: Progress and TrainReport say why, and the next one is tried when
  /// it is due; `fit` throws IoError if training was stopped and the last write failed.
  void checkpoint_to(const std::filesystem::path& path,
                     Duration interval = std::chrono::minutes(10)) {
    training_.options.checkpoint = path;
    training_.options.checkpoint_interval = interval;
  }

  /// Returns a new model in the shape that this trainer trains.
  Model new_model(const Vocabulary& vocabulary) const {
    return training_.new_model(vocabulary, training_.sampler.start(vocabulary));
  }

  /// Trains a new model. Returns its input rows [V x D], or with Subwords the means of their bags.
  /// Throws CorpusError if the corpus is empty or was encoded with another vocabulary,
  /// TrainingError if training diverges (a loss or vector that is not finite, or a number above
  /// 1000 in a vector), InvalidArgument for a block that is wrong, if blocks are checked, and the
  /// exceptions of a policy or callback. With several ranks, the others
  /// throw SyncError that names the one that failed.
  template <class Corpus>
  TrainedEmbeddings fit(const Corpus& corpus, const Vocabulary& vocabulary) {
    return fit_new(corpus, vocabulary, nullptr);
  }

  /// Continues to train a model in place: one of another run, or one that was loaded. Its rows may
  /// move, which invalidates pointers to them. Throws as `fit`, and InvalidArgument when the
  /// model's shape is not that of new_model(its vocabulary).
  template <class Corpus>
  TrainReport train(const Corpus& corpus, Model& model) {
    return train_model(corpus, model, nullptr);
  }
  /// The name of `train` in 0.1.
  template <class Corpus>
  [[deprecated("use train(corpus, model)")]] TrainReport fit(const Corpus& corpus, Model& model) {
    return train(corpus, model);
  }

  /// Resumes a run from its checkpoint and trains to its end. With one thread, one sentence in
  /// flight on a GPU, or any number of threads that train columns, the vectors are those of a run
  /// that was not interrupted, bit for bit; with several ranks, if they synchronise without
  /// overlap. Only rank 0 reads the file.
  ///
  /// A run may resume with another number of ranks or threads (Checkpoint::team()). All then begin
  /// in the first epoch that some thread has not ended, and skip the share of it that was trained
  /// (all of it, if other threads were epochs ahead, whose lead is trained again): some sentences
  /// of that epoch are trained twice and some not at all, random numbers differ, and ranks make
  /// their schedule of synchronisations anew. If they train columns, the bits are the same.
  ///
  /// Throws as `fit`, IoError and FormatError if the checkpoint cannot be read, and InvalidArgument
  /// if it belongs to another corpus (by its fingerprint(), if it has one), vocabulary or set of
  /// hyperparameters. Policies are compared by the names of their types without namespaces.
  template <class Corpus>
  TrainedEmbeddings resume(const Corpus& corpus, const Vocabulary& vocabulary,
                           const std::filesystem::path& path) {
    return fit_new(corpus, vocabulary, &path);
  }
  /// Resumes into `model`, which must have the shape of new_model(). Its matrices are overwritten.
  template <class Corpus>
  TrainReport resume_training(const Corpus& corpus, Model& model,
                              const std::filesystem::path& path) {
    return train_model(corpus, model, &path);
  }
  /// The name of `resume_training` in 0.1.
  template <class Corpus>
  [[deprecated("use resume_training(corpus, model, path)")]] TrainReport resume(
      const Corpus& corpus, Model& model, const std::filesystem::path& path) {
    return resume_training(corpus, model, path);
  }

  /// Returns the report of the last run, on the part that this rank trained.
  const TrainReport& report() const noexcept { return training_.report; }

 private:
  friend class detail::ErasedTrainerOf<SamplerPolicy, KernelPolicy, SyncPolicyType, Schedule,
                                       checked>;

  void validate_policies() const {
    validate_parameters(training_.sampler);
    validate_parameters(training_.kernel);
    validate_parameters(training_.schedule);
  }

  // Defined outside of the class, and so not inline: a declaration of an instance that is compiled
  // elsewhere (systems.hpp) then spares its compilation, which takes seconds.
  template <class Corpus>
  TrainedEmbeddings fit_new(const Corpus& corpus, const Vocabulary& vocabulary,
                            const std::filesystem::path* from);
  template <class Corpus>
  TrainReport train_model(const Corpus& corpus, Model& model, const std::filesystem::path* from);

  Training training_;
};

template <class SamplerPolicy, class KernelPolicy, class SyncPolicyType, class Schedule,
          bool checked>
template <class Corpus>
auto Trainer<SamplerPolicy, KernelPolicy, SyncPolicyType, Schedule, checked>::fit_new(
    const Corpus& corpus, const Vocabulary& vocabulary, const std::filesystem::path* from)
    -> TrainedEmbeddings {
  validate_policies();
  std::optional<Model> model;
  training_.train(corpus, vocabulary, from, [&](const SamplerRun& samplers) -> Model& {
    return model.emplace(training_.new_model(vocabulary, samplers));
  });
  return detail::embeddings_of<SamplerRun>(std::move(*model));
}

template <class SamplerPolicy, class KernelPolicy, class SyncPolicyType, class Schedule,
          bool checked>
template <class Corpus>
TrainReport Trainer<SamplerPolicy, KernelPolicy, SyncPolicyType, Schedule, checked>::train_model(
    const Corpus& corpus, Model& model, const std::filesystem::path* from) {
  validate_policies();
  training_.train(corpus, model.vocabulary, from,
                  [&](const SamplerRun&) -> Model& { return model; });
  return training_.report;
}

}}  // namespace wordloom::WORDLOOM_ABI
