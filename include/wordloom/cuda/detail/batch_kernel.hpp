#pragma once
#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/corpus/detail/sentence_batch.hpp>
#include <wordloom/cuda/detail/batch_run.hpp>
#include <wordloom/cuda/detail/device_matrix.hpp>
#include <wordloom/cuda/detail/device_rows.hpp>
#include <wordloom/cuda/detail/sampling.hpp>
#include <wordloom/cuda/detail/sentence.hpp>
#include <wordloom/model/model.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// A scheme that divides a whole batch into parts other than its sentences, and trains these.
template <class Scheme>
concept TrainsParts = requires(const Sampling& sampling, const BatchView& batch) {
  Scheme::parts(sampling, batch);
};

/// Several kernel launches for each batch, one after the other.
template <class... Launches>
struct InTurn {
  template <class... Arguments>
  static void check(const Arguments&... arguments) {
    (Launches::check(arguments...), ...);
  }
  template <class... Arguments>
  static std::size_t run(const Arguments&... arguments) {
    return (std::max)({Launches::run(arguments...)...});
  }
};

/// Trains batches of sentences on a machine. The sampler only supplies parameters: the machine
/// itself subsamples and draws windows and negatives. Its random numbers depend on (seed, sentence,
/// epoch, purpose) alone, so that the launch grid does not change them. Several sentences are
/// trained at a time, each by its own threads, and all change one model without locks (Hogwild).
/// Runs are bit-identical only with one sentence in flight, and with minibatches on a device not
/// even then.
/// - `Machine`: CudaMachine or HostMachine;
/// - `Method`, with these members:
///   - `RowSizes`: the supported lengths of rows in units of 32 floats, ascending; rows are padded
///     to the next one;
///   - `min_words`: the number of words that a batch needs to keep the machine busy;
///   - `batch_words`: the preferred number of words of a batch;
///   - `with_launch<R>(sampling, use)`: calls use(launch) with the launch for rows of 32 R floats,
///     which has `launch.check(sampling, device)` and `launch.run(model, sampling, batch,
///     in_flight, device, machine)`, which returns the number of sentences really in flight;
///   - `require<Sampler>()`, optional: refuses a sampler by a static_assert;
/// - `Samplers`: those that the method implements; if empty, all for which a device can draw.
template <class Machine, class Method, class... Samplers>
struct BatchKernel {
  std::size_t device = 0;               // the number of the GPU, from 0
  std::size_t sentences_in_flight = 0;  // trained at a time; 0: automatic

  using Replica = DeviceReplica<Machine>;
  static constexpr std::size_t min_words = Method::min_words;
  template <class Sampler>
  static constexpr bool trains = sizeof...(Samplers) == 0
                                     ? DrawnOnDevice<Sampler>
                                     : (std::is_same_v<Sampler, Samplers> || ...);

  /// Refuses a sampler that the method does not implement, by a static_assert that says why.
  template <class Sampler>
  static constexpr bool require() {
    if constexpr (requires { Method::template require<Sampler>(); })
      return Method::template require<Sampler>();
    return true;
  }

