#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/parameters.hpp>
#include <wordloom/corpus/sentence_batch.hpp>
#include <wordloom/cuda/device_kernel.hpp>
#include <wordloom/cuda/device_model.cuh>
#include <wordloom/cuda/gemm_scheme.hpp>
#include <wordloom/cuda/launch.cuh>
#include <wordloom/cuda/machine.cuh>
#include <wordloom/cuda/register_scheme.hpp>
#include <wordloom/cuda/ring_buffer_scheme.hpp>
#include <wordloom/cuda/sentence_scheme.hpp>
#include <wordloom/cuda/warp_scheme.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/hogwild.hpp>
#include <wordloom/sampler/sentence_minibatch.hpp>
#include <wordloom/sampler/shared_negative.hpp>

namespace wordloom {
namespace cuda {

/// The lengths of rows on a device, in units of 32 floats, rising: rows are padded to one of them.
/// Each is a kernel of its own; a program that knows its dimensions may define fewer, the same ones
/// in all its files.
#ifndef WORDLOOM_CUDA_ROW_SIZES
#define WORDLOOM_CUDA_ROW_SIZES 1, 2, 4, 6, 8, 10, 12, 16, 24, 32
#endif
using RowSizes = std::integer_sequence<int, WORDLOOM_CUDA_ROW_SIZES>;

/// The methods of CudaKernel: each calls use(launch) with the launch, like BatchLaunch, for rows of
/// 32 R floats. Here a thread block trains a sentence, with one float of a row in each thread.
template <class Scheme>
struct BlockMethod {
  template <int R, class Use>
  static void with_launch(const Sampling&, Use use) {
    use(BatchLaunch<Scheme, 1, BlockTeam<32 * R>, 32 * R>());
  }
};

/// WarpScheme where registers can hold the rows of a window, else SharedWarpScheme.
struct WarpMethod {
  template <int R, class Use>
  static void with_launch(const Sampling& sampling, Use use) {
    constexpr int threads = 128;
    const std::uint32_t places = 2 * sampling.max_reach + 1;
    if constexpr (R <= 10)
      if (places <= 7) return use(BatchLaunch<WarpScheme<7>, R, WarpTeam, threads>());
    if constexpr (R <= 6)
      if (places <= 11) return use(BatchLaunch<WarpScheme<11>, R, WarpTeam, threads>());
    use(BatchLaunch<SharedWarpScheme, R, WarpTeam, threads>());
  }
};

/// GemmScheme by thread blocks of four warps.
struct GemmMethod {
  template <int R, class Use>
  static void with_launch(const Sampling&, Use use) {
    use(BatchLaunch<GemmScheme, R, WarpsTeam<4>, 128>());
  }
};

}  // namespace cuda

/// Trains on a GPU. The sampler is only a set of parameters here: the device itself draws windows,
/// negatives and subsampling, from streams of (seed, sentence, epoch, purpose), so that the grid
/// does not change them. Several sentences are trained at a time, each by threads of its own, and
/// change the one model without locks (Hogwild) by atomic additions: results are bit-identical only
/// for one sentence in flight, and by CudaGemmKernel not even then. `Samplers`: those whose method
/// it implements.
template <class Method, class... Samplers>
struct CudaKernel : cuda::DeviceKernel {
  using Replica = cuda::DeviceReplica<cuda::CudaMachine>;
  /// The minimum size of a batch, in words: smaller ones do not keep a device busy.
  static constexpr std::size_t min_words = std::size_t{1} << 20;
  template <class Sampler>
  static constexpr bool trains = (std::is_same_v<Sampler, Samplers> || ...);

  static CudaKernel from(const Hyperparameters& parameters) {
    return {cuda::DeviceKernel::from(parameters)};
  }

  /// Makes the device the current one of this thread and returns what it is. Throws DeviceError
  /// when there is no such device or it has too little shared memory, and InvalidArgument when a
  /// parameter is beyond what the kernels take: what `start` would throw, for any vocabulary.
  template <class Sampler>
  cudaDeviceProp check(const Sampler& sampler, const Hyperparameters& parameters) const {
    const cuda::Sampling sampling = cuda::sampling_of(sampler, {});
    detail::check_parameter("window of a kernel on a GPU", sampler.window.size, 1, 20);
    detail::check_parameter("negatives of a kernel on a GPU", sampling.per_window, 1, 30);
    const cudaDeviceProp properties = cuda::use_device(static_cast<int>(device));
    with_launch(parameters.dimension, sampling,
                [&](auto launch) { launch.check(sampling, properties); });
    return properties;
  }

