#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/corpus/detail/sentence_batch.hpp>
#include <wordloom/corpus/word_context_lists.hpp>
#include <wordloom/cuda/detail/batch_kernel.hpp>
#include <wordloom/cuda/detail/column_work.hpp>
#include <wordloom/cuda/detail/device_matrix.hpp>
#include <wordloom/cuda/detail/device_model.hpp>
#include <wordloom/cuda/detail/row_steps.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/optimizer/concept.hpp>
#include <wordloom/sampler/detail/column_parts.hpp>
#include <wordloom/sampler/uniform_matrix.hpp>
#include <wordloom/sync/shared_matrix.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// The matrices of a model in training on a device, for RowAllgather.
template <class Machine>
struct ColumnReplica : Machine {
  std::vector<DeviceModelMatrix> all;  // in the order of Model::matrices()

  auto matrices() const {
    std::vector<detail::SharedMatrix<typename Machine::Values>> result;
    for (const DeviceModelMatrix& matrix : all)
      result.push_back({matrix.name, this->values(matrix.data, matrix.rows * matrix.row_size),
                        matrix.rows, matrix.row_size});
    return result;
  }
};

/// Trains the columns of a WordContextMatrix on a machine, as UniformMatrix describes: it draws the
/// negatives that the host would draw and, if the matrix is virtual, finds the contexts itself. No
/// row changes twice in a step, so that every run and any number of ranks give the same vectors,
/// bit for bit, on the same kind of machine; they equal the host's up to rounding. With B = 1, a
/// negative that is the context is drawn again from other random numbers than the host's.
/// - `Machine`: CudaMachine or HostMachine;
/// - `RowSizes`: an integer_sequence of the lengths of rows in units of 32 floats, ascending;
/// - `Optimizer`: one that has a RowStep. Its state is in the model, in the format of
///   WithOptimizer.
template <class Machine, class RowSizes, class Optimizer>
struct ColumnKernel {
  Optimizer optimizer = {};
  std::size_t device = 0;  // which GPU, counted from 0

  using Replica = ColumnReplica<Machine>;
  template <class Sampler>
  static constexpr bool trains = std::is_same_v<Sampler, UniformMatrix>;

  static ColumnKernel from(const Hyperparameters& parameters) {
    return {policy_from<Optimizer>(parameters), parameters.device};
  }
  /// Lists the parameters that change the result; the choice of the device does not.
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit_parameters_of(visit, optimizer);
  }

  /// Makes the device the current one of this thread. Throws DeviceError if there is no such
  /// device, and InvalidArgument if rows are longer than those of the kernels.
  void check(const UniformMatrix&, const Hyperparameters& parameters) const {
    Machine::use(device);
    with_row_size<RowSizes>(parameters.dimension, [&]<int R>() {});
  }

  class Run;
  /// Copies the model to the device; it may change once a column has been waited for. Throws as
  /// `check` does, and DeviceError if it does not fit.
  std::unique_ptr<Run> start(const UniformMatrix& sampler, const Hyperparameters& parameters,
                             Model& model) const {
    check(sampler, parameters);
    return std::make_unique<Run>(*this, sampler, parameters, model);
  }
};

/// A run of training; not thread-safe. The calls for each column: begin, train(inputs),
/// train(outputs), end, and later wait, with at most columns_in_flight() of them in flight. Columns
/// are waited for in groups, so that the device has work while the host sleeps.
template <class Machine, class RowSizes, class Optimizer>
class ColumnKernel<Machine, RowSizes, Optimizer>::Run {
  template <class T>
  using Array = typename Machine::template Array<T>;

