#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/subsampling.hpp>
#include <wordloom/cuda/device_matrix.hpp>
#include <wordloom/cuda/device_rows.hpp>
#include <wordloom/cuda/sampling.hpp>
#include <wordloom/cuda/sentence.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/negative_sampling.hpp>

namespace wordloom::inline WORDLOOM_ABI::cuda {

/// The loss of a batch, measured on a part of its pairs.
struct Trained {
  double loss = 0;      // of all these pairs
  double examples = 0;  // those with label 1
};

/// Work for one sentence of a batch: subsamples it.
struct SubsampleSentence {
  BatchView batch;
  SubsamplingView table;

  template <class Team>
  WORDLOOM_BOTH void operator()(const Team& team, std::uint32_t i) const {
    batch.subsample_sentence(team, table, i);
  }
};

/// Makes an array larger where it is too small.
template <class Array>
void grow(Array& array, std::size_t size) {
  if (array.size() >= size) return;
  array = {};  // first, so that both need not fit
  array = Array(size + size / 8, "a batch");
}

/// Trains batches of sentences on a machine. The sampler is only a set of parameters here: the
/// machine itself draws windows, negatives and subsampling, from streams of (seed, sentence, epoch,
/// purpose), so that the grid does not change them. Several sentences are trained at a time, each
/// by threads of its own, and change the one model without locks (Hogwild): results are
/// bit-identical only for one sentence in flight, and by GemmScheme on a device not even then.
/// - `Machine`: CudaMachine or HostMachine;
/// - `Method`: `RowSizes`, the lengths of rows in units of 32 floats, rising, to one of which rows
///   are padded; `min_words`, below which a batch does not keep the machine busy; `batch_words`,
///   the preferred number; `with_launch<R>(sampling, use)` calls use(launch) with the launch for
///   rows of 32 R floats: `launch.check(sampling, device)` and `launch.run(model, sampling, batch,
///   in_flight, device, machine)`;
/// - `Samplers`: those that the method implements; none: all that a device can draw.
template <class Machine, class Method, class... Samplers>
struct BatchKernel {
  std::size_t device = 0;               // which GPU, counted from 0
  std::size_t sentences_in_flight = 0;  // that are trained at a time; 0: automatic

  using Replica = DeviceReplica<Machine>;
  static constexpr std::size_t min_words = Method::min_words;
  template <class Sampler>
  static constexpr bool trains = sizeof...(Samplers) == 0
                                     ? DrawnOnDevice<Sampler>
                                     : (std::is_same_v<Sampler, Samplers> || ...);

  static BatchKernel from(const Hyperparameters& parameters) {
    return {parameters.device, parameters.sentences_in_flight};
  }
  /// Lists what changes the result, which the choice of the device does not.
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("sentences_in_flight", sentences_in_flight, 0, 1 << 20);
  }

  /// Makes the device the current one of this thread and returns what it is. Throws DeviceError
  /// when there is no such device or it has too little shared memory, and InvalidArgument when a
  /// parameter is beyond what the kernels take: what `start` would throw, for any vocabulary.
  template <class Sampler>
  typename Machine::Device check(const Sampler& sampler, const Hyperparameters& parameters) const {
    const Sampling sampling = sampling_of(sampler);
    detail::check_parameter("window of a kernel on a device", sampler.window.size, 1, 20);
    detail::check_parameter("negatives of a kernel on a device", sampling.per_window,
                            sampling.has_paths ? 0 : 1, 30);
    const auto properties = Machine::use(device);
    with_rows(parameters.dimension, [&]<int R>() {
      Method::template with_launch<R>(sampling,
                                      [&](auto launch) { launch.check(sampling, properties); });
    });
    return properties;
  }

