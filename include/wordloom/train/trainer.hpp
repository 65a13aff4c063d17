#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/hash.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/subsampling.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/model/embeddings.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/concept.hpp>
#include <wordloom/schedule/concept.hpp>
#include <wordloom/schedule/linear_decay.hpp>
#include <wordloom/sync/concept.hpp>
#include <wordloom/sync/no_sync.hpp>
#include <wordloom/train/batch_run.hpp>
#include <wordloom/train/checkpointer.hpp>
#include <wordloom/train/progress.hpp>
#include <wordloom/train/rank_checkpoints.hpp>
#include <wordloom/train/rank_run.hpp>
#include <wordloom/train/run_state.hpp>
#include <wordloom/train/update_sink.hpp>

namespace wordloom {

/// Trains embeddings: each thread takes its shard of the corpus, subsamples each sentence, lets the
/// Sampler make blocks of it and the UpdateKernel apply their gradients to the one model, without
/// locks (Hogwild). One thread and one seed give bit-identical results on one build and machine;
/// more threads do not. A trainer may be used again; not by two threads at a time.
template <class Sampler, class UpdateKernel, class SyncPolicy = NoSync,
          class Schedule = LinearDecay>
class Trainer {
  static_assert(detail::require_sampler<Sampler>() && detail::require_kernel<UpdateKernel>() &&
                detail::require_sync<SyncPolicy, UpdateKernel>() &&
                detail::require_schedule<Schedule>() &&
                detail::require_match<Sampler, UpdateKernel>());
  template <class Place>
  using RankRun = detail::RankRun<SyncPolicy, Place>;
  static constexpr bool pauses =
      detail::Pauses<SyncPolicy, typename detail::ReplicaOf<UpdateKernel>::type>;

 public:
  /// Throws InvalidArgument when a hyperparameter is outside its bounds.
  explicit Trainer(Hyperparameters parameters, SyncPolicy sync = {})
      : parameters_(parameters), sync_(std::move(sync)) {
    parameters_.validate();
  }

  const Hyperparameters& hyperparameters() const noexcept { return parameters_; }

  /// `callback` is called at most every `seconds` during training (0: as often as threads report)
  /// and once at its end; when it returns false, training stops and `fit` returns what there is; of
  /// several ranks all stop, at their next synchronisation.
  void on_progress(ProgressCallback callback, double seconds = 1.0) {
    callback_ = std::move(callback);
    callback_seconds_ = seconds;
  }

  /// Writes a checkpoint to `path` in the background every `seconds` of training; the file is
  /// replaced whole. A failed write is thrown by `fit`. Takes memory for a second model while it
  /// writes. One is also written when a progress callback stops training. Of several ranks, rank 0
  /// writes for all, after they have made all rows agree. A kernel on a GPU is between two batches
  /// then.
  void checkpoint_to(std::filesystem::path path, double seconds = 600) {
    require_checkpoints();
    checkpoint_ = std::move(path);
    checkpoint_seconds_ = seconds;
  }

  /// Goes on with a run from its checkpoint to its end. One thread, or one sentence in flight on a
  /// GPU: the vectors are those of a run that was not interrupted, bit for bit. Of several ranks,
  /// only rank 0 reads the file. Throws as `fit`, IoError and FormatError when the checkpoint
  /// cannot be read, and InvalidArgument when it is of another corpus, vocabulary, set of
  /// hyperparameters or number of ranks or threads.
  template <class Corpus>
  Embeddings resume(const Corpus& corpus, const Vocabulary& vocabulary,
                    const std::filesystem::path& path) {
    require_checkpoints();
    Model model(vocabulary, parameters_.dimension, parameters_.seed);
    fit(corpus, model, &path);
    return Embeddings(vocabulary.words(), std::move(model.input));
  }

  /// Trains a new model: the vectors are its input rows [V x D]. Throws CorpusError when the corpus
  /// is empty or was encoded with another vocabulary, TrainingError when the loss is no longer
  /// finite, and whatever a policy or the callback throws.
  template <class Corpus>
  Embeddings fit(const Corpus& corpus, const Vocabulary& vocabulary) {
    Model model(vocabulary, parameters_.dimension, parameters_.seed);
    fit(corpus, model);
    return Embeddings(vocabulary.words(), std::move(model.input));
  }

