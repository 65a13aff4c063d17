#pragma once
#include <exception>
#include <filesystem>
#include <optional>
#include <utility>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/parameters.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/model/embeddings.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/concept.hpp>
#include <wordloom/schedule/concept.hpp>
#include <wordloom/schedule/linear_decay.hpp>
#include <wordloom/sync/concept.hpp>
#include <wordloom/sync/no_sync.hpp>
#include <wordloom/train/progress.hpp>
#include <wordloom/train/training.hpp>

namespace wordloom {

/// Trains embeddings: each thread takes its shard of the corpus, subsamples each sentence, lets the
/// SamplerPolicy make blocks of it and the KernelPolicy apply their gradients to the one model,
/// without locks (Hogwild). One thread and one seed give bit-identical results on one build and
/// machine; more threads do not. A trainer may be used again; not by two threads at a time.
template <class SamplerPolicy, class KernelPolicy, class SyncPolicyType = NoSync,
          class Schedule = LinearDecay>
class Trainer {
  static constexpr bool on_device = detail::OnDevice<KernelPolicy>;
  static_assert(
      detail::require_sampler<SamplerPolicy>() && detail::require_kernel<KernelPolicy>() &&
      detail::require_sync<SyncPolicyType, detail::ReplicaOf<KernelPolicy>, on_device>() &&
      detail::require_schedule<Schedule>() && detail::require_match<SamplerPolicy, KernelPolicy>());

 public:
  /// Takes the policies' parameters from `parameters`. Throws InvalidArgument when one is outside
  /// its bounds.
  explicit Trainer(Hyperparameters parameters, SyncPolicyType sync = SyncPolicyType())
      : Trainer(parameters, detail::policy_from<SamplerPolicy>(parameters),
                detail::policy_from<KernelPolicy>(parameters), std::move(sync)) {}

  /// Takes policies with parameters of their own, instead of those in `parameters`.
  Trainer(Hyperparameters parameters, SamplerPolicy sampler, KernelPolicy kernel = {},
          SyncPolicyType sync = SyncPolicyType(), std::optional<Schedule> schedule = std::nullopt)
      : settings_{parameters, std::move(sampler), std::move(kernel),
                  schedule ? *schedule : detail::policy_from<Schedule>(parameters, sync.size()),
                  std::move(sync)} {
    settings_.parameters.validate();
    detail::validate(settings_.sampler);
    detail::validate(settings_.kernel);
    detail::validate(settings_.schedule);
  }

  const Hyperparameters& hyperparameters() const noexcept { return settings_.parameters; }
  const SamplerPolicy& sampler() const noexcept { return settings_.sampler; }
  const KernelPolicy& kernel() const noexcept { return settings_.kernel; }
  const SyncPolicyType& sync() const noexcept { return settings_.sync; }

  /// `callback` is called at most every `seconds` during training (0: as often as threads report)
  /// and once at its end; when it returns false, training stops and `fit` returns the model as it
  /// is; of several ranks all stop, at their next synchronisation.
  void on_progress(ProgressCallback callback, double seconds = 1.0) {
    settings_.callback = std::move(callback);
    settings_.callback_seconds = seconds;
  }

  /// Writes a checkpoint to `path` in the background every `seconds` of training; the file is
  /// replaced whole. A failed write is thrown by `fit`. Takes memory for a second model while it
  /// writes. One is also written when a progress callback stops training. Of several ranks, rank 0
  /// writes for all, after they have made all rows agree. A kernel on a GPU is between two batches
  /// then.
  void checkpoint_to(std::filesystem::path path, double seconds = 600) {
    settings_.checkpoint = std::move(path);
    settings_.checkpoint_seconds = seconds;
  }

  /// A new model in the shape that this trainer trains.
  Model new_model(const Vocabulary& vocabulary) const {
    return new_model(vocabulary, settings_.sampler.start(vocabulary));
  }

  /// Trains a new model: the vectors are its input rows [V x D]. Throws CorpusError when the corpus
  /// is empty or was encoded with another vocabulary, TrainingError when the loss is no longer
  /// finite, and whatever a policy or the callback throws.
  template <class Corpus>
  Embeddings fit(const Corpus& corpus, const Vocabulary& vocabulary) {
    return fit_new(corpus, vocabulary, nullptr);
  }

  /// Continues to train a model in place: one of another run, or one that was loaded. Throws as
  /// above, and InvalidArgument when the model's shape is not that of new_model(its vocabulary).
  template <class Corpus>
  TrainReport fit(const Corpus& corpus, Model& model) {
    return train(corpus, model, start_sampler(model.vocabulary), nullptr);
  }

  /// Resumes a run from its checkpoint and trains to its end. One thread, or one sentence in flight
  /// on a GPU: the vectors are those of a run that was not interrupted, bit for bit. Of several
  /// ranks, only rank 0 reads the file. Throws as `fit`, IoError and FormatError when the
  /// checkpoint cannot be read, and InvalidArgument when it is of another corpus, vocabulary, set
  /// of hyperparameters or number of ranks or threads.
  template <class Corpus>
  Embeddings resume(const Corpus& corpus, const Vocabulary& vocabulary,
                    const std::filesystem::path& path) {
    return fit_new(corpus, vocabulary, &path);
  }
  /// The same into a model in the shape of new_model(), whose matrices are replaced.
  template <class Corpus>
  TrainReport resume(const Corpus& corpus, Model& model, const std::filesystem::path& path) {
    return train(corpus, model, start_sampler(model.vocabulary), &path);
  }

  /// Of the last `fit`; of what this rank trained.
  const TrainReport& report() const noexcept { return report_; }

 private:
  using SamplerRun = detail::RunOf<SamplerPolicy>;

  Model new_model(const Vocabulary& vocabulary, const SamplerRun& samplers) const {
    return Model(vocabulary,
                 {.dimension = settings_.parameters.dimension,
                  .output_rows = detail::output_rows(samplers, vocabulary)},
                 settings_.parameters.seed);
  }

  /// Tells other ranks when the sampler refuses to start.
  SamplerRun start_sampler(const Vocabulary& vocabulary) {
    try {
      return settings_.sampler.start(vocabulary);
    } catch (const std::exception& error) {
      settings_.sync.fail(error.what());
      throw;
    }
  }

  template <class Corpus>
  Embeddings fit_new(const Corpus& corpus, const Vocabulary& vocabulary,
                     const std::filesystem::path* from) {
    const SamplerRun samplers = start_sampler(vocabulary);
    Model model = new_model(vocabulary, samplers);
    train(corpus, model, samplers, from);
    return std::move(model).embeddings();
  }

  template <class Corpus>
  TrainReport train(const Corpus& corpus, Model& model, const SamplerRun& samplers,
                    const std::filesystem::path* from) {
    static_assert(detail::require_corpus<Corpus>());
    detail::Training<SamplerPolicy, KernelPolicy, SyncPolicyType, Schedule> training(
        settings_, samplers, from);
    return report_ = training.train(corpus, model);
  }

  detail::TrainerSettings<SamplerPolicy, KernelPolicy, SyncPolicyType, Schedule> settings_;
  TrainReport report_;
};

}  // namespace wordloom