  class Run;
  /// Copies the model to the device. Throws as `check` does, DeviceError when it does not fit, and
  /// InvalidArgument unless the model has an input row for each word and an output row for each
  /// target.
  template <class Sampler>
  std::unique_ptr<Run> start(const Sampler& sampler, const Hyperparameters& parameters,
                             const Model& model) const {
    const auto device_found = check(sampler, parameters);
    const auto targets = sampler.targets.start(model.vocabulary);
    const auto require = [](const std::string& name, const RowMatrix& matrix, std::size_t rows) {
      if (matrix.rows() != rows)
        throw InvalidArgument{"this sampler on a device trains ", rows, " rows of the ", name,
                              "; that matrix has ", matrix.rows()};
    };
    require("input", model.input, model.vocabulary.size());
    require("output", model.output, targets.output_rows());
    return std::make_unique<Run>(device_found, sentences_in_flight, sampler, targets, parameters,
                                 model);
  }

 private:
  template <class Use>
  static void with_rows(std::size_t dimension, Use use) {
    with_row_size<typename Method::RowSizes>(dimension, use);
  }
};

/// A run of training; not thread-safe.
template <class Machine, class Method, class... Samplers>
class BatchKernel<Machine, Method, Samplers...>::Run {
  template <class T>
  using Array = typename Machine::template Array<T>;
  using Numbers = typename Machine::Numbers;
  using Matrix = DeviceMatrix<Machine>;