  /// Goes on with a model that exists, in place. Throws as above, and InvalidArgument when the
  /// model's shape is not that of its vocabulary and the hyperparameters.
  template <class Corpus>
  TrainReport fit(const Corpus& corpus, Model& model) {
    return fit(corpus, model, nullptr);
  }

  /// Of the last `fit`; of what this rank trained.
  const TrainReport& report() const noexcept { return report_; }
  const SyncPolicy& sync() const noexcept { return sync_; }

 private:
  template <class Corpus>
  TrainReport fit(const Corpus& corpus, Model& model, const std::filesystem::path* from) {
    static_assert(detail::require_corpus<Corpus>());
    // Outlives a failure: memory of a device is free only after what other ranks are told of.
    [[maybe_unused]] std::unique_ptr<UpdateKernel> device_kernel;
    try {
      check(corpus, model);
      if constexpr (detail::Coordinates<SyncPolicy>) {
        sync_.agree("corpus (words)", corpus.token_count());
        sync_.agree("vocabulary (fingerprint)", model.vocabulary.fingerprint());
        sync_.agree("method or set of hyperparameters (fingerprint)", fingerprint());
        const bool saves = !checkpoint_.empty(), resumes = from != nullptr;
        sync_.agree("use of checkpoints", (saves ? 1u : 0u) + (resumes ? 2u : 0u));
        if (saves || resumes) sync_.agree("number of threads", threads());
        sync_.begin(
            model, tokens_per_epoch(corpus), parameters_,
            [schedule = make_schedule()](double progress) { return schedule.rate(progress); },
            least_interval());
      }
      Checkpoint start = beginning(corpus, model);
      if (sync_.rank() == 0 && from != nullptr)
        start = detail::load_checkpoint(*from, start, model);
      if constexpr (detail::TakesBatches<UpdateKernel>) {
        device_kernel.reset(
            new UpdateKernel(UpdateKernel::template make<Sampler>(parameters_, model)));
        auto replica = device_kernel->replica();
        begin_ranks(replica, start, from != nullptr);
        report_ = train_batches(corpus, model, *device_kernel, start);
        sync_.finish(replica);
        device_kernel->finish(model);
      } else {
        begin_ranks(model, start, from != nullptr);
        report_ = train_blocks(corpus, model, start);
        sync_.finish(model);
      }
    } catch (const std::exception& error) {
      if constexpr (detail::Coordinates<SyncPolicy>) sync_.fail(error.what());
      throw;
    }
    return report_;
  }

  template <class Replica>
  void begin_ranks(Replica& replica, Checkpoint& start, bool resumes) {
    sync_.broadcast(replica);
    if constexpr (pauses) {
      if (!resumes) return;
      detail::tell_ranks(sync_, start);
      sync_.go_on_after(start.synchronisations);
    }
  }

  /// Where a run begins, without its matrices.
  template <class Corpus>
  Checkpoint beginning(const Corpus& corpus, const Model& model) const {
    Checkpoint start;
    start.method = fingerprint();
    start.vocabulary = model.vocabulary.fingerprint();
    start.corpus_tokens = corpus.token_count();
    if constexpr (pauses) start.sync_options = sync_.fingerprint();
    const std::size_t threads = this->threads();
    for (std::size_t stream = 0; stream < sync_.size() * threads; ++stream) {
      if (stream % threads == 0) start.ranks.emplace_back().losses.resize(parameters_.epochs);
      const Random random(parameters_.seed, stream, 0);
      start.ranks.back().threads.push_back(
          {.random_state = random.state(), .random_gamma = random.gamma()});
    }
    return start;
  }

  template <class Corpus>
  TrainReport train_blocks(const Corpus& corpus, Model& model, const Checkpoint& start) {
    const Checkpoint::Rank& from = start.ranks[sync_.rank()];
    detail::RunState state(tokens_per_epoch(corpus), parameters_.epochs, callback_,
                           callback_seconds_);
    state.resume(from);
    const std::size_t threads = from.threads.size();
    auto checkpointer = make_checkpointer(start);
    detail::HostPlace place(model);
    RankRun<detail::HostPlace> rank_run(sync_, state, checkpointer.get(), place);
    const double progress = state.fraction();
    rank_run.go_on(state.fraction(from.threads[0].tokens * threads));
    const Sampler sampler(parameters_, model.vocabulary);
    const Subsampling subsampling(model.vocabulary, parameters_.subsample);
    run_threads(threads, [&](std::size_t thread) {
      try {
        train(corpus, model, sampler, subsampling, state, progress, thread, from.threads,
              checkpointer.get(), rank_run);
      } catch (...) {
        state.stop();
        throw;
      }
    });
    rank_run.end();
    return state.finish();
  }

