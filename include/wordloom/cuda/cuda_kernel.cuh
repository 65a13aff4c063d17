#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/corpus/sentence_batch.hpp>
#include <wordloom/cuda/device_model.cuh>
#include <wordloom/cuda/device_rows.hpp>
#include <wordloom/cuda/gemm_scheme.hpp>
#include <wordloom/cuda/launch.cuh>
#include <wordloom/cuda/machine.cuh>
#include <wordloom/cuda/published.hpp>
#include <wordloom/cuda/warp_scheme.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/hogwild.hpp>
#include <wordloom/sampler/sentence_minibatch.hpp>
#include <wordloom/sampler/shared_negative.hpp>

namespace wordloom {
namespace cuda {

/// Rows are padded to one of so many times 32 floats, rising. Each is a kernel of its own: a
/// program that knows its dimensions may define fewer, the same in all its files.
#ifndef WORDLOOM_CUDA_ROW_SIZES
#define WORDLOOM_CUDA_ROW_SIZES 1, 2, 4, 6, 8, 10, 12, 16, 24, 32
#endif
using RowSizes = std::integer_sequence<int, WORDLOOM_CUDA_ROW_SIZES>;

/// Calls use.operator()<R>() with the first R of the list for which 32 R >= `dimension`. Throws
/// InvalidArgument when there is none.
template <class Use, int... R>
void with_row_size(std::size_t dimension, Use&& use, std::integer_sequence<int, R...>) {
  const bool found =
      ((dimension <= std::size_t{32} * R ? (use.template operator()<R>(), true) : false) || ...);
  if (!found)
    throw InvalidArgument("dimension is " + std::to_string(dimension) +
                          ", kernels on a GPU take up to " + std::to_string(32 * std::max({R...})));
}

/// A scheme of which each sentence is trained by a thread block, one float of a row in each thread.
template <class Scheme>
struct BlockMethod {
  template <int R, class... Arguments>
  static void run(const Arguments&... arguments) {
    launch<Scheme, 1, BlockTeam<32 * R>, 32 * R>(arguments...);
  }
};

/// WarpScheme where registers can hold the rows of a window, else SharedWarpScheme.
struct WarpMethod {
  template <int R, class... Arguments>
  static void run(const ModelView& model, const Sampling& sampling, const Arguments&... arguments) {
    constexpr int threads = 128;
    const std::uint32_t places = 2 * sampling.largest_reach() + 1;
    if constexpr (R <= 10)
      if (places <= 7)
        return launch<WarpScheme<7>, R, WarpTeam, threads>(model, sampling, arguments...);
    if constexpr (R <= 6)
      if (places <= 11)
        return launch<WarpScheme<11>, R, WarpTeam, threads>(model, sampling, arguments...);
    launch<SharedWarpScheme, R, WarpTeam, threads>(model, sampling, arguments...);
  }
};

/// GemmScheme by thread blocks of four warps.
struct GemmMethod {
  template <int R, class... Arguments>
  static void run(const Arguments&... arguments) {
    launch<GemmScheme, R, WarpsTeam<4>, 128>(arguments...);
  }
};

}  // namespace cuda

/// Trains on a GPU. Samplers are but told by name: windows, negatives and subsampling are drawn on
/// the device from streams of (seed, sentence, epoch, purpose), so that they do not depend on the
/// grid. As many sentences are in training at a time as `sentences_in_flight` says, each by its own
/// threads, and change the one model without locks (Hogwild) by atomic additions: results are
/// bit-identical for one sentence in flight only. `Samplers`: those that it can stand for.
template <class Method, class... Samplers>
class CudaKernel {
 public:
  using Consumes = SentenceBatch;
  using Replica = cuda::DeviceReplica<cuda::CudaMachine>;
  /// Of a batch: fewer do not keep a device busy.
  static constexpr std::size_t least_words = std::size_t{1} << 20;

  template <class Sampler>
  static constexpr bool trains = (std::is_same_v<Sampler, Samplers> || ...);

