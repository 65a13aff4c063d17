#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <span>
#include <string>
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
    try {
      check(corpus, model);
      if constexpr (detail::Coordinates<SyncPolicy>) {
        sync_.agree("corpus (words)", corpus.token_count());
        sync_.agree("vocabulary (fingerprint)", model.vocabulary.fingerprint());
        sync_.agree("set of hyperparameters (fingerprint)", parameters_.fingerprint());
        sync_.begin(model, tokens_per_epoch(corpus), parameters_);
      }
      sync_.broadcast(model);
      if constexpr (detail::TakesBatches<UpdateKernel>)
        report_ = train_batches(corpus, model);
      else
        report_ = train_blocks(corpus, model);
      sync_.finish(model);
    } catch (const std::exception& error) {
      if constexpr (detail::Coordinates<SyncPolicy>) sync_.fail(error.what());
      throw;
    }
    return report_;
  }

  /// Of the last `fit`; of what this rank trained.
  const TrainReport& report() const noexcept { return report_; }
  const SyncPolicy& sync() const noexcept { return sync_; }

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

  template <class Corpus>
  TrainReport train_blocks(const Corpus& corpus, Model& model) {
    detail::RunState state(tokens_per_epoch(corpus), parameters_.epochs, callback_,
                           callback_seconds_);
    const std::size_t threads = resolve_threads(parameters_.threads);
    const Sampler sampler(parameters_, model.vocabulary);
    const Subsampling subsampling(model.vocabulary, parameters_.subsample);
    run_threads(threads, [&](std::size_t thread) {
      try {
        train(corpus, model, sampler, subsampling, state, thread, threads);
      } catch (...) {
        state.stop();
        throw;
      }
    });
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

  template <class Corpus>
  void train(const Corpus& corpus, Model& model, Sampler sampler, const Subsampling& subsampling,
             detail::RunState& state, std::size_t thread, std::size_t threads) {
    const std::size_t stream = sync_.rank() * threads + thread;
    const auto shard = corpus.shard(stream, sync_.size() * threads);
    const std::uint64_t interval =
        report_interval(tokens_per_epoch(corpus) * parameters_.epochs / threads);
    const BlockShape most = sampler.max_block();
    UpdateKernel kernel(parameters_, most);
    const Schedule schedule = make_schedule();
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
