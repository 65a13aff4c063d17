#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/corpus/detail/sentence_batch.hpp>
#include <wordloom/cuda/detail/batch_run.hpp>
#include <wordloom/cuda/detail/device_matrix.hpp>
#include <wordloom/cuda/detail/device_model.hpp>
#include <wordloom/cuda/detail/device_rows.hpp>
#include <wordloom/cuda/detail/row_steps.hpp>
#include <wordloom/cuda/detail/sampling.hpp>
#include <wordloom/cuda/detail/sentence.hpp>
#include <wordloom/cuda/detail/vanilla_work.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/optimizer/concept.hpp>
#include <wordloom/sampler/hogwild.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// Trains pairs of words in the order of the corpus in minibatches on a machine: the baseline of
/// W2V-CL (Li et al. 2019, "Vanilla"). All gradients of a minibatch use the rows as they were when
/// it began. The entries of a row, one for each of its occurrences in the minibatch, are grouped by
/// a sort and summed; then the optimizer takes one step with the row.
///
/// The machine draws subsampling, windows and negatives itself, as BatchKernel does, and the same
/// ones as CudaSentenceKernel. No row is changed by two teams: every run gives the same vectors,
/// bit for bit, on the same kind of machine. Only the reported loss may differ by rounding.
///
/// A minibatch may extend over several batches of sentences, but one that is not full at the end of
/// an epoch is applied there. A checkpoint that is written during training lacks the minibatch in
/// progress, as with WithOptimizer. Each of several ranks has minibatches of its own; they share
/// the model, not the state of the optimizer.
/// - `Machine`: CudaMachine or HostMachine; `Sorter`: CudaSorter or HostSorter;
/// - `RowSizes`: an integer_sequence of the lengths of rows in units of 32 floats, ascending;
/// - `Optimizer`: one that has a RowStep. Its state is in the model, in the format of
///   WithOptimizer.
template <class Machine, class Sorter, class RowSizes, class Optimizer>
struct VanillaKernel {
  Optimizer optimizer = {};
  std::size_t batch = 1024;  // pairs of a minibatch, 1 to 65536; small ones leave a GPU idle
  std::size_t device = 0;    // which GPU, counted from 0

  using Replica = DeviceReplica<Machine>;
  /// A batch of sentences has up to 40 pairs for each word, each of which is listed in 8 bytes.
  static constexpr std::size_t batch_words = std::size_t{1} << 18;
  static constexpr std::size_t min_words = batch_words;
  template <class Sampler>
  static constexpr bool trains = std::is_same_v<Sampler, Hogwild>;

  static VanillaKernel from(const Hyperparameters& parameters) {
    return {.optimizer = policy_from<Optimizer>(parameters), .device = parameters.device};
  }
  /// Lists the parameters that change the result; the choice of the device does not.
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("batch", batch, 1, 65536);
    visit_parameters_of(visit, optimizer);
  }

  /// Makes the device the current one of this thread. Throws DeviceError if there is no such
  /// device, and InvalidArgument if a parameter is out of the kernels' range.
  template <class Sampler>
  void check(const Sampler& sampler, const Hyperparameters& parameters) const {
    validate_parameters(*this);
    checked_sampling_of(sampler);
    Machine::use(device);
    stride_of<RowSizes>(parameters.dimension);
  }

  class Run;
  /// Copies the model to the device, with the state of the optimizer, which is added to the model
  /// if it has none. Throws as `check` does, DeviceError if it does not fit, and InvalidArgument
  /// unless the model has an input and an output row for each word.
  template <class Sampler>
  std::unique_ptr<Run> start(const Sampler& sampler, const Hyperparameters& parameters,
                             Model& model) const {
    check(sampler, parameters);
    const auto targets = sampler.targets.start(model.vocabulary);
    require_rows(model, targets.output_rows());
    return std::make_unique<Run>(*this, sampler, targets, parameters, model);
  }
};

/// A run of training; not thread-safe. Besides the model, the device holds about 24 bytes and a row
/// of floats for each entry of a minibatch; a pair has K + 2 entries. These rows are at most those
/// of the model plus one for 64 entries.
template <class Machine, class Sorter, class RowSizes, class Optimizer>
class VanillaKernel<Machine, Sorter, RowSizes, Optimizer>::Run : public BatchRun<Machine> {
  using typename BatchRun<Machine>::Numbers;
  template <class T>
  using Array = typename BatchRun<Machine>::template Array<T>;

