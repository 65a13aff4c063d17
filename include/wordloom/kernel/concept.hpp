#pragma once
#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/detail/sentence_batch.hpp>
#include <wordloom/kernel/row_map.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/sampler/block.hpp>
#include <wordloom/sampler/concept.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// Returns the part of a kernel that the threads of a run share: `kernel.start(model)` if it has
/// that, else the kernel itself.
template <class K>
auto start_kernel(const K& kernel, Model& model) {
  if constexpr (requires { kernel.start(model); })
    return kernel.start(model);
  else
    return kernel;
}
template <class K>
using KernelRun = decltype(start_kernel(std::declval<const K&>(), std::declval<Model&>()));

template <class K>
concept MakesWorkers = requires(const KernelRun<K>& run, const Model& model, Block::Shape most) {
  run.worker(model, most);
};
template <class K>
using KernelWorker = decltype(std::declval<const KernelRun<K>&>().worker(
    std::declval<const Model&>(), Block::Shape()));

/// Returns the worker for blocks with the features `used`: a separate one for rows alone if the run
/// has that.
template <Block::Features used, class Run>
auto block_worker_of(const Run& run, const Model& model, Block::Shape most) {
  if constexpr (!used.bags && !used.one_side && !used.pairs &&
                requires { run.row_worker(model, most); })
    return run.row_worker(model, most);
  else
    return run.worker(model, most);
}

/// Returns the worker for blocks that change one side: a separate one if the run has that.
template <class Run>
auto one_side_worker_of(const Run& run, const Model& model, Block::Shape most) {
  if constexpr (requires { run.one_side_worker(model, most); })
    return run.one_side_worker(model, most);
  else
    return run.worker(model, most);
}

template <class W>
concept Updates = requires(W& worker, Model& model, const Block& block) {
  { worker.template update<true>(model, block, 0.1f) } -> std::convertible_to<LossSum>;
  worker.template update<false>(model, block, 0.1f);
};

/// A worker whose update has two halves, between which the sampler makes the next block.
template <class W>
concept UpdatesInHalves = requires(W& worker, Model& model, const Block& block) {
  worker.score(model, block, 0.1f);
  { worker.template apply<true>(model) } -> std::convertible_to<LossSum>;
  worker.template apply<false>(model);
};

/// A worker that writes the gradients of a block instead of applying them.
template <class W>
concept WritesGradients = requires(W& worker, Model& model, const Block& block, RowMatrix& rows) {
  { worker.template gradients<true>(model, block, rows, rows) } -> std::convertible_to<LossSum>;
  worker.template gradients<false>(model, block, rows, rows);
};

/// A worker that takes blocks whose inputs are trained one after the other.
template <class W>
concept TrainsInTurn = requires {
  requires W::trains_in_turn;
};

/// A worker that looks up private copies of rows itself.
template <class W>
concept MapsRows = requires(W& worker, const RowMaps& maps) {
  worker.map_rows(maps);
};

/// Applies the gradients that a worker still holds, if any.
template <class W>
void flush_worker(W& worker, Model& model, float learning_rate) {
  if constexpr (requires { worker.flush(model, learning_rate); })
    worker.flush(model, learning_rate);
}

/// A run of a kernel whose blocks may have rows from RowMatrix::rows() on.
template <class Run>
concept KeepsNothingByRow = requires {
  requires Run::keeps_nothing_by_row;
};

/// Returns the parts of Block that a kernel says it honours; none by default.
template <class K>
constexpr Block::Features features_honoured() {
  if constexpr (requires { K::honours; })
    return K::honours;
  else
    return {};
}

template <class K>
concept OnDevice = requires {
  typename K::Replica;
};

/// The types of a kernel that depend on where it trains.
template <class K>
struct PlaceOf {
  using Replica = Model;
  using DeviceRun = std::nullptr_t;  // none
};
template <OnDevice K>
struct PlaceOf<K> {
  using Replica = typename K::Replica;
  using DeviceRun = typename K::Run;
};
/// The replica of the model that a SyncPolicy synchronises.
template <class K>
using ReplicaOf = typename PlaceOf<K>::Replica;
template <class K>
using DeviceRun = typename PlaceOf<K>::DeviceRun;

