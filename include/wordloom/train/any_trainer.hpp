#pragma once
#include <chrono>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/subwords.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/corpus/word_context_matrix.hpp>
#include <wordloom/model/embeddings.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/concept.hpp>
#include <wordloom/sync/any_sync.hpp>
#include <wordloom/train/callbacks.hpp>
#include <wordloom/train/detail/callback.hpp>
#include <wordloom/train/detail/settable_parameters.hpp>
#include <wordloom/train/detail/shared_progress.hpp>
#include <wordloom/train/progress.hpp>
#include <wordloom/train/trainer.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// A trainer behind AnyTrainer.
class ErasedTrainer {
 public:
  ErasedTrainer() = default;
  ErasedTrainer(const ErasedTrainer&) = delete;
  ErasedTrainer& operator=(const ErasedTrainer&) = delete;
  virtual ~ErasedTrainer() = default;

  virtual TrainerSettings& options() noexcept = 0;
  virtual const TrainReport& report() const noexcept = 0;
  virtual SettableParameters sampler_parameters() = 0;
  virtual Model new_model(const Vocabulary& vocabulary) const = 0;
  virtual Embeddings embeddings(Model&& model) const = 0;
  /// Trains the model that `model_for()` returns, which has this vocabulary. `from`: the checkpoint
  /// that the run resumes, or null.
  virtual void train(const AnyCorpus& corpus, const Vocabulary& vocabulary,
                     const std::filesystem::path* from,
                     const std::function<Model&()>& model_for) = 0;
};

template <class Sampler, class Kernel, class Sync, class Schedule,
          bool checked = checks_blocks<Sampler>>
class ErasedTrainerOf final : public ErasedTrainer {
 public:
  /// `contexts`: of the matrix of samplers that train columns; `arguments`: the trainer's.
  template <class... Arguments>
  explicit ErasedTrainerOf(WordContextMatrix::Options contexts, Arguments&&... arguments)
      : contexts_(std::move(contexts)), trainer_(std::forward<Arguments>(arguments)...) {}

  TrainerSettings& options() noexcept override { return trainer_.training_.options; }
  const TrainReport& report() const noexcept override { return trainer_.report(); }
  SettableParameters sampler_parameters() override {
    return settable_parameters(trainer_.sampler());
  }
  Model new_model(const Vocabulary& vocabulary) const override {
    return trainer_.new_model(vocabulary);
  }
  Embeddings embeddings(Model&& model) const override {
    return embeddings_of<RunOf<Sampler>>(std::move(model)).in_vocabulary();
  }
  void train(const AnyCorpus& corpus, const Vocabulary& vocabulary,
             const std::filesystem::path* from, const std::function<Model&()>& model_for) override {
    trainer_.validate_policies();
    trainer_.training_.train(trained(corpus, vocabulary), vocabulary, from,
                             [&](const RunOf<Sampler>&) -> Model& { return model_for(); });
  }

 private:
  /// Returns what the sampler trains: the corpus, or the matrix of it.
  auto trained(const AnyCorpus& corpus, [[maybe_unused]] const Vocabulary& vocabulary) {
    if constexpr (has_two_steps<Sampler>) {
      try {
        return WordContextMatrix::from(corpus, vocabulary, contexts_);
      } catch (const std::exception& error) {
        trainer_.training_.sync.fail(error.what());  // other ranks wait for this one
        throw;
      }
    } else {
      return corpus;
    }
  }

  WordContextMatrix::Options contexts_;
  Trainer<Sampler, Kernel, Sync, Schedule, checked> trainer_;
};

}  // namespace detail

/// A Trainer whose policies are chosen at run time: make_trainer (any_trainer.hpp) makes one by the
/// names of its policies. Trains the vectors of that Trainer, bit for bit, at its speed: only each
/// sentence and each tick of a SyncPolicy take an indirect call. Not copyable; not for two threads
/// at a time.
///
/// A corpus needs a vocabulary_fingerprint() and is copied; those of the library share their text.
/// For samplers that train columns, each call makes the WordContextMatrix of the corpus.
class AnyTrainer {
 public:
  /// The choices of make_trainer besides sampler and kernel.
  struct Options {
    /// A name of Optimizers (registry.hpp). Besides `sgd`, `row-adagrad` goes with the kernel
    /// fused, and the others with dot and samplers without bags; all go with samplers that train
    /// columns.
    std::string optimizer = "sgd";
    /// linear, epoch, constant, cosine or steep: see AnySchedule.
    std::string schedule = "linear";
    /// Input words have subwords if `maxn` is above 0.
    SubwordOptions subwords = {.maxn = 0};
    /// True if a character CNN computes the input vectors; with the kernel fused. It takes its
    /// parameters, such as `filters`, by sampler_parameter.
    bool char_cnn = false;
    /// Columns of the word-context matrix of samplers that train columns, and the file that keeps
    /// it: see WordContextMatrix::Options.
    std::size_t context_size = 1024;
    std::filesystem::path contexts = {};
    /// Synchronises with other ranks: `.sync = Allreduce<MpiRanks>(ranks)`, RowAllgather to train
    /// columns or strata.
    AnySync<> sync = {};
  };