 public:
  template <class Sampler, class TargetTables>
  Run(const typename Machine::Device& device, std::size_t in_flight, const Sampler& sampler,
      const TargetTables& targets, const Hyperparameters& parameters, const Model& model)
      : device_(device),
        in_flight_(in_flight),
        seed_(parameters.seed),
        dimension_(model.dimension()) {
    with_rows(dimension_, [&]<int R>() { model_.stride = std::size_t{32} * R; });
    input_ = Matrix(model.input, model_.stride, "the model", machine_);
    output_ = Matrix(model.output, model_.stride, "the model", machine_);
    model_.input = input_.data();
    model_.output = output_.data();
    sampling_ = sampling_of(sampler);
    for_each_part(targets, [&](const auto& part) { upload(part); });
    const Subsampling subsampling(model.vocabulary, parameters.subsample);
    const std::uint32_t all = UINT32_MAX;
    const auto table = subsampling.enabled() ? subsampling.table() : std::span(&all, 1);
    subsampling_ = {upload(highest_kept_, table), static_cast<std::uint32_t>(table.size() - 1)};
    machine_.wait();
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() { machine_.settle(); }

  std::size_t batch_words() const noexcept { return Method::batch_words; }
  /// Whether a batch is on the device, so that its words need not be given again.
  bool keeps(std::size_t index) const noexcept { return index < kept_.size(); }

  /// Starts to train a batch, with a learning rate that goes from `first_rate` to `last_rate`. The
  /// batch may be changed afterwards. Two batches may be in flight.
  void submit(const SentenceBatch& given, std::size_t epoch, double first_rate, double last_rate) {
    machine_.make_current();
    const std::size_t place = submitted_++ % 2;
    if (!given.keep || !keeps(given.index)) copy(given, place);
    const Batch& batch = given.keep && keeps(given.index) ? kept_[given.index] : transient_[place];
    const auto sentences = static_cast<std::uint32_t>(batch.sentences);
    BatchView view{.words = batch.numbers.data(),
                   .ends = batch.numbers.data() + batch.words,
                   .sentences = sentences,
                   .first_sentence = given.first_sentence,
                   .seed = seed_,
                   .epoch = static_cast<std::uint32_t>(epoch),
                   .first_rate = static_cast<float>(first_rate),
                   .last_rate = static_cast<float>(last_rate),
                   .kept = subsampled_.data(),
                   .kept_sizes = subsampled_.data() + batch.words};
    slots_[place].begin(view, machine_);
    machine_.run(sentences, SubsampleSentence{view, subsampling_});
    with_rows(dimension_, [&]<int R>() {
      Method::template with_launch<R>(sampling_, [&](auto launch) {
        launch.run(model_, sampling_, view, in_flight(sentences), device_, machine_);
      });
    });
    slots_[place].end(machine_);
  }
  /// Waits for the first batch in flight.
  Trained wait() { return slots_[waited_++ % 2].wait(); }

  /// The model, in the order of the submitted work.
  Replica replica() { return {machine_, model_, {input_.rows(), output_.rows()}}; }

  /// Copies the model back.
  void download(Model& model) {
    input_.begin_download(model.input, machine_);
    output_.begin_download(model.output, machine_);
    machine_.wait();
  }

 private:
  /// The words of a batch, then the ends of its sentences.
  struct Batch {
    Numbers numbers;
    std::size_t words = 0, sentences = 0;
  };

  template <class AnyArray, class Range>
  auto* upload(AnyArray& to, const Range& from) {
    to = AnyArray(from.size(), "a table");
    machine_.begin_copy(to.data(), from.data(), from.size());
    return to.data();
  }

  void upload(const NegativeSampling::Run& negatives) {
    const auto entries = negatives.distribution().table().entries();
    sampling_.negatives = {upload(negatives_, entries), static_cast<std::uint32_t>(entries.size())};
  }
  void upload(const HuffmanPath::Run& paths) {
    std::vector<std::uint32_t> ends, positives;
    std::vector<RowId> nodes;
    for (std::size_t word = 0; word < input_.rows(); ++word) {
      const TargetSet path = paths.tree().path(static_cast<WordId>(word));
      nodes.insert(nodes.end(), path.outputs.begin(), path.outputs.end());
      ends.push_back(static_cast<std::uint32_t>(nodes.size()));
      positives.push_back(static_cast<std::uint32_t>(path.positives));
    }
    sampling_.paths = {upload(paths_[0], ends),
                       upload(paths_[1], nodes),
                       upload(paths_[2], positives),
                       upload(paths_[3], paths.kept()),
                       static_cast<std::uint32_t>(paths.kept().size() - 1),
                       static_cast<std::uint32_t>(paths.max_outputs())};
    machine_.wait();  // for the lists
  }

  /// The default is so small that each word of a small vocabulary is in few sentences at a time. Of
  /// 71,000 rows, one sentence in flight for each 22 rows cost quality and one for each 8 diverged
  /// (benchmarks/simulate_in_flight).
  std::size_t in_flight(std::size_t sentences) const {
    if (in_flight_ != 0) return in_flight_;
    return std::max<std::size_t>(
        1, std::min(sentences / 4, std::max<std::size_t>(32, input_.rows() / 64)));
  }

  /// Copies a batch to the device, beside the training of the one before: to stay, where every
  /// epoch has it, as long as there is room, else to its place.
  void copy(const SentenceBatch& batch, std::size_t place) {
    const std::size_t size = batch.words.size() + batch.ends.size();
    Batch* to = &transient_[place];
    if (batch.keep && batch.index == kept_.size() &&
        machine_.has_room(2 * size * sizeof(std::uint32_t), kept_.size()))
      to = &kept_.emplace_back(Batch{Numbers(size, "the corpus")});
    grow(to->numbers, size);
    to->words = batch.words.size();
    to->sentences = batch.ends.size();
    if (subsampled_.size() < size) machine_.wait();  // the batch before uses it
    grow(subsampled_, size);
    slots_[place].copy(batch, to->numbers.data(), machine_);
  }

  typename Machine::Device device_;
  std::size_t in_flight_;  // 0: automatic
  std::uint64_t seed_;
  std::size_t dimension_;
  typename Machine::Queue machine_;
  ModelView model_{};
  Matrix input_, output_;
  Array<AliasTable::Entry> negatives_;
  Numbers paths_[4];      // see PathView
  Numbers highest_kept_;  // see SubsamplingView
  Sampling sampling_{};
  SubsamplingView subsampling_{};
  Numbers subsampled_;  // of a batch: words that are kept, then their number in each sentence
  std::vector<Batch> kept_;
  Batch transient_[2];               // of those that do not stay
  typename Machine::Slot slots_[2];  // of the batches in flight
  std::size_t submitted_ = 0, waited_ = 0;
};

}  // namespace wordloom::inline WORDLOOM_ABI::cuda
