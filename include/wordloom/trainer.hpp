#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
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
#include <wordloom/corpus/subsampling.hpp>
#include <wordloom/corpus/vocabulary.hpp>
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

 public:
  /// Throws InvalidArgument when a hyperparameter is outside its bounds.
  explicit Trainer(Hyperparameters parameters, SyncPolicy sync = {})
      : parameters_(parameters), sync_(std::move(sync)) {
    parameters_.validate();
  }

  const Hyperparameters& hyperparameters() const noexcept { return parameters_; }

  /// `callback` is called at most every `seconds` during training (0: as often as threads report)
  /// and once at its end; when it returns false, training stops and `fit` returns what there is.
  void on_progress(ProgressCallback callback, double seconds = 1.0) {
    callback_ = std::move(callback);
    callback_seconds_ = seconds;
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
    static_assert(detail::require_corpus<Corpus>());
    check(corpus, model);
    const Vocabulary& vocabulary = model.vocabulary;
    const std::size_t threads = resolve_threads(parameters_.threads);
    const Sampler sampler(parameters_, vocabulary);
    const Subsampling subsampling(vocabulary, parameters_.subsample);
    sync_.broadcast(model);
    detail::RunState state(corpus.token_count() / sync_.size(), parameters_.epochs, callback_,
                           callback_seconds_);
    run_threads(threads, [&](std::size_t thread) {
      try {
        train(corpus, model, sampler, subsampling, state, thread, threads);
      } catch (...) {
        state.stop();
        throw;
      }
    });
    sync_.finish(model);
    return report_ = state.finish();
  }

  /// Of the last `fit`.
  const TrainReport& report() const noexcept { return report_; }

 private:
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

  /// Tokens between two looks at the learning rate and the clock: seldom enough to cost nothing,
  /// often enough that a small corpus sees the rate fall.
  static std::uint64_t report_interval(std::uint64_t tokens_of_thread) {
    return std::clamp<std::uint64_t>(tokens_of_thread / 1000, 100, 10'000);
  }

  template <class Corpus>
  void train(const Corpus& corpus, Model& model, Sampler sampler, const Subsampling& subsampling,
             detail::RunState& state, std::size_t thread, std::size_t threads) {
    const std::size_t stream = sync_.rank() * threads + thread;
    const auto shard = corpus.shard(stream, sync_.size() * threads);
    const std::uint64_t interval =
        report_interval(corpus.token_count() * parameters_.epochs / threads);
    const BlockShape most = sampler.max_block();
    UpdateKernel kernel(parameters_, most);
    const Schedule schedule(parameters_);
    std::vector<WordId> kept;
    double rate = schedule.rate(0.0);
    UpdateSink sink{model, kernel, most, static_cast<float>(rate), true, {}};

    for (std::size_t epoch = 0; epoch < parameters_.epochs; ++epoch) {
      Random random(parameters_.seed, stream, epoch);
      const auto report = [&] {
        const double progress = state.report(std::exchange(sink.done, {}), epoch, rate);
        rate = schedule.rate(progress);
        sink.learning_rate = static_cast<float>(rate);
        if (thread == 0) sync_.tick(model, progress);
      };
      for (const std::span<const WordId> sentence : shard) {
        if (state.stopped()) return;
        sink.with_loss = sink.done.tokens <= interval / 16;  // it costs a tenth of a block's time
        sampler.sample(subsampling(sentence, random, kept), random, sink);
        sink.done.tokens += sentence.size();
        if (sink.done.tokens >= interval) report();
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
  TrainReport report_;
};

}  // namespace wordloom