  /// Takes any trainer. `contexts`: for samplers that train columns.
  template <class Sampler, class Kernel, class Sync, class Schedule, bool checked>
  explicit AnyTrainer(Trainer<Sampler, Kernel, Sync, Schedule, checked> trainer,
                      WordContextMatrix::Options contexts = {})
      : AnyTrainer(
            std::make_unique<detail::ErasedTrainerOf<Sampler, Kernel, Sync, Schedule, checked>>(
                std::move(contexts), std::move(trainer))) {}
  /// Takes a trainer that make_trainer has made.
  explicit AnyTrainer(std::unique_ptr<detail::ErasedTrainer> trainer)
      : trainer_(std::move(trainer)) {}

  const Hyperparameters& hyperparameters() const noexcept { return options().parameters; }

  /// Sets a parameter of the sampler until training begins: a number that its visit_parameters
  /// lists, `gradient` (mean, root, whole) of CBOW, or `end_to_end` (true, false) of Encoded.
  /// Throws InvalidArgument for another name, with those that there are, and for a value that is
  /// malformed or out of bounds.
  void sampler_parameter(std::string_view name, std::string_view value) {
    detail::set_parameter(trainer_->sampler_parameters(), name, value);
  }

  /// Adds a callback, as Trainer::add does.
  template <class Callback>
  void add(Callback callback) {
    detail::add_callback(options().callbacks, std::move(callback));
  }
  template <class Callback>
  void add(OnCallingThread<Callback> callback) {
    detail::add_callback(options().callbacks, std::move(callback.callback), true);
  }
  void add(const Checkpoint& checkpoint) {
    options().add_checkpoint(checkpoint.path, checkpoint.interval);
  }
  /// Adds a function, as Trainer::on_progress does.
  template <class F>
  void on_progress(F callback, std::chrono::duration<double> interval = std::chrono::seconds(1)) {
    detail::add_function(options().callbacks, std::move(callback), {.interval = interval.count()});
  }
  /// Adds a function, as Trainer::on_epoch does.
  template <class F>
  void on_epoch(F callback) {
    detail::add_function(options().callbacks, std::move(callback), {.each_epoch = true});
  }
  /// Writes checkpoints, as Trainer::checkpoint_to does.
  void checkpoint_to(const std::filesystem::path& path,
                     std::chrono::duration<double> interval = std::chrono::minutes(10)) {
    options().checkpoint = path;
    options().checkpoint_interval = interval;
  }
  /// Removes all callbacks.
  void clear_callbacks() { options().callbacks = {}; }

  /// Returns a new model in the shape that this trainer trains.
  Model new_model(const Vocabulary& vocabulary) const { return trainer_->new_model(vocabulary); }

  /// Trains a new model and returns the vectors of its vocabulary [V x D]. Throws as Trainer::fit.
  /// To get vectors of other words from subwords or a character CNN, train a model and make
  /// SubwordEmbeddings or CharCnnEmbeddings of it.
  template <Corpus C>
  Embeddings fit(const C& corpus, const Vocabulary& vocabulary) {
    return fit_new(AnyCorpus(corpus), vocabulary, nullptr);
  }
  /// Continues to train a model in place. Throws as Trainer::train.
  template <Corpus C>
  TrainReport train(const C& corpus, Model& model) {
    return train_model(AnyCorpus(corpus), model, nullptr);
  }
  /// Resumes a run of `fit` from its checkpoint. Throws as Trainer::resume.
  template <Corpus C>
  Embeddings resume(const C& corpus, const Vocabulary& vocabulary,
                    const std::filesystem::path& path) {
    return fit_new(AnyCorpus(corpus), vocabulary, &path);
  }
  /// Resumes into `model`, as Trainer::resume_training does.
  template <Corpus C>
  TrainReport resume_training(const C& corpus, Model& model, const std::filesystem::path& path) {
    return train_model(AnyCorpus(corpus), model, &path);
  }

  /// Returns the report of the last run, on the part that this rank trained.
  const TrainReport& report() const noexcept { return trainer_->report(); }

 private:
  detail::TrainerSettings& options() const noexcept { return trainer_->options(); }
  Embeddings fit_new(const AnyCorpus& corpus, const Vocabulary& vocabulary,
                     const std::filesystem::path* from) {
    std::optional<Model> model;
    trainer_->train(corpus, vocabulary, from,
                    [&]() -> Model& { return model.emplace(new_model(vocabulary)); });
    return trainer_->embeddings(std::move(*model));
  }
  TrainReport train_model(const AnyCorpus& corpus, Model& model,
                          const std::filesystem::path* from) {
    trainer_->train(corpus, model.vocabulary, from, [&]() -> Model& { return model; });
    return report();
  }

  std::unique_ptr<detail::ErasedTrainer> trainer_;
};

namespace detail {

/// The arguments of make_trainer, besides the kernel.
struct Method {
  std::string_view sampler;
  const Hyperparameters& parameters;
  const AnyTrainer::Options& options;
};

/// Returns a trainer of this kernel and the sampler of `Choices`, a Registry, that the method
/// names. Defined in train/detail/composition.hpp, and for each pair of kernel and registry
/// compiled in one file of wordloom::any_trainer.
template <class Choices, class Kernel>
AnyTrainer trainer_from(const Method& method, const Kernel& kernel);

}  // namespace detail

}}  // namespace wordloom::WORDLOOM_ABI
