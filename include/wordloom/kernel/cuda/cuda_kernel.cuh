#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/model.hpp>
#include <wordloom/core/sentence_batch.hpp>
#include <wordloom/kernel/cuda/device_model.cuh>
#include <wordloom/kernel/cuda/launch.cuh>
#include <wordloom/kernel/cuda/published.hpp>
#include <wordloom/kernel/cuda/warp_scheme.hpp>
#include <wordloom/sampler/hogwild.hpp>
#include <wordloom/sampler/shared_negative.hpp>

namespace wordloom {
namespace cuda {

/// Rows are padded to one of so many times 32 floats: each is a kernel of its own.
using RowSizes = std::integer_sequence<int, 1, 2, 4, 6, 8, 10, 12, 16, 24, 32>;

/// Calls use.operator()<R>() with the first R of the list for which 32 R >= `dimension`. Throws
/// InvalidArgument when there is none.
template <class Use, int... R>
void with_row_size(std::size_t dimension, Use&& use, std::integer_sequence<int, R...>) {
  const bool found =
      ((dimension <= std::size_t{32} * R ? (use.template operator()<R>(), true) : false) || ...);
  if (!found)
    throw InvalidArgument("dimension is " + std::to_string(dimension) +
                          ", kernels on a GPU take up to 1024");
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

  template <class Sampler>
  static constexpr bool trains = (std::is_same_v<Sampler, Samplers> || ...);

  /// Copies the model to device `parameters.device`. Throws DeviceError, and InvalidArgument when a
  /// hyperparameter is beyond what the kernels take.
  template <class Sampler>
  static CudaKernel make(const Hyperparameters& parameters, const Model& model) {
    using Window = typename Sampler::WindowPolicy;
    return CudaKernel(parameters, model, std::is_same_v<Window, FixedWindow>);
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

  /// Trains a batch with a learning rate that goes from `first_rate` to `last_rate` and waits until
  /// it is done.
  Trained train(const SentenceBatch& batch, std::size_t epoch, double first_rate,
                double last_rate) {
    cuda::DeviceBatch& on_device = place(batch);
    const std::size_t words = on_device.words.size();
    if (kept_words_.size() < words) {
      kept_words_ = {};
      kept_words_ = cuda::DeviceArray<WordId>(words, "a batch");
    }
    if (kept_sizes_.size() < on_device.sentences) {
      kept_sizes_ = {};
      kept_sizes_ = cuda::DeviceArray<std::uint32_t>(on_device.sentences, "a batch");
    }
    next_.clear(stream_);
    loss_.clear(stream_);
    const cuda::BatchView view{on_device.words.data(),
                               on_device.ends.data(),
                               on_device.sentences,
                               on_device.first_sentence,
                               parameters_.seed,
                               static_cast<std::uint32_t>(epoch),
                               static_cast<float>(first_rate),
                               static_cast<float>(last_rate),
                               kept_words_.data(),
                               kept_sizes_.data(),
                               next_.data(),
                               loss_.data()};
    constexpr int threads = 256;
    const unsigned grid = static_cast<unsigned>(8 * device_.multiProcessorCount);
    cuda::subsample_batch<>
        <<<grid, threads, 0, stream_>>>(view, tables_.highest_kept(), tables_.last_kept());
    cuda::check(cudaGetLastError());
    const cuda::LaunchLimits limits{in_flight(on_device.sentences), device_};
    cuda::with_row_size(
        parameters_.dimension,
        [&]<int R>() {
          Method::template run<R>(model_.view(), sampling_, view, limits,
                                  static_cast<cudaStream_t>(stream_));
        },
        cuda::RowSizes());
    double loss[2];
    loss_.copy_to(loss, stream_);
    stream_.wait();
    return {loss[0], loss[1]};
  }

  /// Copies the model back.
  void finish(Model& model) { model_.download(model, stream_); }

 private:
  CudaKernel(const Hyperparameters& parameters, const Model& model, bool fixed_window)
      : parameters_(checked(parameters)),
        device_(cuda::use_device(static_cast<int>(parameters.device))),
        model_(model, stride(parameters), stream_),
        tables_(model.vocabulary, parameters.subsample, parameters.negative_exponent, stream_),
        sampling_{tables_.negatives(), static_cast<std::uint32_t>(parameters.window),
                  static_cast<std::uint32_t>(parameters.negatives), fixed_window},
        next_(1),
        loss_(2) {}

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

  /// By default not so many that each word of a small vocabulary is in many of them at a time.
  std::size_t in_flight(std::size_t sentences) const {
    if (parameters_.sentences_in_flight != 0) return parameters_.sentences_in_flight;
    return std::max<std::size_t>(
        1, std::min(sentences / 4, std::max<std::size_t>(32, model_.rows() / 8)));
  }

  /// Copies a batch to the device: to stay as long as half of the free memory is left, else to one
  /// place for all.
  cuda::DeviceBatch& place(const SentenceBatch& batch) {
    if (keeps(batch.index)) return kept_[batch.index];
    std::size_t free = 0, total = 0;
    cuda::check(cudaMemGetInfo(&free, &total));
    const std::size_t need = 2 * (batch.words.size() * sizeof(WordId) + batch.ends.size() * 4);
    if (batch.index == kept_.size() && need < free / 2) {
      kept_.emplace_back(batch, stream_);
      return kept_.back();
    }
    if (passing_.words.size() < batch.words.size() || passing_.ends.size() < batch.ends.size()) {
      passing_ = {};
      passing_ = cuda::DeviceBatch(batch, stream_);
    } else {
      passing_.fill(batch, stream_);
    }
    return passing_;
  }

  Hyperparameters parameters_;
  cudaDeviceProp device_;
  cuda::Stream stream_;
  cuda::DeviceModel model_;
  cuda::DeviceTables tables_;
  cuda::Sampling sampling_;
  cuda::DeviceArray<std::uint32_t> next_;
  cuda::DeviceArray<double> loss_;
  cuda::DeviceArray<WordId> kept_words_;
  cuda::DeviceArray<std::uint32_t> kept_sizes_;
  std::vector<cuda::DeviceBatch> kept_;
  cuda::DeviceBatch passing_;
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

/// Ours: a warp for each sentence, context rows in a ring in registers.
using CudaWarpKernel = CudaKernel<cuda::WarpMethod, SharedNegative, SharedNegativeFixedWindow>;

}  // namespace wordloom
