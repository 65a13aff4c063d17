#pragma once
#include <concepts>
#include <cstddef>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/corpus/sentence_batch.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/sampler/concept.hpp>

namespace wordloom {

namespace detail {

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

}  // namespace detail

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

namespace detail {

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

}  // namespace detail
}  // namespace wordloom