  /// Training by a kernel that takes the corpus itself, not blocks of it.
  template <class Corpus>
  TrainReport train_batches(const Corpus& corpus, Model& model, UpdateKernel& kernel,
                            const Checkpoint& start) {
    const std::uint64_t tokens = tokens_per_epoch(corpus);
    const Checkpoint::Rank& from = start.ranks[sync_.rank()];
    detail::RunState state(tokens, parameters_.epochs, callback_, callback_seconds_);
    state.resume(from);
    auto checkpointer = make_checkpointer(start);
    std::size_t batch_words = kernel.batch_words();
    if constexpr (detail::Coordinates<SyncPolicy>)
      batch_words = std::clamp<std::size_t>(sync_.least_interval(), 1, batch_words);
    // Long sentences are cut, by the size of the corpus alone, so that many can be trained at once.
    const std::size_t longest = std::clamp<std::uint64_t>(tokens / 65'536, 100, 1000);
    detail::BatchRun batches(kernel, model, state, checkpointer.get(), batch_words, longest, from,
                             sync_.rank());
    RankRun<detail::BatchRun<UpdateKernel>> rank_run(sync_, state, checkpointer.get(), batches);
    const Schedule schedule = make_schedule();
    const double total = static_cast<double>(tokens) * static_cast<double>(parameters_.epochs);
    const auto progress = [&](std::uint64_t words) {
      return std::min(1.0, static_cast<double>(words) / total);
    };
    rank_run.go_on(progress(batches.begun()));
    const auto shard = corpus.shard(sync_.rank(), sync_.size());
    for (std::size_t epoch = batches.first_epoch(); epoch < parameters_.epochs && !state.stopped();
         ++epoch)
      batches.train(
          shard, epoch, [&](std::uint64_t words) { return schedule.rate(progress(words)); },
          [&] { rank_run.tick(progress(batches.begun())); });
    rank_run.end();
    return state.finish();
  }

  /// Of policies and hyperparameters.
  std::uint64_t fingerprint() const {
    return detail::fnv(__PRETTY_FUNCTION__, parameters_.fingerprint());
  }

  void require_checkpoints() const {
    if (!pauses && sync_.size() > 1) throw InvalidArgument("this SyncPolicy has no checkpoints");
  }

  std::unique_ptr<detail::Checkpointer> make_checkpointer(const Checkpoint& start) const {
    if (checkpoint_.empty()) return nullptr;
    return std::make_unique<detail::Checkpointer>(checkpoint_, checkpoint_seconds_, start,
                                                  sync_.rank());
  }

  /// Of the host that train.
  std::size_t threads() const {
    return detail::TakesBatches<UpdateKernel> ? 1 : resolve_threads(parameters_.threads);
  }
  static std::uint64_t least_interval() {
    if constexpr (detail::TakesBatches<UpdateKernel>)
      return UpdateKernel::least_words;
    else
      return 0;
  }

  Schedule make_schedule() const {
    if constexpr (std::is_constructible_v<Schedule, const Hyperparameters&, std::size_t>)
      return Schedule(parameters_, sync_.size());
    else
      return Schedule(parameters_);
  }

  template <class Corpus>
  std::uint64_t tokens_per_epoch(const Corpus& corpus) const {
    return corpus.token_count() / sync_.size();
  }

  /// Tokens between two looks at the learning rate and the clock: seldom enough to cost nothing,
  /// often enough that a small corpus sees the rate fall.
  static std::uint64_t report_interval(std::uint64_t tokens_of_thread) {
    return std::clamp<std::uint64_t>(tokens_of_thread / 1000, 100, 10'000);
  }

  std::size_t stream_of(std::size_t thread) const { return sync_.rank() * threads() + thread; }

  template <class Corpus>
  void train(const Corpus& corpus, Model& model, Sampler sampler, const Subsampling& subsampling,
             detail::RunState& state, double begin, std::size_t thread,
             const std::vector<Checkpoint::Thread>& positions, detail::Checkpointer* checkpointer,
             RankRun<detail::HostPlace>& rank_run) {
    const std::size_t threads = positions.size(), stream = stream_of(thread);
    const auto shard = corpus.shard(stream, sync_.size() * threads);
    const std::uint64_t interval =
        report_interval(tokens_per_epoch(corpus) * parameters_.epochs / threads);
    const BlockShape most = sampler.max_block();
    UpdateKernel kernel(parameters_, most);
    const Schedule schedule = make_schedule();
    // Synchronisations may be due more often than anything is reported.
    std::uint64_t tick_interval = interval;
    if constexpr (detail::Coordinates<SyncPolicy>)
      tick_interval = std::max<std::uint64_t>(1, sync_.least_interval() / threads);
    std::vector<WordId> kept;
    const Checkpoint::Thread start = positions[thread];
    std::uint64_t ticked = start.tokens;  // not reported
    double rate = schedule.rate(begin);
    detail::UpdateSink<UpdateKernel> sink{model, kernel,
                                          most,  static_cast<float>(rate),
                                          true,  {start.tokens, start.pairs, LossSum(start.loss)}};

    for (std::size_t epoch = start.epoch; epoch < parameters_.epochs; ++epoch) {
      Random random(parameters_.seed, stream, epoch);
      std::uint64_t sentences = 0, skipped = 0;
      if (epoch == start.epoch) {
        random = Random::from_state(start.random_state, start.random_gamma);
        skipped = start.sentences;
      }
      const auto stand = [&] {
        if (checkpointer == nullptr) return;
        const detail::WorkDone& done = sink.done;
        checkpointer->stands(thread, {epoch, sentences, random.state(), random.gamma(), done.tokens,
                                      done.pairs, done.loss.value()});
      };
      const auto report = [&] {
        const double progress = state.report(std::exchange(sink.done, {}), epoch, rate);
        rate = schedule.rate(progress);
        sink.learning_rate = static_cast<float>(rate);
        stand();
        ticked = 0;
        if (thread == 0) rank_run.tick(progress);
      };
      const auto tick = [&] {
        stand();
        ticked = sink.done.tokens;
        rank_run.tick(state.fraction(sink.done.tokens * threads));
      };
      for (const std::span<const WordId> sentence : shard) {
        if (sentences < skipped) {
          ++sentences;
          continue;
        }
        if (state.stopped()) return stand();
        sink.with_loss = sink.done.tokens <= interval / 16;  // it costs a tenth of a block's time
        sampler.sample(subsampling(sentence, random, kept), random, sink);
        sink.finish();
        sink.done.tokens += sentence.size();
        ++sentences;
        if (sink.done.tokens >= interval)
          report();
        else if (thread == 0 && sink.done.tokens - ticked >= tick_interval)
          tick();
      }
      report();
    }
  }

  template <class Corpus>
  void check(const Corpus& corpus, const Model& model) const {
    if (corpus.token_count() == 0)
      throw CorpusError("the corpus has no word of the vocabulary: nothing to train on");
    if constexpr (requires { corpus.vocabulary_fingerprint(); })
      if (corpus.vocabulary_fingerprint() != model.vocabulary.fingerprint())
        throw CorpusError("the corpus was encoded with another vocabulary than the model's");
    if (model.rows() != model.vocabulary.size() || model.dimension() != parameters_.dimension)
      throw InvalidArgument(
          "the model is " + std::to_string(model.rows()) + " x " +
          std::to_string(model.dimension()) + ", its vocabulary and the hyperparameters ask for " +
          std::to_string(model.vocabulary.size()) + " x " + std::to_string(parameters_.dimension));
  }

  Hyperparameters parameters_;
  SyncPolicy sync_;
  ProgressCallback callback_;
  double callback_seconds_ = 1.0;
  std::filesystem::path checkpoint_;  // empty: none
  double checkpoint_seconds_ = 600;
  TrainReport report_;
};

}  // namespace wordloom
