#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/corpus/sentence_batch.hpp>
#include <wordloom/corpus/subsampling.hpp>
#include <wordloom/cuda/sampling.hpp>
#include <wordloom/cuda/sentence.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/negative_sampling.hpp>

/// The parts that CudaKernel and HostKernel share.
namespace wordloom::cuda {

/// The parameters of a kernel on a device.
struct DeviceKernel {
  std::size_t device = 0;               // which GPU, counted from 0
  std::size_t sentences_in_flight = 0;  // that are trained at a time; 0: automatic

  static DeviceKernel from(const Hyperparameters& parameters) {
    return {parameters.device, parameters.sentences_in_flight};
  }
  /// Lists what changes the result, which the choice of the device does not.
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("sentences_in_flight", sentences_in_flight, 0, 1 << 20);
  }
};

/// The loss of a batch, measured on a part of its pairs.
struct Trained {
  double loss = 0;      // of all these pairs
  double examples = 0;  // those with label 1
};

/// The model of a run on a device, as a SyncPolicy gets it. `Machine` runs work on the device.
template <class Machine>
struct DeviceReplica {
  Machine machine;
  ModelView view;
  std::size_t rows;  // of each matrix
};

/// The sampling of a run, with its tables in the memory of the host.
struct RunTables {
  std::uint64_t seed;
  NegativeDistribution negatives;
  std::vector<std::uint32_t> highest_kept;  // see SubsamplingView
  Sampling sampling;

  /// Throws InvalidArgument unless both matrices of the model have one row for each word.
  template <DrawnOnDevice Sampler>
  RunTables(const Sampler& sampler, const Hyperparameters& parameters, const Model& model)
      : seed(parameters.seed),
        negatives(model.vocabulary, sampler.targets.exponent),
        highest_kept{UINT32_MAX},  // keeps all words
        sampling(sampling_of(sampler, view_of(negatives.table()))) {
    for (const RowMatrix* matrix : {&model.input, &model.output})
      if (matrix->rows() != model.vocabulary.size())
        throw InvalidArgument("kernels on a device train one row for each word in each matrix, " +
                              std::to_string(model.vocabulary.size()) + "; a matrix has " +
                              std::to_string(matrix->rows()));
    const Subsampling subsampling(model.vocabulary, parameters.subsample);
    if (subsampling.enabled())
      highest_kept.assign(subsampling.table().begin(), subsampling.table().end());
  }

  SubsamplingView subsampling() const noexcept {
    return {highest_kept.data(), static_cast<std::uint32_t>(highest_kept.size() - 1)};
  }

  /// Returns the view of a batch of so many sentences; the caller adds the pointers.
  BatchView view(const SentenceBatch& batch, std::size_t sentences, std::size_t epoch,
                 double first_rate, double last_rate) const {
    BatchView view{};
    view.sentences = static_cast<std::uint32_t>(sentences);
    view.first_sentence = batch.first_sentence;
    view.seed = seed;
    view.epoch = static_cast<std::uint32_t>(epoch);
    view.first_rate = static_cast<float>(first_rate);
    view.last_rate = static_cast<float>(last_rate);
    return view;
  }

  static AliasView view_of(const AliasTable& table) noexcept {
    return {table.entries().data(), static_cast<std::uint32_t>(table.size())};
  }
};

}  // namespace wordloom::cuda
