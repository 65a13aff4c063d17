#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <wordloom/concepts.hpp>
#include <wordloom/core/embeddings.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/model.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/progress.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/run_state.hpp>
#include <wordloom/core/sentence_batch.hpp>
#include <wordloom/corpus/subsampling.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/io/checkpointer.hpp>
#include <wordloom/io/rank_checkpoints.hpp>
#include <wordloom/optimizer/linear_decay.hpp>
#include <wordloom/sync/no_sync.hpp>

namespace wordloom {

/// Trains embeddings: each thread takes its shard of the corpus, subsamples each sentence, lets the
/// Sampler make blocks of it and the UpdateKernel apply their gradients to the one model, without
/// locks (Hogwild). One thread and one seed give bit-identical results on one build and machine;
/// more threads do not. A trainer may be used again; not by two threads at a time.
template <class Sampler, class UpdateKernel, class SyncPolicy = NoSync,
          class Schedule = LinearDecay>
class Trainer {
  static_assert(detail::require_sampler<Sampler>() && detail::require_kernel<UpdateKernel>() &&
                detail::require_sync<SyncPolicy>() && detail::require_schedule<Schedule>() &&
                detail::require_match<Sampler, UpdateKernel>());
  static_assert(!detail::TakesBatches<UpdateKernel> || std::is_same_v<SyncPolicy, NoSync>,
                "wordloom: this UpdateKernel has its model on a device, which this SyncPolicy does "
                "not synchronise");

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
  /// writes. Not for kernels on a GPU. One is also written when a progress callback stops training.
  /// Of several ranks, rank 0 writes for all, after they have made all rows agree.
  void checkpoint_to(std::filesystem::path path, double seconds = 600) {
    require_checkpoints();
    checkpoint_ = std::move(path);
    checkpoint_seconds_ = seconds;
  }

  /// Goes on with a run from its checkpoint to its end. One thread: the vectors are those of a run
  /// that was not interrupted, bit for bit. Of several ranks, only rank 0 reads the file. Throws as
  /// `fit`, IoError and FormatError when the checkpoint cannot be read, and InvalidArgument when it
  /// is of another corpus, vocabulary, set of hyperparameters or number of ranks or threads.
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
    try {
      check(corpus, model);
      if constexpr (detail::Coordinates<SyncPolicy>) {
        sync_.agree("corpus (words)", corpus.token_count());
        sync_.agree("vocabulary (fingerprint)", model.vocabulary.fingerprint());
        sync_.agree("method or set of hyperparameters (fingerprint)", fingerprint());
        const bool saves = !checkpoint_.empty(), resumes = from != nullptr;
        sync_.agree("use of checkpoints", (saves ? 1u : 0u) + (resumes ? 2u : 0u));
        if (saves || resumes)
          sync_.agree("number of threads", resolve_threads(parameters_.threads));
        sync_.begin(
            model, tokens_per_epoch(corpus), parameters_,
            [schedule = make_schedule()](double progress) { return schedule.rate(progress); });
      }
      if constexpr (detail::TakesBatches<UpdateKernel>) {
        sync_.broadcast(model);
        report_ = train_batches(corpus, model);
      } else {
        Checkpoint start = beginning(corpus, model);
        if (sync_.rank() == 0 && from != nullptr)
          start = detail::load_checkpoint(*from, start, model);
        sync_.broadcast(model);
        if constexpr (detail::Pauses<SyncPolicy>)
          if (from != nullptr) {
            detail::tell_ranks(sync_, start);
            sync_.go_on_after(start.synchronisations);
          }
        report_ = train_blocks(corpus, model, start);
      }
      sync_.finish(model);
    } catch (const std::exception& error) {
      if constexpr (detail::Coordinates<SyncPolicy>) sync_.fail(error.what());
      throw;
    }
    return report_;
  }

  /// Takes the blocks of a sampler.
  struct UpdateSink {
    Model& model;
    UpdateKernel& kernel;
    BlockShape most;
    float learning_rate;
    bool with_loss;
    detail::WorkDone done;

    void operator()(const Block& block) {
      if (block.inputs.size() > most.inputs || block.outputs.size() > most.outputs)
        detail::throw_too_large(block, most);
      if (with_loss) {
        done.loss += LossSum(kernel.template update<true>(model, block, learning_rate));
        done.pairs += positive_pairs(block);
      } else {
        kernel.template update<false>(model, block, learning_rate);
      }
    }