 public:
  template <class Sampler, class TargetTables>
  Run(const VanillaKernel& policy, const Sampler& sampler, const TargetTables& targets,
      const Hyperparameters& parameters, Model& model)
      : BatchRun<Machine>(sampler, targets, parameters, model.vocabulary),
        dimension_(model.dimension()),
        batch_(policy.batch),
        entries_of_pair_(sampling_.per_window + 2),
        rows_(model.input.rows() + model.output.rows()),
        step_(policy.optimizer, dimension_),
        model_(policy.optimizer, stride_of<RowSizes>(dimension_), model, machine_) {
    view_ = {model_.matrix(Model::Side::input).data, model_.matrix(Model::Side::output).data,
             stride_of<RowSizes>(dimension_)};
    const char* const what = "a minibatch";
    const std::size_t entries = batch_ * entries_of_pair_;
    for (auto* of_entries : {&entry_rows_, &sorted_rows_, &sorted_entries_, &pieces_, &numbers_})
      *of_entries = Array<std::uint32_t>(entries, what);
    piece_count_ = Array<std::uint32_t>(1, what);
    factors_ = Array<float>(entries, what);
    changes_ = Array<float>(batch_ * view_.stride, what);
    progress_ = Array<PairProgress>(1, what);
    static constexpr PairProgress none{};
    machine_.begin_copy(progress_.data(), &none, 1);
    sums_ = Array<float>(SortedView::max_pieces(entries, rows_) * view_.stride, what);
    sorter_.enumerate(numbers_.data(), entries, machine_);
    // All of these fit into 32 bits, because no device has room for more rows.
    minibatch_ = {.slot_count = static_cast<std::uint32_t>(entries_of_pair_),
                  .input_rows = static_cast<std::uint32_t>(model.input.rows()),
                  .no_row = static_cast<std::uint32_t>(rows_),
                  .rows = entry_rows_.data(),
                  .factors = factors_.data(),
                  .changes = changes_.data()};
    sorter_.reserve(entries, bits(), BeginsPiece{sorted_rows_.data()}, machine_);
    machine_.wait();
  }
  ~Run() { machine_.settle(); }

  static constexpr std::size_t batch_words() noexcept { return VanillaKernel::batch_words; }

  /// Trains a batch of sentences, with a learning rate that goes from `first_rate` to `last_rate`,
  /// in minibatches of its pairs, and keeps the rest for the next batch. The batch may be changed
  /// afterwards. Waits once for the number of pairs, and so for the batch before; for a larger
  /// batch than any before, twice. Its minibatches are then submitted without waiting for the
  /// device.
  void submit(const detail::SentenceBatch& given, std::size_t epoch, double first_rate,
              double last_rate) {
    this->submit_by(
        given, epoch, first_rate, last_rate,
        [&](const BatchView& batch, std::size_t words, typename Machine::Slot& slot) {
          const std::size_t pairs = list_pairs(batch, words);
          const auto train = [&](std::size_t count) {
            if (count == 0) return;
            score(batch, count);
            machine_.run(1, AdvancePairs{progress_.data(), static_cast<std::uint32_t>(count),
                                         static_cast<std::uint32_t>(pairs), first_rate, last_rate});
            filled_ += count;
            if (filled_ == batch_) apply();
          };
          const std::size_t rest = (std::min)(batch_ - filled_, pairs);
          train(rest);  // of the minibatch in progress
          const auto train_whole = [&] { train(batch_); };
          const std::size_t whole = (pairs - rest) / batch_;
          if (is_alone_)
            slot.repeat(whole, train_whole, machine_);
          else
            for (std::size_t i = 0; i < whole; ++i) train_whole();
          train((pairs - rest) % batch_);
        });
  }
  /// Sets the number of ranks that train. Minibatches of one rank are graphs. CUDA may wait for all
  /// work of the device before it has made a graph, and keep other threads of the process waiting:
  /// a sum of ranks would never end that needs them.
  void set_ranks(std::size_t ranks) { is_alone_ = ranks == 1; }

  /// Applies the minibatch in progress, full or not, at the learning rate of its last pair.
  void flush() {
    machine_.make_current();
    if (filled_ > 0) apply();
  }

  /// Returns the model on the device, whose work follows the submitted work.
  Replica replica() {
    return {machine_,
            view_,
            {model_.matrix(Model::Side::input).rows, model_.matrix(Model::Side::output).rows}};
  }