  static BatchKernel from(const Hyperparameters& parameters) {
    return {parameters.device, parameters.sentences_in_flight};
  }
  /// Lists the parameters that change the result: not `device`.
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("sentences_in_flight", sentences_in_flight, 0, 1 << 20);
  }

  /// Makes the device the current one of this thread and returns its properties. Throws DeviceError
  /// if there is no such device or it has too little shared memory, and InvalidArgument if a
  /// parameter is out of the kernels' range. Needs no vocabulary, so that such errors come early.
  template <class Sampler>
  typename Machine::Device check(const Sampler& sampler, const Hyperparameters& parameters) const {
    const Sampling sampling = checked_sampling_of(sampler);
    const auto properties = Machine::use(device);
    with_rows(parameters.dimension, [&]<int R>() {
      Method::template with_launch<R>(sampling,
                                      [&](auto launch) { launch.check(sampling, properties); });
    });
    return properties;
  }

  class Run;
  /// Copies the model to the device and returns the run. Throws as `check` does, DeviceError if the
  /// model does not fit, and InvalidArgument unless it has exactly one input row for each word and
  /// one output row for each target.
  template <class Sampler>
  std::unique_ptr<Run> start(const Sampler& sampler, const Hyperparameters& parameters,
                             const Model& model) const {
    if constexpr (requires { sampler.block_contexts; })
      if (sampler.block_contexts != 0)
        throw InvalidArgument{"block_contexts is ", sampler.block_contexts,
                              ", and kernels for a GPU train whole windows: leave it at 0"};
    const auto device_found = check(sampler, parameters);
    const auto targets = sampler.targets.start(model.vocabulary);
    require_rows(model, targets.output_rows());
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
class BatchKernel<Machine, Method, Samplers...>::Run : public BatchRun<Machine> {
  using Matrix = DeviceMatrix<Machine>;

 public:
  template <class Sampler, class TargetTables>
  Run(const typename Machine::Device& device, std::size_t in_flight, const Sampler& sampler,
      const TargetTables& targets, const Hyperparameters& parameters, const Model& model)
      : BatchRun<Machine>(sampler, targets, parameters, model.vocabulary),
        device_(device),
        in_flight_(in_flight),
        dimension_(model.dimension()) {
    with_rows(dimension_, [&]<int R>() { model_.stride = std::size_t{32} * R; });
    input_ = Matrix(model.input, model_.stride, "the model", machine_);
    output_ = Matrix(model.output, model_.stride, "the model", machine_);
    model_.input = input_.data();
    model_.output = output_.data();
    machine_.wait();
  }
  ~Run() { machine_.settle(); }

  std::size_t batch_words() const noexcept { return Method::batch_words; }
  /// Returns the maximum number of sentences that were in flight in a batch so far.
  std::size_t sentences_in_flight() const noexcept { return most_in_flight_; }

  /// Starts to train a batch; the learning rate changes linearly from `first_rate` to `last_rate`.
  /// The caller may reuse the batch's memory at once. At most two batches may be in flight.
  void submit(const detail::SentenceBatch& given, std::size_t epoch, double first_rate,
              double last_rate) {
    this->submit_by(
        given, epoch, first_rate, last_rate, [&](const BatchView& batch, std::size_t, auto&) {
          with_rows(dimension_, [&]<int R>() {
            Method::template with_launch<R>(sampling_, [&](auto launch) {
              const std::size_t really = launch.run(model_, sampling_, batch,
                                                    in_flight(batch.sentences), device_, machine_);
              most_in_flight_ = (std::max)(most_in_flight_, really);
            });
          });
        });
  }

  /// Returns the model on the device, for the SyncPolicy. Its operations run after all submitted
  /// batches.
  Replica replica() { return {machine_, model_, {input_.rows(), output_.rows()}}; }

  /// Copies the model back to the host and waits for it.
  void download(Model& model) {
    machine_.make_current();
    input_.download(model.input, machine_, this->slots_);
    output_.download(model.output, machine_, this->slots_);
  }

 private:
  using BatchRun<Machine>::machine_;
  using BatchRun<Machine>::sampling_;

  /// Returns the number of sentences to train at a time. The default of one for each 64 rows keeps
  /// down the number of sentences that change the same row at once. With 71,000 rows, one for each
  /// 22 rows cost quality and one for each 8 diverged (benchmarks/simulate_in_flight).
  std::size_t in_flight(std::size_t sentences) const {
    if (in_flight_ != 0) return in_flight_;
    return (std::max<std::size_t>)(1, (std::min)(sentences / 4,
                                                 (std::max<std::size_t>)(32, input_.rows() / 64)));
  }

  typename Machine::Device device_;
  std::size_t in_flight_;           // 0: automatic
  std::size_t most_in_flight_ = 0;  // that the device had room for
  std::size_t dimension_;
  ModelView model_{};
  Matrix input_, output_;
};

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