template <class K>
concept TrainsBatches = OnDevice<K> && requires(typename K::Run& run, const SentenceBatch& batch,
                                                Model& model, std::size_t i, double rate) {
  { K::min_words } -> std::convertible_to<std::size_t>;
  { run.batch_words() } -> std::convertible_to<std::size_t>;
  { run.keeps(i) } -> std::convertible_to<bool>;
  run.submit(batch, i, rate, rate);
  { run.wait().loss } -> std::convertible_to<double>;
  { run.wait().examples } -> std::convertible_to<double>;
  { run.replica() } -> std::same_as<typename K::Replica>;
  run.download(model);
};

template <class K>
concept TrainsColumns = OnDevice<K> &&
    requires(typename K::Run& run, std::span<const WordId> words,
             const std::vector<WordId>& contexts, Model& model, std::size_t i, double rate) {
  run.set_words(words, std::pair(i, i));
  { run.columns_in_flight() } -> std::convertible_to<std::size_t>;
  { run.finds_contexts() } -> std::convertible_to<bool>;
  run.begin_column(i, i, contexts);
  run.train(Block::Sides::inputs, rate);
  run.end_column();
  { run.wait().loss } -> std::convertible_to<double>;
  { run.wait().examples } -> std::convertible_to<double>;
  { run.replica() } -> std::same_as<typename K::Replica>;
  run.download(model);
};

}  // namespace detail

/// The arithmetic: applies the gradient of a block to the model. A policy, which is a value with
/// parameters of its own (core/hyperparameters.hpp), of one of two kinds.
///
/// On the host:
/// - `kernel.start(model)` returns the data that the threads of a run share, for example the state
///   of an optimizer, which it keeps in `model.state`. A kernel without it is its own run.
/// - `run.worker(model, max_block)`: the scratch memory of one thread;
/// - `worker.update<with_loss>(model, block, learning_rate)` applies the gradient and returns the
///   loss (LossSum, or a type that converts to it) when `with_loss` is true. It never allocates;
/// - or the same in two halves, between which the sampler makes the next block:
///   `worker.score(model, block, learning_rate)`, after which the block may be gone, and
///   `worker.apply<with_loss>(model)`;
/// - `worker.gradients<with_loss>(model, block, inputs, outputs)`, which WithOptimizer needs:
///   writes the gradients at rate 1 to the first rows of `inputs` [N x D] and `outputs` [M x D]
///   instead, and returns the loss. It changes no row of the model, and does not write the matrix
///   of a side that the block does not update. The padding of both stays zero. The block has no
///   bags;
/// - `worker.flush(model, learning_rate)`, optional, applies the gradients that the worker still
///   holds. The trainer calls it at the end of each epoch, and when training stops;
/// - `run.row_worker(model, max_block)`, optional: the worker for samplers that use no bags, pairs
///   or single sides, and `run.one_side_worker(model, max_block)` for blocks that all change one
///   side, as in two-step training;
/// - `worker.prefetch(model, inputs, outputs)`, optional, receives the rows that later blocks need;
///   without it the trainer prefetches them;
/// - `static constexpr Block::Features honours`, optional: the parts of Block that it honours; none
///   by default. A sampler that uses others does not compile;
/// - `static constexpr bool keeps_nothing_by_row` of a run: true if it and its workers keep no data
///   indexed by row. It may then train the words of Subwords: blocks have rows from
///   RowMatrix::rows() on, which row_data() accepts;
/// - `static constexpr bool trains_in_turn` of a worker, optional: true if it takes blocks with
///   Block::in_turn; for others the trainer splits them;
/// - `worker.map_rows(maps)`, optional, lets threads have private copies of frequent rows. It is
///   called before all blocks. For an input with some id, the worker then trains row
///   maps.input(id), for an output maps.output(id);
/// - `run.pack(matrix, first, last)` and `run.unpack(matrix, first, last)`, optional: the workers
///   train rows in a form of the kernel's own. The trainer packs the rows of both sides before
///   workers train, and converts them to floats again before other code reads them: in callbacks
///   that take the model, in checkpoints, and after training. Packing unpacked rows gives the same
///   bits. Such a kernel can only be used with NoSync. See Bf16Kernel.
///
/// On a device, where it also does the work of a sampler:
/// - `K::Replica` is the model that a SyncPolicy may change between two batches;
/// - `K::trains<Sampler>` is true for the samplers whose work it can do, and
///   `K::require<Sampler>()`, optional, refuses others by a static_assert with the reason;
/// - `kernel.start(sampler, parameters, model)` returns a std::unique_ptr<K::Run>;
/// - `run.submit(batch, epoch, first_rate, last_rate)` starts to train a batch, `run.wait()` waits
///   for the first of those in flight (two at most) and returns its loss and examples,
///   `run.download(model)` copies the model back;
/// - a batch should have `run.batch_words()` words and may have any number from `K::min_words` on,
///   below which the device is not busy;
/// - `run.keeps(index)`: whether a batch of a corpus that repeats is still on the device;
/// - `run.flush()`, optional, starts to apply the gradients that the run still holds; the trainer
///   calls it at the end of each epoch, and when training stops. See CudaKernel;
/// - `run.largest(side)`, optional, waits for the device and returns the largest absolute value of
///   that matrix; the trainer calls it at the end of each epoch, to end a run that has diverged;
/// - `run.set_ranks(count)`, optional, gets the number of ranks that train, before the first batch.
///
/// On a device, for samplers that train columns: `run.set_words(words, parts)` sets the words of a
/// column, and `run.set_contexts(lists)` the lists in which its contexts are found; then, for each
/// column, `run.begin_column(number, in_epoch, contexts)`, `run.train(step, rate)` for each side,
/// and `run.end_column()`, with at most `run.columns_in_flight()` columns that have not been waited
/// for. See ColumnKernel.
template <class K>
concept UpdateKernel = std::copy_constructible<K> &&
    ((!detail::OnDevice<K> && detail::MakesWorkers<K> &&
      detail::Updates<detail::KernelWorker<K>>) ||
     detail::TrainsBatches<K> || detail::TrainsColumns<K>);