    [[gnu::always_inline]] void prefetch(std::span<const WordId> inputs,
                                         std::span<const WordId> outputs) {
      if constexpr (requires { kernel.prefetch(model, inputs, outputs); })
        return kernel.prefetch(model, inputs, outputs);
      for (const WordId id : inputs) model.input.prefetch(id);
      for (const WordId id : outputs) model.output.prefetch(id);
    }
  };

  /// Where a run begins, without its matrices.
  template <class Corpus>
  Checkpoint beginning(const Corpus& corpus, const Model& model) const {
    Checkpoint start;
    start.method = fingerprint();
    start.vocabulary = model.vocabulary.fingerprint();
    start.corpus_tokens = corpus.token_count();
    if constexpr (detail::Pauses<SyncPolicy>)
      start.planned_synchronisations = sync_.planned_synchronisations();
    const std::size_t threads = resolve_threads(parameters_.threads);
    for (std::size_t stream = 0; stream < sync_.size() * threads; ++stream) {
      if (stream % threads == 0) start.ranks.emplace_back().losses.resize(parameters_.epochs);
      const Random random(parameters_.seed, stream, 0);
      start.ranks.back().threads.push_back(
          {.random_state = random.state(), .random_gamma = random.gamma()});
    }
    return start;
  }

  /// Makes all rows agree; rank 0 writes where all ranks are, where there are checkpoints.
  void save_ranks(Model& model, detail::RunState& state, detail::Checkpointer* checkpointer) {
    if constexpr (detail::Pauses<SyncPolicy>) {
      Checkpoint::Rank own;  // before what other threads go on with
      if (checkpointer != nullptr) own = checkpointer->own(state);
      sync_.settle(model);
      if (checkpointer == nullptr) return;
      auto ranks = detail::gather_ranks(sync_, own);
      if (sync_.rank() == 0) checkpointer->begin(model, std::move(ranks), sync_.synchronisations());
    }
  }

  template <class Corpus>
  TrainReport train_blocks(const Corpus& corpus, Model& model, const Checkpoint& start) {
    const Checkpoint::Rank& from = start.ranks[sync_.rank()];
    detail::RunState state(tokens_per_epoch(corpus), parameters_.epochs, callback_,
                           callback_seconds_);
    state.resume(from);
    if (detail::Pauses<SyncPolicy> && sync_.size() > 1) state.stop_by_agreement();
    const std::size_t threads = from.threads.size();
    std::optional<detail::Checkpointer> checkpointer;
    if (!checkpoint_.empty())
      checkpointer.emplace(checkpoint_, checkpoint_seconds_, start, sync_.rank());
    const double progress = state.fraction();
    const Sampler sampler(parameters_, model.vocabulary);
    const Subsampling subsampling(model.vocabulary, parameters_.subsample);
    run_threads(threads, [&](std::size_t thread) {
      try {
        train(corpus, model, sampler, subsampling, state, progress, thread, from.threads,
              checkpointer ? &*checkpointer : nullptr);
      } catch (...) {
        state.stop();
        throw;
      }
    });
    if constexpr (detail::Pauses<SyncPolicy>) {
      if (sync_.size() > 1) {
        sync_.wait(model);
        pause(model, state, checkpointer ? &*checkpointer : nullptr);
      }
    }
    if (checkpointer && sync_.size() == 1 && state.stopped()) checkpointer->finish(model, state);
    if (checkpointer) checkpointer->wait();
    return state.finish();
  }