 public:
  Run(const ColumnKernel& policy, const UniformMatrix& sampler, const Hyperparameters& parameters,
      Model& model)
      : step_(policy.optimizer, model.dimension()),
        dimension_(model.dimension()),
        targets_(sampler.targets.start(model.vocabulary)),
        model_(policy.optimizer, stride_of<RowSizes>(dimension_), model, machine_) {
    const auto entries = targets_.distribution().table().entries();
    column_.negatives = {upload(negatives_, entries, "a table"),
                         static_cast<std::uint32_t>(entries.size())};
    column_.at_once = static_cast<std::uint32_t>(sampler.words_at_once());
    column_.shared = static_cast<std::uint32_t>(sampler.shared());
    column_.weight =
        static_cast<float>(sampler.targets.negatives) / static_cast<float>(column_.shared);
    column_.seed = parameters.seed;
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() { machine_.settle(); }

  /// Gives the device the words of a column, and the parts [first, last) of them that this rank
  /// trains. They must stay until a column has been waited for. Throws DeviceError if they do not
  /// fit.
  void set_words(std::span<const WordId> words, std::pair<std::size_t, std::size_t> parts) {
    machine_.make_current();
    column_.words = upload(words_, words, "the words");
    column_.word_count = static_cast<std::uint32_t>(words.size());
    column_.first_part = static_cast<std::uint32_t>(parts.first);
    parts_ = parts;
    group_ =
        std::clamp<std::size_t>(Machine::Slot::staged_words / (words.size() + 1), 1, max_group);
    contexts_ = Array<std::uint32_t>(columns_in_flight() * words.size(), "the words");
  }
  /// Returns the maximum number of columns in flight: two groups, each of up to 16 columns and
  /// about a million words, so that the device has work for milliseconds and a stop is not delayed
  /// longer.
  std::size_t columns_in_flight() const noexcept { return 2 * group_; }
  /// Gives the device the contexts of all words, in which it then finds those of a column itself.
  /// They must stay until a column has been waited for. Throws DeviceError if they do not fit.
  void set_contexts(const detail::WordContextLists& lists) {
    machine_.make_current();
    const char* const what = "the contexts of all words";
    all_contexts_.lists = upload(lists_, lists.lists(), what);
    if (lists.short_ids().empty())
      all_contexts_.long_ids = upload(long_ids_, lists.long_ids(), what);
    else
      all_contexts_.short_ids = upload(short_ids_, lists.short_ids(), what);
  }
  bool finds_contexts() const noexcept { return lists_.size() > 0; }

  /// Begins a column: number `number` over all epochs, and `in_epoch` in its own. `contexts`
  /// [words] are used if the device does not find them itself, and may be changed afterwards.
  void begin_column(std::uint64_t number, std::size_t in_epoch,
                    const std::vector<WordId>& contexts) {
    machine_.make_current();
    const std::size_t place = submitted_ % columns_in_flight();
    auto& slot = slot_of(submitted_);
    if (submitted_ % group_ == 0) {
      BatchView sums{};
      slot.begin(sums, machine_);
      column_.loss = sums.loss;
    } else {
      column_.loss += 2;
    }
    WordId* const to = contexts_.data() + (finds_contexts() ? 0 : place * column_.word_count);
    column_.contexts = to;
    column_.column = number;
    column_.in_epoch = static_cast<std::uint32_t>(in_epoch);
    if (finds_contexts()) {
      const std::size_t first = detail::ColumnParts{column_.word_count}.first_word(parts_.first);
      const std::size_t end = detail::ColumnParts{column_.word_count}.first_word(parts_.second);
      machine_.run((end - first + 31) / 32,
                   FindContexts{all_contexts_, static_cast<std::uint32_t>(first),
                                static_cast<std::uint32_t>(end), number, to});
    } else {
      batch_.words.assign(contexts.begin(), contexts.end());
      slot.copy(batch_, to, machine_);
    }
  }
  /// Starts a step of the column, which changes one side of the model.
  void train(Block::Sides step, double rate) {
    machine_.make_current();
    const Model::Side moving =
        step == Block::Sides::inputs ? Model::Side::input : Model::Side::output;
    const Model::Side standing =
        step == Block::Sides::inputs ? Model::Side::output : Model::Side::input;
    column_.step = step;
    column_.rate = static_cast<float>(rate);
    column_.moving = model_.matrix(moving).data;
    column_.standing = model_.matrix(standing).data;
    with_row_size<RowSizes>(dimension_, [&]<int R>() {
      using Work = TrainGroup<R, RowStep<Optimizer>>;
      machine_.run((parts_.second - parts_.first) * column_.template groups<Work::words>(),
                   Work{column_, step_, model_.state(moving)});
    });
  }
  void end_column() {
    if (++submitted_ % group_ == 0) end_group();
  }
  /// Waits for the first column in flight, and for the others of its group that have been
  /// submitted.
  Trained wait() {
    const std::size_t column = waited_++;
    if (column == ended_) end_group();
    if (column == arrived_) {
      slot_of(column).wait();
      arrived_ = (std::min)(ended_, (column / group_ + 1) * group_);
    }
    return slot_of(column).trained(column % group_);
  }

  /// Returns all matrices on the device, whose work follows the submitted work.
  Replica replica() { return {machine_, model_.all()}; }

  /// Copies all matrices back.
  void download(Model& model) {
    machine_.make_current();
    model_.download(model, machine_, slots_);
  }

 private:
  static constexpr std::size_t max_group = 16;

  typename Machine::Slot& slot_of(std::size_t column) { return slots_[column / group_ % 2]; }
  /// Starts to copy the losses of all columns so far to the host.
  void end_group() {
    slot_of(submitted_ - 1).end(machine_);
    ended_ = submitted_;
  }
  template <class AnyArray, class Range>
  auto* upload(AnyArray& to, const Range& from, const char* what) {
    to = AnyArray(from.size(), what);
    machine_.begin_copy(to.data(), from.data(), from.size());
    return to.data();
  }

  RowStep<Optimizer> step_;
  std::size_t dimension_;
  NegativeSampling::Run targets_;
  typename Machine::Queue machine_;
  DeviceModel<Machine, Optimizer> model_;
  Array<detail::AliasTable::Entry> negatives_;
  Array<WordId> words_;
  ColumnView column_{};
  std::pair<std::size_t, std::size_t> parts_{};
  detail::WordContextView all_contexts_{};
  Array<detail::ContextList> lists_;
  Array<std::uint16_t> short_ids_;
  Array<WordId> long_ids_;
  Array<std::uint32_t> contexts_;  // [columns in flight x words]; the device finds them in row 0
  detail::SentenceBatch batch_;    // contexts that are being copied
  using Slot = typename Machine::Slot;
  Slot slots_[2] = {Slot(max_group), Slot(max_group)};  // of the groups in flight
  std::size_t group_ = 1;                               // columns of a group
  // Numbers of columns: of those in `ended_`, losses are on their way; `arrived_` waited for.
  std::size_t submitted_ = 0, ended_ = 0, arrived_ = 0, waited_ = 0;
};

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
