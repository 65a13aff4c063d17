#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/corpus/sentence_batch.hpp>
#include <wordloom/cuda/device_kernel.hpp>
#include <wordloom/cuda/sentence.hpp>
#include <wordloom/model/model.hpp>

namespace wordloom::cuda {

/// The host in place of a device, for DeviceRows.
struct HostMachine {
  template <class T>
  using Array = std::vector<T>;
  using Values = std::span<float>;

  Values values(float* data, std::size_t size) const { return {data, size}; }
  void copy(float* to, const float* from, std::size_t size) const {
    std::copy(from, from + size, to);
  }
  void upload(Array<float>& to, const std::vector<float>& from) const { to = from; }
  float read(const float* from) const { return *from; }
  /// Calls work(team, i) for each i below `count`.
  template <class Work>
  void run(std::size_t count, const Work& work) const {
    for (std::size_t i = 0; i < count; ++i) work(HostTeam<32>(), static_cast<std::uint32_t>(i));
  }
};

/// Trains sentences one after the other, each to its end.
struct OneByOne {
  /// The preferred number of words of a batch.
  static constexpr std::size_t batch_words = 50'000;
  /// Calls use(i, place) for each i below `count`; no two that run at the same time have the same
  /// place, which is below `in_flight`.
  template <class Use>
  static void run(std::size_t count, [[maybe_unused]] std::size_t in_flight, Use&& use) {
    for (std::size_t i = 0; i < count; ++i) use(i, std::size_t{0});
  }
};

/// A CudaKernel whose device is the host. It computes what a GPU would, slowly, to test a scheme
/// where there is none. Sentences are trained by a Team of the host in the order of `Order`. Rows
/// are R x Team::width floats. One thread; deterministic.
template <class Scheme, int R, class Team, class Order = OneByOne>
struct HostKernel : DeviceKernel {
  using Replica = DeviceReplica<HostMachine>;
  static constexpr std::size_t min_words = 1;
  template <class Sampler>
  static constexpr bool trains = DrawnOnDevice<Sampler>;

  static HostKernel from(const Hyperparameters& parameters) {
    return {DeviceKernel::from(parameters)};
  }

  class Run;
  /// Copies the model. Throws as RunTables does, and InvalidArgument when a row is too long.
  template <class Sampler>
  std::unique_ptr<Run> start(const Sampler& sampler, const Hyperparameters& parameters,
                             const Model& model) const {
    return std::make_unique<Run>(*this, RunTables(sampler, parameters, model), model);
  }
};

/// A run of training; not thread-safe.
template <class Scheme, int R, class Team, class Order>
class HostKernel<Scheme, R, Team, Order>::Run {
 public:
  Run(const HostKernel& kernel, RunTables tables, const Model& model)
      : tables_(std::move(tables)),
        rows_(model.rows()),
        floats_(2 * rows_ * row),
        memory_(std::max<std::size_t>(1, kernel.sentences_in_flight),
                std::vector<float>(Scheme::floats_of_own(tables_.sampling, row))) {
    if (model.dimension() > row)
      throw InvalidArgument("dimension is " + std::to_string(model.dimension()) +
                            ", this HostKernel takes up to " + std::to_string(row));
    for_each_value(model, [](const float& value, float& place) { place = value; });
  }

  std::size_t batch_words() const noexcept { return Order::batch_words; }
  /// Keeps the first two batches, as a device keeps those that fit its memory.
  bool keeps(std::size_t index) const noexcept { return index < kept_.size(); }

  /// Trains at once.
  void submit(const SentenceBatch& given, std::size_t epoch, double first_rate, double last_rate) {
    if (given.keep && given.index == kept_.size() && kept_.size() < 2) kept_.push_back(given);
    const SentenceBatch& batch = given.keep && keeps(given.index) ? kept_[given.index] : given;
    const std::size_t sentences = batch.ends.size();
    std::vector<WordId> kept(batch.words.size());
    std::vector<std::uint32_t> kept_sizes(sentences);
    BatchView view = tables_.view(given, sentences, epoch, first_rate, last_rate);
    view.words = batch.words.data();
    view.ends = batch.ends.data();
    view.kept = kept.data();
    view.kept_sizes = kept_sizes.data();
    PairLoss loss;
    Order::run(sentences, memory_.size(), [&](std::size_t number, std::size_t place) {
      const auto i = static_cast<std::uint32_t>(number);
      view.subsample_sentence(HostTeam<32>(), tables_.subsampling(), i);
      Scheme::train(SentenceTask<R, Team>{Team(), model(), tables_.sampling, view.sentence(i),
                                          memory_[place].data(), loss});
    });
    trained_.push_back({static_cast<double>(loss.sum), static_cast<double>(loss.positives)});
  }
  /// Returns the loss of the first batch that was not waited for.
  Trained wait() {
    const Trained first = trained_.front();
    trained_.pop_front();
    return first;
  }

  Replica replica() noexcept { return {{}, model(), rows_}; }

  /// Copies the model back.
  void download(Model& to) {
    for_each_value(to, [](float& value, const float& place) { value = place; });
  }

 private:
  static constexpr std::size_t row = std::size_t{Team::width} * R;

  ModelView model() noexcept { return {floats_.data(), floats_.data() + rows_ * row, row}; }

  template <class AnyModel, class Use>
  void for_each_value(AnyModel& other, Use use) {
    for (std::size_t i = 0; i < rows_; ++i) {
      const auto word = static_cast<WordId>(i);
      for (std::size_t d = 0; d < other.dimension(); ++d) {
        use(other.input.row(i)[d], model().input_row(word)[d]);
        use(other.output.row(i)[d], model().output_row(word)[d]);
      }
    }
  }

  RunTables tables_;
  std::size_t rows_;
  std::vector<float> floats_;
  std::vector<std::vector<float>> memory_;  // of the scheme, for each sentence in flight
  std::vector<SentenceBatch> kept_;
  std::deque<Trained> trained_;
};

}  // namespace wordloom::cuda