  class Run;
  /// Copies the model to the device. Throws as `check` and RunTables do, and DeviceError when it
  /// does not fit.
  template <class Sampler>
  std::unique_ptr<Run> start(const Sampler& sampler, const Hyperparameters& parameters,
                             const Model& model) const {
    const cudaDeviceProp properties = check(sampler, parameters);
    return std::make_unique<Run>(*this, properties, cuda::RunTables(sampler, parameters, model),
                                 model);
  }

 private:
  /// Calls use.operator()<R>() for the shortest rows, of 32 R floats, that `dimension` fits. Throws
  /// InvalidArgument when none is long enough.
  template <class Use>
  static void with_rows(std::size_t dimension, Use use) {
    const auto find = [&]<int... R>(std::integer_sequence<int, R...>) {
      const bool found =
          ((dimension <= std::size_t{32} * R && (use.template operator()<R>(), true)) || ...);
      if (!found)
        detail::check_parameter("dimension of a kernel on a GPU", dimension, 1,
                                std::max({32 * R...}));
    };
    find(cuda::RowSizes());
  }
  /// Calls use(launch) for these rows.
  template <class Use>
  static void with_launch(std::size_t dimension, const cuda::Sampling& sampling, Use use) {
    with_rows(dimension, [&]<int R>() { Method::template with_launch<R>(sampling, use); });
  }
};

/// A run of training; not thread-safe.
template <class Method, class... Samplers>
class CudaKernel<Method, Samplers...>::Run {
 public:
  Run(const CudaKernel& kernel, const cudaDeviceProp& device, const cuda::RunTables& tables,
      const Model& model)
      : wanted_in_flight_(kernel.sentences_in_flight),
        device_(device),
        dimension_(model.dimension()),
        tables_on_host_(tables),
        model_(model, row_size(), stream_),
        tables_(tables, stream_) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() {
    (void)cudaStreamSynchronize(copies_);
    (void)cudaStreamSynchronize(stream_);
  }

  /// The preferred number of words of a batch.
  std::size_t batch_words() const noexcept { return std::size_t{1} << 22; }
  /// Whether a batch is on the device, so that its words need not be given again.
  bool keeps(std::size_t index) const noexcept { return index < kept_.size(); }

  /// Starts to train a batch, with a learning rate that goes from `first_rate` to `last_rate`. The
  /// batch may be changed afterwards. Two batches may be in flight.
  void submit(const SentenceBatch& batch, std::size_t epoch, double first_rate, double last_rate) {
    cuda::BatchSlot& slot = slots_[submitted_++ % 2];
    if (!batch.keep || !keeps(batch.index)) copy(batch, slot);
    const bool kept = batch.keep && keeps(batch.index);
    const cuda::DeviceBatch& on_device = kept ? kept_[batch.index] : slot.transient;
    const std::size_t sentences = kept ? on_device.ends.size() : batch.ends.size();
    slot.next.clear(stream_);
    slot.loss.clear(stream_);
    cuda::DeviceBatchView view{tables_on_host_.view(batch, sentences, epoch, first_rate, last_rate),
                               slot.next.data(), slot.loss.data()};
    view.words = on_device.words.data();
    view.ends = on_device.ends.data();
    view.kept = kept_words_.data();
    view.kept_sizes = kept_sizes_.data();
    constexpr int threads = 256;
    const auto grid = static_cast<unsigned>(8 * device_.multiProcessorCount);
    cuda::subsample_batch<><<<grid, threads, 0, stream_>>>(view, tables_.subsampling());
    cuda::check(cudaGetLastError());
    with_launch(dimension_, tables_.sampling, [&](auto launch) {
      launch.run(model_.view(), tables_.sampling, view, in_flight(sentences), device_,
                 static_cast<cudaStream_t>(stream_));
    });
    slot.loss.copy_to(slot.loss_on_host.first(2), stream_);
    slot.done.record(stream_);
  }

  /// Waits for the first batch in flight.
  cuda::Trained wait() {
    const cuda::BatchSlot& slot = slots_[waited_++ % 2];
    slot.done.wait();
    const auto loss = slot.loss_on_host.first(2);
    return {loss[0], loss[1]};
  }

