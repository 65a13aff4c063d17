#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/corpus/sentence_batch.hpp>
#include <wordloom/corpus/subsampling.hpp>
#include <wordloom/cuda/arithmetic.hpp>
#include <wordloom/cuda/device_rows.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/negative_sampling.hpp>

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
  /// work(team, i) for each i below `count`.
  template <class Work>
  void run(std::size_t count, const Work& work) const {
    for (std::size_t i = 0; i < count; ++i) work(HostTeam<32>(), static_cast<std::uint32_t>(i));
  }
};

/// Runs sentences one after the other, each to its end.
struct OneByOne {
  /// Words of a batch, about.
  static constexpr std::size_t batch_words = 50'000;
  /// Calls use(i, place) for each i below `count`; what runs at the same time has another place.
  template <class Use>
  static void run(std::size_t count, std::size_t, Use&& use) {
    for (std::size_t i = 0; i < count; ++i) use(i, 0);
  }
};

/// A CudaKernel whose device is the host: what a GPU would compute, slowly, to test a scheme where
/// there is none. Sentences are trained by a team of the host as `Order` says. Rows are
/// R x Team::width floats. One thread; deterministic.
template <class Scheme, int R, class Team, class Order = OneByOne>
class HostKernel {
 public:
  using Consumes = SentenceBatch;
  using Replica = DeviceReplica<HostMachine>;
  static constexpr std::size_t least_words = 1;
  template <class Sampler>
  static constexpr bool trains = true;

  template <class Sampler>
  static HostKernel make(const Hyperparameters& parameters, const Model& model) {
    HostKernel kernel(parameters, model);
    kernel.sampling_ = sampling_of<Sampler>(parameters, {kernel.negatives_.table().entries().data(),
                                                         static_cast<std::uint32_t>(model.rows())});
    kernel.memory_.assign(kernel.in_flight_,
                          std::vector<float>(Scheme::floats_of_own(kernel.sampling_, row)));
    return kernel;
  }

  std::size_t batch_words() const { return Order::batch_words; }
  /// Keeps the first two batches, as a device does when memory ends.
  bool keeps(std::size_t index) const { return index < kept_.size(); }

  struct Trained {
    double loss = 0, positives = 0;
  };
  /// Trains at once.
  void begin(const SentenceBatch& given, std::size_t epoch, double first_rate, double last_rate) {
    if (given.index == kept_.size() && kept_.size() < 2) kept_.push_back(given);
    const SentenceBatch& batch = keeps(given.index) ? kept_[given.index] : given;
    PairLoss loss;
    Order::run(batch.ends.size(), in_flight_, [&](std::size_t i, std::size_t place) {
      const SentenceRandom random{parameters_.seed, batch.first_sentence + i,
                                  static_cast<std::uint32_t>(epoch)};
      const std::uint32_t begin = i == 0 ? 0 : batch.ends[i - 1], size = batch.ends[i] - begin;
      std::vector<WordId> kept(size + 1);
      const std::uint32_t kept_size =
          subsample(HostTeam<32>(), highest_kept_.data(),
                    static_cast<std::uint32_t>(highest_kept_.size() - 1),
                    batch.words.data() + begin, size, random, kept.data());
      const double done = static_cast<double>(i) / static_cast<double>(batch.ends.size());
      const Sentence sentence{kept.data(), kept_size, random,
                              static_cast<float>(first_rate + (last_rate - first_rate) * done),
                              i % 16 == 0};
      Scheme::template train<R>(Team(), view_, sampling_, sentence, memory_[place].data(), loss);
    });
    trained_.push_back({static_cast<double>(loss.sum), static_cast<double>(loss.positives)});
  }
  Trained end() {
    const Trained first = trained_.front();
    trained_.pop_front();
    return first;
  }

  Replica replica() { return {{}, view_, floats_.size() / 2 / row}; }

  void finish(Model& model) {
    for_each_row(model, [](auto& value, float& place) { value = place; });
  }

 private:
  static constexpr std::size_t row = std::size_t{Team::width} * R;

  HostKernel(const Hyperparameters& parameters, const Model& model)
      : parameters_(parameters),
        in_flight_(std::max<std::size_t>(1, parameters.sentences_in_flight)),
        negatives_(model.vocabulary, parameters.negative_exponent),
        highest_kept_{UINT32_MAX},
        floats_(2 * model.rows() * row),
        view_{floats_.data(), floats_.data() + model.rows() * row, row} {
    const Subsampling subsampling(model.vocabulary, parameters.subsample);
    if (subsampling.enabled())
      highest_kept_.assign(subsampling.table().begin(), subsampling.table().end());
    for_each_row(model, [](const float& value, float& place) { place = value; });
  }

  template <class AnyModel, class Use>
  void for_each_row(AnyModel& model, Use use) {
    for (std::size_t i = 0; i < model.rows(); ++i) {
      const auto word = static_cast<WordId>(i);
      for (std::size_t d = 0; d < model.dimension(); ++d) {
        use(model.input.row(i)[d], view_.input_row(word)[d]);
        use(model.output.row(i)[d], view_.output_row(word)[d]);
      }
    }
  }

  Hyperparameters parameters_;
  std::size_t in_flight_;
  NegativeDistribution negatives_;
  std::vector<std::uint32_t> highest_kept_;
  std::vector<float> floats_;
  ModelView view_;
  Sampling sampling_;
  std::vector<std::vector<float>> memory_;  // of the scheme, for each sentence in flight
  std::vector<SentenceBatch> kept_;
  std::deque<Trained> trained_;
};

}  // namespace wordloom::cuda