  /// Training by a kernel that takes the corpus itself, not blocks of it.
  template <class Corpus>
  TrainReport train_batches(const Corpus& corpus, Model& model) {
    auto kernel = UpdateKernel::template make<Sampler>(parameters_, model);
    const std::uint64_t tokens = tokens_per_epoch(corpus);
    detail::RunState state(tokens, parameters_.epochs, callback_, callback_seconds_);
    const Schedule schedule = make_schedule();
    const double total = static_cast<double>(tokens) * static_cast<double>(parameters_.epochs);
    // Long sentences are cut, by the size of the corpus alone, so that many can be trained at once.
    const std::size_t longest = std::clamp<std::uint64_t>(tokens / 65'536, 100, 1000);
    std::uint64_t begun = 0;
    double rate = schedule.rate(0.0);
    SentenceBatch batch;
    std::vector<std::uint64_t> words, sentences;              // of each batch
    std::deque<std::pair<std::uint64_t, double>> unfinished;  // words and learning rates
    for (std::size_t epoch = 0; epoch < parameters_.epochs && !state.stopped(); ++epoch) {
      batch.index = 0;
      batch.first_sentence = 0;
      const auto end_one = [&] {
        const auto trained = kernel.end();
        const auto [trained_words, trained_rate] = unfinished.front();
        unfinished.pop_front();
        const detail::WorkDone done{trained_words, static_cast<std::uint64_t>(trained.positives),
                                    LossSum(trained.loss)};
        state.report(done, epoch, trained_rate);
      };
      const auto train = [&] {
        if (epoch == 0) {
          words.push_back(batch.words.size());
          sentences.push_back(batch.ends.size());
        }
        begun += words[batch.index];
        const double next_rate = schedule.rate(std::min(1.0, static_cast<double>(begun) / total));
        kernel.begin(batch, epoch, rate, next_rate);
        unfinished.emplace_back(words[batch.index], rate);
        if (unfinished.size() == 2) end_one();
        rate = next_rate;
        batch.first_sentence += sentences[batch.index++];
        batch.clear();
      };
      if (epoch > 0 && kernel.keeps(words.size() - 1)) {
        while (batch.index < words.size() && !state.stopped()) train();
      } else {
        for (const std::span<const WordId> sentence : corpus.shard(sync_.rank(), sync_.size())) {
          if (state.stopped()) break;
          batch.add(sentence, longest);
          if (batch.words.size() >= kernel.batch_words()) train();
        }
        if (!batch.words.empty() && !state.stopped()) train();
      }
      while (!unfinished.empty()) end_one();
    }
    kernel.finish(model);
    return state.finish();
  }

  /// Of policies and hyperparameters.
  std::uint64_t fingerprint() const {
    std::uint64_t hash = parameters_.fingerprint();
    for (const char c : std::string_view(__PRETTY_FUNCTION__))
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return hash;
  }

  void require_checkpoints() const {
    if (detail::TakesBatches<UpdateKernel>)
      throw InvalidArgument("checkpoints are for training on a CPU");
    if (!detail::Pauses<SyncPolicy> && sync_.size() > 1)
      throw InvalidArgument("this SyncPolicy has no checkpoints");
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

  std::size_t stream_of(std::size_t thread) const {
    return sync_.rank() * resolve_threads(parameters_.threads) + thread;
  }

  template <class Corpus>
  void train(const Corpus& corpus, Model& model, Sampler sampler, const Subsampling& subsampling,
             detail::RunState& state, double begin, std::size_t thread,
             const std::vector<Checkpoint::Thread>& positions, detail::Checkpointer* checkpointer) {
    const std::size_t threads = positions.size(), stream = stream_of(thread);
    const auto shard = corpus.shard(stream, sync_.size() * threads);
    const std::uint64_t interval =
        report_interval(tokens_per_epoch(corpus) * parameters_.epochs / threads);
    const BlockShape most = sampler.max_block();
    UpdateKernel kernel(parameters_, most);
    const Schedule schedule = make_schedule();
    std::vector<WordId> kept;
    const Checkpoint::Thread start = positions[thread];
    double rate = schedule.rate(begin);
    UpdateSink sink{model, kernel,
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
        if (thread == 0) synchronise(model, state, progress, checkpointer);
      };
      for (const std::span<const WordId> sentence : shard) {
        if (sentences < skipped) {
          ++sentences;
          continue;
        }
        if (state.stopped()) return stand();
        sink.with_loss = sink.done.tokens <= interval / 16;  // it costs a tenth of a block's time
        sampler.sample(subsampling(sentence, random, kept), random, sink);
        sink.done.tokens += sentence.size();
        ++sentences;
        if (sink.done.tokens >= interval) report();
      }
      report();
    }
  }

  /// By one thread; and a checkpoint when it is time.
  void synchronise(Model& model, detail::RunState& state, double progress,
                   detail::Checkpointer* checkpointer) {
    const bool is_due = checkpointer != nullptr && checkpointer->is_due();
    if (sync_.size() == 1) {
      sync_.tick(model, progress);
      if (is_due) checkpointer->begin(model, {checkpointer->own(state)}, 0);
      return;
    }
    if constexpr (detail::Pauses<SyncPolicy>)
      if (state.asked_to_stop() || (is_due && sync_.rank() == 0))
        sync_.ask_for_pause(state.asked_to_stop());
    sync_.tick(model, progress);
    while (pause(model, state, checkpointer)) sync_.tick(model, progress);
  }

  /// What ranks do where all stand alike; false when they do not.
  bool pause(Model& model, detail::RunState& state, detail::Checkpointer* checkpointer) {
    if constexpr (detail::Pauses<SyncPolicy>) {
      if (!sync_.paused()) return false;
      save_ranks(model, state, checkpointer);
      if (sync_.stopping()) state.stop();
      return !sync_.stopping();
    } else {
      return false;
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