  /// The model, in the order of the submitted work.
  Replica replica() { return {{stream_, copies_}, model_.view(), model_.rows()}; }

  /// Copies the model back.
  void download(Model& model) { model_.download(model, stream_); }

 private:
  std::size_t row_size() const {
    std::size_t floats = 0;
    with_rows(dimension_, [&]<int R>() { floats = std::size_t{32} * R; });
    return floats;
  }

  /// The default is so small that each word of a small vocabulary is in few sentences at a time. Of
  /// 71,000 rows, one sentence in flight for each 22 rows cost quality and one for each 8 diverged
  /// (benchmarks/simulate_in_flight).
  std::size_t in_flight(std::size_t sentences) const {
    if (wanted_in_flight_ != 0) return wanted_in_flight_;
    return std::max<std::size_t>(
        1, std::min(sentences / 4, std::max<std::size_t>(32, model_.rows() / 64)));
  }

  /// Copies a batch to the device, beside the training of the one before: to stay, where every
  /// epoch has it, as long as half of the free memory is left, else to the slot.
  void copy(const SentenceBatch& batch, cuda::BatchSlot& slot) {
    const std::size_t words = batch.words.size(), sentences = batch.ends.size();
    std::size_t free = 0, total = 0;
    cuda::check(cudaMemGetInfo(&free, &total));
    const std::size_t need = 2 * (words * sizeof(WordId) + sentences * sizeof(std::uint32_t));
    const bool stays = batch.keep && batch.index == kept_.size() && need < free / 2;
    if (stays)
      kept_.emplace_back(words, sentences);
    else if (!slot.transient.holds(batch))
      slot.transient = cuda::DeviceBatch(words + words / 8, sentences + sentences / 8);
    if (kept_words_.size() < words || kept_sizes_.size() < sentences) {
      stream_.wait();  // the batch before uses them
      kept_words_ = {};
      kept_sizes_ = {};
      kept_words_ = cuda::DeviceArray<WordId>(words + words / 8, "a batch");
      kept_sizes_ = cuda::DeviceArray<std::uint32_t>(sentences + sentences / 8, "a batch");
    }
    slot.copy(batch, stays ? kept_.back() : slot.transient, copies_);
    slot.copied.record(copies_);
    slot.copied.hold(stream_);
  }

  std::size_t wanted_in_flight_;
  cudaDeviceProp device_;
  std::size_t dimension_;
  cuda::RunTables tables_on_host_;
  cuda::Stream stream_, copies_;
  cuda::DeviceModel model_;
  cuda::DeviceTables tables_;
  cuda::DeviceArray<WordId> kept_words_;         // what subsampling keeps of a batch
  cuda::DeviceArray<std::uint32_t> kept_sizes_;  // of its sentences
  std::vector<cuda::DeviceBatch> kept_;          // batches that stay
  cuda::BatchSlot slots_[2];
  std::size_t submitted_ = 0, waited_ = 0;
};

/// BlazingText and accSGNS: a thread block for each sentence, negatives for each pair of words.
using CudaSentenceKernel =
    CudaKernel<cuda::BlockMethod<cuda::SentenceScheme>, Hogwild, HogwildFixedWindow>;

/// FULL-Register (Randall et al. 2021): output rows in registers while they meet the window.
using CudaRegisterKernel =
    CudaKernel<cuda::BlockMethod<cuda::RegisterScheme>, SharedNegative, SharedNegativeFixedWindow>;

/// FULL-W2V (Randall et al. 2021): the same, with context rows in a ring in shared memory.
using CudaRingBufferKernel = CudaKernel<cuda::BlockMethod<cuda::RingBufferScheme>, SharedNegative,
                                        SharedNegativeFixedWindow>;

/// PAR-Word2Vec (Moon et al. 2019): the positives of a sentence, then minibatches of its words
/// against shared negatives as products of tiles.
using CudaGemmKernel =
    CudaKernel<cuda::GemmMethod, SentenceMinibatch, SentenceMinibatchFixedWindow>;

/// Ours: a warp for each sentence, context rows in a ring in registers.
using CudaWarpKernel = CudaKernel<cuda::WarpMethod, SharedNegative, SharedNegativeFixedWindow>;

}  // namespace wordloom