  /// Returns the largest absolute value of a side of the model, NaN if there is one, without the
  /// minibatch in progress. Waits for the device.
  float largest(Model::Side side) {
    machine_.make_current();
    const DeviceModelMatrix& matrix = model_.matrix(side);
    return sorter_.largest(matrix.data, matrix.rows * matrix.row_size, machine_);
  }

  /// Copies the model and the state of the optimizer back, without the minibatch in progress.
  void download(Model& model) {
    machine_.make_current();
    model_.download(model, machine_, this->slots_);
  }

 private:
  using BatchRun<Machine>::machine_;
  using BatchRun<Machine>::sampling_;

  /// Lists the pairs of a batch with `words` words before subsampling, and returns their number.
  std::size_t list_pairs(const BatchView& batch, std::size_t words) {
    if (words == 0) return 0;
    if (words > most_words_) {
      machine_.wait();  // for the batch before, which uses what may grow
      most_words_ = words;
    }
    grow(pair_ends_, words);
    grow(sentence_of_, words);
    machine_.run(batch.sentences,
                 CountPairs{batch, sampling_, pair_ends_.data(), sentence_of_.data()});
    sorter_.add_up(pair_ends_.data(), words, machine_);
    std::uint32_t pairs = 0;
    machine_.copy(&pairs, pair_ends_.data() + words - 1, 1);
    grow(pairs_, 2 * std::size_t{pairs});
    machine_.run(batch.sentences, ListPairs{batch, sampling_, pair_ends_.data(), pairs_.data()});
    return pairs;
  }

  /// Scores the next `count` pairs of a batch for the minibatch in progress.
  void score(const BatchView& batch, std::size_t count) {
    MinibatchView rest = minibatch_;
    rest.rows += filled_ * entries_of_pair_;
    rest.factors += filled_ * entries_of_pair_;
    rest.changes += filled_ * view_.stride;
    with_row_size<RowSizes>(dimension_, [&]<int R>() {
      machine_.run(count, ScorePair<R>{batch, sampling_, view_, pairs_.data(), sentence_of_.data(),
                                       rest, progress_.data()});
    });
  }

  /// Returns the number of bits of the numbers of rows, up to no_row.
  int bits() const { return static_cast<int>(std::bit_width(rows_)); }

  /// Applies the minibatch in progress and begins a new one.
  void apply() {
    const std::size_t entries = filled_ * entries_of_pair_;
    filled_ = 0;
    sorter_.sort(entry_rows_.data(), sorted_rows_.data(), numbers_.data(), sorted_entries_.data(),
                 entries, bits(), machine_);
    sorter_.select(numbers_.data(), pieces_.data(), piece_count_.data(), entries,
                   BeginsPiece{sorted_rows_.data()}, machine_);
    const SortedView sorted{
        sorted_rows_.data(), sorted_entries_.data(), static_cast<std::uint32_t>(entries),
        pieces_.data(),      piece_count_.data(),    sums_.data()};
    // Only the device knows the number of pieces. Pieces without a row come last.
    const std::size_t pieces = SortedView::max_pieces(entries, rows_);
    with_row_size<RowSizes>(dimension_, [&]<int R>() {
      machine_.run(pieces, SumPiece<R>{minibatch_, sorted, view_.input});
      machine_.run(pieces, StepRow<R, RowStep<Optimizer>>{minibatch_,
                                                          sorted,
                                                          view_,
                                                          step_,
                                                          {model_.state(Model::Side::input),
                                                           model_.state(Model::Side::output)},
                                                          progress_.data()});
    });
  }

  std::size_t dimension_, batch_;
  std::size_t entries_of_pair_;  // K + 2, entries of a pair
  std::size_t rows_;             // of both matrices
  RowStep<Optimizer> step_;
  DeviceModel<Machine, Optimizer> model_;
  ModelView view_{};
  Sorter sorter_;
  std::size_t most_words_ = 0;       // of a batch so far
  Numbers pair_ends_, sentence_of_;  // [words] of a batch
  Numbers pairs_;                    // [pairs x 2] of a batch, see ListPairs
  Array<PairProgress> progress_;     // [1]
  Array<std::uint32_t> entry_rows_, sorted_rows_, sorted_entries_, pieces_, piece_count_;
  Array<std::uint32_t> numbers_;  // [entries] 0, 1, 2, ...
  Array<float> factors_, changes_, sums_;
  MinibatchView minibatch_{};
  std::size_t filled_ = 0;  // pairs of the minibatch in progress
  bool is_alone_ = true;
};

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