  /// Copies the model to device `parameters.device`. Throws DeviceError, and InvalidArgument when a
  /// hyperparameter is beyond what the kernels take.
  template <class Sampler>
  static CudaKernel make(const Hyperparameters& parameters, const Model& model) {
    return CudaKernel(parameters, model, &cuda::sampling_of<Sampler>);
  }
  CudaKernel(const CudaKernel&) = delete;
  CudaKernel& operator=(const CudaKernel&) = delete;
  ~CudaKernel() {
    (void)cudaStreamSynchronize(copies_);
    (void)cudaStreamSynchronize(stream_);
  }

  /// Throws what `make` would throw for any model.
  static void check(const Hyperparameters& parameters) {
    checked(parameters);
    stride(parameters);
    cuda::use_device(static_cast<int>(parameters.device));
  }

  /// Words that a batch should have, about.
  std::size_t batch_words() const noexcept { return std::size_t{1} << 22; }
  /// Whether a batch lies on the device, so that its words need not be given again.
  bool keeps(std::size_t index) const noexcept { return index < kept_.size(); }

  struct Trained {
    double loss = 0;
    double positives = 0;  // pairs that it was measured on
  };

  /// Starts to train a batch, which may be changed afterwards, with a learning rate that goes from
  /// `first_rate` to `last_rate`. Two batches may be unfinished at a time.
  void begin(const SentenceBatch& batch, std::size_t epoch, double first_rate, double last_rate) {
    cuda::BatchSlot& slot = slots_[begun_++ % 2];
    if (!keeps(batch.index)) copy(batch, slot);
    const bool kept = keeps(batch.index);
    const cuda::DeviceBatch& on_device = kept ? kept_[batch.index] : slot.passing;
    const std::size_t sentences = kept ? on_device.ends.size() : batch.ends.size();
    slot.next.clear(stream_);
    slot.loss.clear(stream_);
    const cuda::BatchView view{on_device.words.data(),
                               on_device.ends.data(),
                               static_cast<std::uint32_t>(sentences),
                               batch.first_sentence,
                               parameters_.seed,
                               static_cast<std::uint32_t>(epoch),
                               static_cast<float>(first_rate),
                               static_cast<float>(last_rate),
                               kept_words_.data(),
                               kept_sizes_.data(),
                               slot.next.data(),
                               slot.loss.data()};
    constexpr int threads = 256;
    const unsigned grid = static_cast<unsigned>(8 * device_.multiProcessorCount);
    cuda::subsample_batch<>
        <<<grid, threads, 0, stream_>>>(view, tables_.highest_kept(), tables_.last_kept());
    cuda::check(cudaGetLastError());
    const cuda::LaunchLimits limits{in_flight(sentences), device_};
    cuda::with_row_size(
        parameters_.dimension,
        [&]<int R>() {
          Method::template run<R>(model_.view(), sampling_, view, limits,
                                  static_cast<cudaStream_t>(stream_));
        },
        cuda::RowSizes());
    slot.loss.copy_to(slot.loss_on_host.first(2), stream_);
    slot.done.record(stream_);
  }

  /// Waits for the batch that was begun first of those unfinished.
  Trained end() {
    const cuda::BatchSlot& slot = slots_[ended_++ % 2];
    slot.done.wait();
    const auto loss = slot.loss_on_host.first(2);
    return {loss[0], loss[1]};
  }

  /// The model, in the order of what has been begun.
  Replica replica() { return {{stream_, copies_}, model_.view(), model_.rows()}; }

  /// Copies the model back.
  void finish(Model& model) { model_.download(model, stream_); }

 private:
  using MakeSampling = cuda::Sampling (*)(const Hyperparameters&, cuda::AliasView);

  CudaKernel(const Hyperparameters& parameters, const Model& model, MakeSampling sampling)
      : parameters_(checked(parameters)),
        device_(cuda::use_device(static_cast<int>(parameters.device))),
        model_(model, stride(parameters), stream_),
        tables_(model.vocabulary, parameters.subsample, parameters.negative_exponent, stream_),
        sampling_(sampling(parameters, tables_.negatives())) {}