namespace detail {

template <class K>
constexpr bool require_kernel() {
  static_assert(std::copy_constructible<K>, "wordloom: this UpdateKernel cannot be copied");
  if constexpr (OnDevice<K>) {
    static_assert(TrainsBatches<K> || TrainsColumns<K>,
                  "wordloom: this UpdateKernel on a device lacks min_words, or its Run lacks "
                  "batch_words(), keeps(index), submit(const SentenceBatch&, epoch, first_rate, "
                  "last_rate), wait(), replica() or download(Model&); or, of one that trains "
                  "columns, set_words(words, parts), columns_in_flight(), finds_contexts(), "
                  "begin_column(number, in_epoch, contexts), train(step, rate) or end_column()");
    static_assert(
        !requires(typename K::Run & any) { any.finish(); },
        "wordloom: the finish() of this UpdateKernel's Run is now called flush()");
  } else {
    static_assert(
        MakesWorkers<K>,
        "wordloom: this UpdateKernel lacks 'auto worker(const Model&, Block::Shape) const'");
    if constexpr (MakesWorkers<K>) {
      static_assert(Updates<KernelWorker<K>>,
                    "wordloom: the worker of this UpdateKernel lacks 'template <bool with_loss> "
                    "LossSum update(Model&, const Block&, float learning_rate)'");
      static_assert(
          !requires(KernelWorker<K> & worker, Model & any) { worker.finish(any, 0.1f); },
          "wordloom: the finish() of this UpdateKernel's worker is now called "
          "flush(model, learning_rate)");
    }
  }
  return UpdateKernel<K>;
}

/// Refuses a kernel that does not honour a feature that the sampler uses, by name.
template <class S, class K>
constexpr bool require_match() {
  if constexpr (OnDevice<K>) {
    if constexpr (requires { K::template require<S>(); }) K::template require<S>();
    static_assert(K::template trains<S>,
                  "wordloom: this UpdateKernel draws windows and negatives on the device and does "
                  "not support this Sampler");
  } else {
    constexpr Block::Features used = Block::Features::used_by<S>(),
                              honoured = features_honoured<K>();
    static_assert(!used.bags || honoured.bags,
                  "wordloom: this Sampler makes bags (Block::bag_ends), which this UpdateKernel "
                  "does not honour");
    static_assert(!used.weights || honoured.weights,
                  "wordloom: this Sampler weights pairs (Block::weights), which this UpdateKernel "
                  "does not honour");
    static_assert(
        !used.one_side || honoured.one_side,
        "wordloom: this Sampler updates one side (Block::update), which this UpdateKernel "
        "does not honour");
    static_assert(
        !used.pairs || honoured.pairs,
        "wordloom: this Sampler makes pairs (Block::paired), which this UpdateKernel does "
        "not honour");
  }
  return true;
}

}  // namespace detail
}}  // namespace wordloom::WORDLOOM_ABI
