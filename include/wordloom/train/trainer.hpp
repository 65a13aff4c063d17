#pragma once
#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/model/embeddings.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/concept.hpp>
#include <wordloom/schedule/linear_decay.hpp>
#include <wordloom/sync/concept.hpp>
#include <wordloom/train/progress.hpp>
#include <wordloom/train/training.hpp>

namespace wordloom::inline WORDLOOM_ABI {

/// Trains embeddings: each thread takes its shard of the corpus, subsamples each sentence, lets the
/// SamplerPolicy make blocks of it and the KernelPolicy apply their gradients to the one model,
/// without locks (Hogwild). One thread and one seed give bit-identical results on one build and
/// machine; more threads do not. A trainer may be used again; not by two threads at a time.
template <class SamplerPolicy, class KernelPolicy, class SyncPolicyType = NoSync,
          class Schedule = LinearDecay>
class Trainer {
  using Training = detail::Training<SamplerPolicy, KernelPolicy, SyncPolicyType, Schedule>;
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

  /// Takes the policies' parameters from `parameters`. Throws InvalidArgument if one is out of
  /// bounds.
  explicit Trainer(Hyperparameters parameters, SyncPolicyType sync = SyncPolicyType())
      : Trainer(parameters, detail::policy_from<SamplerPolicy>(parameters),
                detail::policy_from<KernelPolicy>(parameters), std::move(sync)) {}

  /// Takes policies with parameters of their own, instead of those in `parameters`.
  Trainer(Hyperparameters parameters, SamplerPolicy sampler, KernelPolicy kernel = {},
          SyncPolicyType sync = SyncPolicyType(), std::optional<Schedule> schedule = std::nullopt)
      : training_{{{parameters},
                   schedule ? *schedule : detail::policy_from<Schedule>(parameters, sync.size()),
                   std::move(sync)},
                  std::move(sampler),
                  std::move(kernel)} {
    parameters.validate();
    detail::validate(training_.sampler);
    detail::validate(training_.kernel);
    detail::validate(training_.schedule);
  }

  const Hyperparameters& hyperparameters() const noexcept { return training_.options.parameters; }
  const SamplerPolicy& sampler() const noexcept { return training_.sampler; }
  const KernelPolicy& kernel() const noexcept { return training_.kernel; }
  const SyncPolicyType& sync() const noexcept { return training_.sync; }

  /// Calls `callback(progress)` or `callback(progress, model)` at most once in every `interval` of
  /// training (0: whenever a thread reports) and at its end. The callback may return nothing; if it
  /// returns false, training stops and `fit` returns the model as it is; several ranks stop
  /// together, at their next synchronisation. It is called by one training thread at a time; while
  /// a callback that takes the model runs, no other thread trains. It may throw: training then
  /// stops and `fit` throws the exception.
  template <class F>
  void on_progress(F callback, Duration interval = std::chrono::seconds(1)) {
    training_.options.on_progress = detail::Callback::from(std::move(callback));
    training_.options.progress_interval = interval;
  }

  /// Calls `callback` after each epoch while all threads wait. `progress.epoch` is the epoch that
  /// has just ended, and `progress.mean_loss` is its loss. The model has the training of this rank
  /// only.
  template <class F>
  void on_epoch(F callback) {
    training_.options.on_epoch = detail::Callback::from(std::move(callback));
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
  /// 1000 in a vector), and the exceptions of a policy or callback. With several ranks, the others
  /// throw SyncError that names the one that failed.
  template <class Corpus>
  TrainedEmbeddings fit(const Corpus& corpus, const Vocabulary& vocabulary) {
    return fit_new(corpus, vocabulary, nullptr);
  }

  /// Continues to train a model in place: a model of another run, or a loaded one. Its rows may
  /// move, which invalidates pointers to them. Throws as above, and InvalidArgument unless the
  /// model's shape is that of new_model(its vocabulary).
  template <class Corpus>
  TrainReport fit(const Corpus& corpus, Model& model) {
    return train_model(corpus, model, nullptr);
  }

  /// Resumes a run from its checkpoint and trains to its end. With one thread, one sentence in
  /// flight on a GPU, or any number of threads that train columns, the vectors are those of a run
  /// that was not interrupted, bit for bit. With several ranks, only rank 0 reads the file. Throws
  /// as `fit`, IoError and FormatError if the checkpoint cannot be read, and InvalidArgument if it
  /// belongs to another corpus (by its fingerprint(), if it has one), vocabulary, set of
  /// hyperparameters or number of ranks or, unless they train columns, threads. Policies are
  /// compared by the names of their types without namespaces.
  template <class Corpus>
  TrainedEmbeddings resume(const Corpus& corpus, const Vocabulary& vocabulary,
                           const std::filesystem::path& path) {
    return fit_new(corpus, vocabulary, &path);
  }
  /// Resumes into `model`, which must have the shape of new_model(). Its matrices are overwritten.
  template <class Corpus>
  TrainReport resume(const Corpus& corpus, Model& model, const std::filesystem::path& path) {
    return train_model(corpus, model, &path);
  }

  /// Returns the report of the last `fit` or `resume`, on the part that this rank trained.
  const TrainReport& report() const noexcept { return training_.report; }

 private:
  template <class Corpus>
  TrainedEmbeddings fit_new(const Corpus& corpus, const Vocabulary& vocabulary,
                            const std::filesystem::path* from) {
    std::optional<Model> model;
    training_.train(corpus, vocabulary, from, [&](const SamplerRun& samplers) -> Model& {
      return model.emplace(training_.new_model(vocabulary, samplers));
    });
    return detail::embeddings_of<SamplerRun>(std::move(*model));
  }

  template <class Corpus>
  TrainReport train_model(const Corpus& corpus, Model& model, const std::filesystem::path* from) {
    training_.train(corpus, model.vocabulary, from,
                    [&](const SamplerRun&) -> Model& { return model; });
    return training_.report;
  }

  Training training_;
};

}  // namespace wordloom::inline WORDLOOM_ABI