  static const Hyperparameters& checked(const Hyperparameters& parameters) {
    if (parameters.window > 20)
      throw InvalidArgument("window is " + std::to_string(parameters.window) +
                            ", kernels on a GPU take up to 20");
    if (parameters.negatives > 30)
      throw InvalidArgument("negatives are " + std::to_string(parameters.negatives) +
                            ", kernels on a GPU take up to 30");
    return parameters;
  }
  static std::size_t stride(const Hyperparameters& parameters) {
    std::size_t floats = 0;
    cuda::with_row_size(
        parameters.dimension, [&]<int R>() { floats = std::size_t{32} * R; }, cuda::RowSizes());
    return floats;
  }

  /// By default not so many that each word of a small vocabulary is in many of them at a time. Of
  /// 71,000 rows, one sentence in flight for each 22 cost quality and one for each 8 diverged
  /// (simulate_in_flight).
  std::size_t in_flight(std::size_t sentences) const {
    if (parameters_.sentences_in_flight != 0) return parameters_.sentences_in_flight;
    return std::max<std::size_t>(
        1, std::min(sentences / 4, std::max<std::size_t>(32, model_.rows() / 64)));
  }

  /// Copies a batch to the device, while the one before is trained: to stay as long as half of the
  /// free memory is left, else to the slot's place.
  void copy(const SentenceBatch& batch, cuda::BatchSlot& slot) {
    const std::size_t words = batch.words.size(), sentences = batch.ends.size();
    std::size_t free = 0, total = 0;
    cuda::check(cudaMemGetInfo(&free, &total));
    const std::size_t need = 2 * (words * sizeof(WordId) + sentences * sizeof(std::uint32_t));
    const bool stays = batch.index == kept_.size() && need < free / 2;
    if (stays)
      kept_.emplace_back(words, sentences);
    else if (!slot.passing.holds(batch))
      slot.passing = cuda::DeviceBatch(words + words / 8, sentences + sentences / 8);
    if (kept_words_.size() < words || kept_sizes_.size() < sentences) {
      stream_.wait();  // the batch before uses them
      kept_words_ = {};
      kept_sizes_ = {};
      kept_words_ = cuda::DeviceArray<WordId>(words + words / 8, "a batch");
      kept_sizes_ = cuda::DeviceArray<std::uint32_t>(sentences + sentences / 8, "a batch");
    }
    slot.copy(batch, stays ? kept_.back() : slot.passing, copies_);
    slot.copied.record(copies_);
    slot.copied.hold(stream_);
  }

  Hyperparameters parameters_;
  cudaDeviceProp device_;
  cuda::Stream stream_, copies_;
  cuda::DeviceModel model_;
  cuda::DeviceTables tables_;
  cuda::Sampling sampling_;
  cuda::DeviceArray<WordId> kept_words_;
  cuda::DeviceArray<std::uint32_t> kept_sizes_;
  std::vector<cuda::DeviceBatch> kept_;
  cuda::BatchSlot slots_[2];
  std::size_t begun_ = 0, ended_ = 0;
};

/// BlazingText and accSGNS: a thread block for each sentence, negatives for each pair of words.
using CudaSentenceKernel =
    CudaKernel<cuda::BlockMethod<cuda::SentenceScheme>, Hogwild, HogwildFixedWindow>;

/// FULL-Register (Randall et al. 2021): output rows in registers while they meet the window.
using CudaRegisterKernel =
    CudaKernel<cuda::BlockMethod<cuda::RegisterScheme>, SharedNegative, SharedNegativeFixedWindow>;

/// FULL-W2V (Randall et al. 2021): and context rows in a ring in shared memory.
using CudaRingBufferKernel = CudaKernel<cuda::BlockMethod<cuda::RingBufferScheme>, SharedNegative,
                                        SharedNegativeFixedWindow>;

/// PAR-Word2Vec (Moon et al. 2019): the positives of a sentence, then minibatches of its words
/// against shared negatives as products of tiles.
using CudaGemmKernel =
    CudaKernel<cuda::GemmMethod, SentenceMinibatch, SentenceMinibatchFixedWindow>;

/// Ours: a warp for each sentence, context rows in a ring in registers.
using CudaWarpKernel = CudaKernel<cuda::WarpMethod, SharedNegative, SharedNegativeFixedWindow>;

}  // namespace wordloom
