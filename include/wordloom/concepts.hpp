#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string>

#include <wordloom/core/block.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/loss.hpp>
#include <wordloom/core/model.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/sentence_batch.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/vocabulary.hpp>

/// What a policy must offer. Each concept is a conjunction of small ones, one for each thing that
/// can be missing, so that `require_*` below can say which it is.
namespace wordloom {

namespace detail {

/// Stands for the sink that a trainer passes to a sampler.
struct AnySink {
  void operator()(const Block&) const noexcept {}
};

template <class S>
concept MadeFromVocabulary = std::constructible_from<S, const Hyperparameters&, const Vocabulary&>;
template <class S>
concept NamesProduct = requires {
  typename S::Produces;
};
template <class S>
concept BoundsBlocks = requires(const S& sampler) {
  { sampler.max_block() } -> std::convertible_to<BlockShape>;
};
template <class S>
concept Samples = requires(S& sampler, std::span<const WordId> sentence, Random& random) {
  sampler.sample(sentence, random, AnySink{});
};

template <class K>
concept MadeForBlocks = std::constructible_from<K, const Hyperparameters&, BlockShape>;
template <class K>
concept NamesConsumption = requires {
  typename K::Consumes;
};
template <class K>
concept Updates = requires(K& kernel, Model& model, const typename K::Consumes& block) {
  { kernel.template update<true>(model, block, 0.1f) } -> std::convertible_to<LossSum>;
  kernel.template update<false>(model, block, 0.1f);
};

/// Where an update comes in halves, the sampler makes the next block between them.
template <class K>
concept UpdatesInHalves = requires(K& kernel, Model& model, const typename K::Consumes& block) {
  kernel.begin(model, block, 0.1f);
  { kernel.template finish<true>(model) } -> std::convertible_to<LossSum>;
  kernel.template finish<false>(model);
};

template <class K>
concept TakesBatches = std::same_as<typename K::Consumes, SentenceBatch>;
template <class K>
concept TrainsBatches = TakesBatches<K> &&
    requires(K& kernel, const SentenceBatch& batch, Model& model, std::size_t i, double rate) {
  { K::least_words } -> std::convertible_to<std::size_t>;
  { kernel.batch_words() } -> std::convertible_to<std::size_t>;
  { kernel.keeps(i) } -> std::convertible_to<bool>;
  kernel.begin(batch, i, rate, rate);
  { kernel.end().loss } -> std::convertible_to<double>;
  { kernel.end().positives } -> std::convertible_to<double>;
  { kernel.replica() } -> std::same_as<typename K::Replica>;
  kernel.finish(model);
};

template <class P>
concept HasRank = requires(const P& sync) {
  { sync.rank() } -> std::convertible_to<std::size_t>;
  { sync.size() } -> std::convertible_to<std::size_t>;
};
/// `M` is what it keeps alike: a Model, or what stands for one on a device.
template <class P, class M = Model>
concept Synchronises = requires(P& sync, M& model, double progress) {
  sync.broadcast(model);
  sync.tick(model, progress);
  sync.finish(model);
};

/// What a policy with other replicas may have besides.
template <class P>
concept Coordinates = requires(P& sync, const Model& model, const std::string& text,
                               std::uint64_t n, const Hyperparameters& parameters,
                               double (*rate)(double)) {
  sync.agree(text.c_str(), n);
  sync.begin(model, n, parameters, rate, n);
  { sync.least_interval() } -> std::convertible_to<std::uint64_t>;
  sync.fail(text);
};

/// And what it needs for checkpoints.
template <class P, class M = Model>
concept Pauses = Coordinates<P> && requires(P& sync, M& model, std::uint64_t n) {
  sync.ask_for_pause(true);
  { sync.paused() } -> std::convertible_to<bool>;
  { sync.stopping() } -> std::convertible_to<bool>;
  sync.wait(model);
  sync.settle(model);
  { sync.gather(n) } -> std::convertible_to<std::vector<std::uint64_t>>;
  { sync.synchronisations() } -> std::convertible_to<std::uint64_t>;
  { sync.fingerprint() } -> std::convertible_to<std::uint64_t>;
  sync.go_on_after(n);
};

template <class S>
concept MadeFromHyperparameters = std::constructible_from<S, const Hyperparameters&>;
template <class S>
concept GivesRate = requires(const S& schedule, double progress) {
  { schedule.rate(progress) } -> std::convertible_to<double>;
};

template <class C>
concept CountsTokens = requires(const C& corpus) {
  { corpus.token_count() } -> std::convertible_to<std::uint64_t>;
};
template <class C>
concept Shards = requires(const C& corpus, std::size_t i) {
  { corpus.shard(i, i) } -> std::ranges::input_range;
  requires std::convertible_to<std::ranges::range_reference_t<decltype(corpus.shard(i, i))>,
                               std::span<const WordId>>;
};

}  // namespace detail

/// `Sampler sampler(hyperparameters, vocabulary); sampler.max_block();`
/// `sampler.sample(sentence, random, sink);` calls `sink(block)` for each block of the sentence, in
/// order; `Sampler::Produces` names the block type (Block). Copyable, one copy for each thread: it
/// may keep scratch memory, but draws only from `random`.
template <class S>
concept Sampler = std::copy_constructible<S> && detail::MadeFromVocabulary<S> &&
    detail::NamesProduct<S> && detail::BoundsBlocks<S> && detail::Samples<S>;

/// `UpdateKernel kernel(hyperparameters, max_block);`
/// `kernel.template update<with_loss>(model, block, learning_rate);` applies the gradient of a
/// block and returns its loss (LossSum, or what converts to it) when `with_loss` is true;
/// `UpdateKernel::Consumes` names the block type. One for each thread; never allocates in `update`.
/// `kernel.prefetch(model, inputs, outputs)`, where there is one, is told which rows later blocks
/// need; else the trainer asks for them itself. Where there are `kernel.begin(model, block,
/// learning_rate)`, after which the block may be gone, and `kernel.finish<with_loss>(model)`, they
/// are an update in two halves, between which the trainer lets the sampler make the next block.
///
/// A kernel on a device consumes SentenceBatch and does a sampler's work too: it is made by
/// `UpdateKernel::make<Sampler>(hyperparameters, model)`, says by `trains<Sampler>` which samplers
/// it can stand for, `kernel.begin(batch, epoch, first_rate, last_rate)` starts to train a batch,
/// `kernel.end()` waits for the first of those unfinished (two at most) and returns its loss,
/// `kernel.finish(model)` brings the model back, `kernel.replica()` is what a SyncPolicy may change
/// between two batches. A batch should have `kernel.batch_words()`, and may be of any size from
/// `K::least_words`, below which the device is not busy. See CudaKernel.
template <class K>
concept UpdateKernel = detail::NamesConsumption<K> &&
    ((detail::MadeForBlocks<K> && detail::Updates<K>) || detail::TrainsBatches<K>);

/// `sync.rank()`, `sync.size()`: which of how many replicas this is. `sync.broadcast(model)` makes
/// all start alike, `sync.tick(model, progress)` is called between blocks now and then by one
/// thread, with progress from 0 to 1, `sync.finish(model)` at the end. One with other replicas may
/// have `agree(what, number)`, which throws where a number is not the same on all, `begin(model,
/// words_per_epoch, hyperparameters, rate, least_interval)` before all else, and `fail(cause)`,
/// when this replica ends by an exception; for checkpoints, a place where all stand alike. See
/// Allreduce. `M` is what it keeps alike: a Model, or the `Replica` of a kernel on a device.
template <class P, class M = Model>
concept SyncPolicy = detail::HasRank<P> && detail::Synchronises<P, M>;

/// `Schedule schedule(hyperparameters)`, or `schedule(hyperparameters, ranks)` where there is that;
/// `schedule.rate(progress)`: the learning rate at a progress from 0 to 1. Thread-safe.
template <class S>
concept LearningRateSchedule = detail::MadeFromHyperparameters<S> && detail::GivesRate<S>;

/// `corpus.token_count()` and `corpus.shard(i, n)`, the i-th of n disjoint parts as a range of
/// `std::span<const WordId>` sentences. Shards are read by different threads at a time.
template <class C>
concept Corpus = detail::CountsTokens<C> && detail::Shards<C>;

namespace detail {

// The compiler's note names the policy ("required from ... require_sampler<Name>"), the message
// what it lacks.
template <class S>
constexpr bool require_sampler() {
  static_assert(std::copy_constructible<S>,
                "wordloom: this Sampler cannot be copied; each thread trains with a copy");
  static_assert(
      MadeFromVocabulary<S>,
      "wordloom: this Sampler lacks a constructor (const Hyperparameters&, const Vocabulary&)");
  static_assert(NamesProduct<S>,
                "wordloom: this Sampler lacks 'using Produces = Block' (the block type it makes)");
  static_assert(BoundsBlocks<S>, "wordloom: this Sampler lacks 'BlockShape max_block() const'");
  static_assert(Samples<S>,
                "wordloom: this Sampler lacks 'void sample(std::span<const WordId> sentence, "
                "Random&, Sink&& sink)'");
  return Sampler<S>;
}

template <class K>
constexpr bool require_kernel() {
  static_assert(
      NamesConsumption<K>,
      "wordloom: this UpdateKernel lacks 'using Consumes = Block' (the block type it takes)");
  if constexpr (TakesBatches<K>) {
    static_assert(TrainsBatches<K>,
                  "wordloom: this UpdateKernel lacks least_words, batch_words(), keeps(index), "
                  "begin(const SentenceBatch&, epoch, first_rate, last_rate), end(), "
                  "replica() or finish(Model&)");
  } else {
    static_assert(
        MadeForBlocks<K>,
        "wordloom: this UpdateKernel lacks a constructor (const Hyperparameters&, BlockShape)");
    if constexpr (NamesConsumption<K>)
      static_assert(Updates<K>,
                    "wordloom: this UpdateKernel lacks 'template <bool with_loss> LossSum "
                    "update(Model&, const Consumes&, float learning_rate)'");
  }
  return UpdateKernel<K>;
}

template <class K>
struct ReplicaOf {
  using type = Model;
};
template <TakesBatches K>
struct ReplicaOf<K> {
  using type = typename K::Replica;
};

template <class P, class K>
constexpr bool require_sync() {
  using Replica = typename ReplicaOf<K>::type;
  static_assert(HasRank<P>, "wordloom: this SyncPolicy lacks rank() or size()");
  if constexpr (TakesBatches<K>)
    static_assert(Synchronises<P, Replica>,
                  "wordloom: this UpdateKernel has its model on a device, which this SyncPolicy "
                  "does not synchronise");
  else
    static_assert(
        Synchronises<P>,
        "wordloom: this SyncPolicy lacks broadcast(model), tick(model, progress) or finish(model)");
  return SyncPolicy<P, Replica>;
}

template <class S>
constexpr bool require_schedule() {
  static_assert(MadeFromHyperparameters<S>,
                "wordloom: this LearningRateSchedule lacks a constructor (const Hyperparameters&)");
  static_assert(GivesRate<S>,
                "wordloom: this LearningRateSchedule lacks 'double rate(double progress) const'");
  return LearningRateSchedule<S>;
}

template <class S, class K>
constexpr bool require_match() {
  if constexpr (TakesBatches<K>) {
    static_assert(K::template trains<S>,
                  "wordloom: this UpdateKernel makes windows and negatives itself, and not as this "
                  "Sampler does");
  } else if constexpr (NamesProduct<S> && NamesConsumption<K>) {
    static_assert(
        std::same_as<typename S::Produces, typename K::Consumes>,
        "wordloom: this UpdateKernel does not consume the block type that this Sampler produces");
  }
  return true;
}

template <class C>
constexpr bool require_corpus() {
  static_assert(CountsTokens<C>, "wordloom: this Corpus lacks token_count()");
  static_assert(
      Shards<C>,
      "wordloom: this Corpus lacks shard(i, n), a range of std::span<const WordId> sentences");
  return Corpus<C>;
}

}  // namespace detail
}  // namespace wordloom
