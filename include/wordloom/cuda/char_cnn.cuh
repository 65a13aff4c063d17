#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <string>
#include <vector>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/cuda/detail/adam_rows.cuh>
#include <wordloom/cuda/detail/char_cnn_kernels.cuh>
#include <wordloom/cuda/detail/cublas.cuh>
#include <wordloom/cuda/detail/device_matrix.hpp>
#include <wordloom/cuda/detail/machine.cuh>
#include <wordloom/encoder/char_cnn.hpp>
#include <wordloom/encoder/detail/adam_parameter.hpp>
#include <wordloom/encoder/detail/word_symbols.hpp>
#include <wordloom/model/model.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// A CharCnn that is computed and fitted on a GPU, by cuBLAS and kernels of its own. The network,
/// the parameters and, except for rounding, the arithmetic are those of CharCnn, in the same
/// matrices of the model, so that one continues a model that the other has trained. The sampler and
/// the kernel train on the host: `Trainer<Encoded<UniformMatrix, CudaCharCnn>, FusedKernel>`.
struct CudaCharCnn : CharCnn {
  std::size_t device = 0;  // which GPU, counted from 0

  static CudaCharCnn from(const Hyperparameters& parameters) { return {{}, parameters.device}; }

  class Run;
  /// Starts as CharCnn::start. `threads` is not used. Also throws DeviceError if there is no such
  /// device, cuBLAS does not start, or memory does not suffice.
  Run start(Model& model, std::size_t threads, std::uint64_t seed) const;
};

/// The encoder of a model in training. A function reads the part of the model that it needs, copies
/// it to the device, and waits until its results are in the model: between two calls the host may
/// read and change all of it. It makes the device the current one of its thread. Not thread-safe.
/// Equal inputs give equal bits on the same kind of GPU (see Cublas), but not the host's bits.
class CudaCharCnn::Run {
 public:
  class Batch;

  Run(const CudaCharCnn& policy, Model& model, std::uint64_t seed)
      : device_(use(policy.device)),
        model_(model),
        adam_(policy.adam.constants()),
        cublas_(machine_.stream) {
    auto parameters = policy.parameters_in(model, seed);
    const detail::WordSymbols words(model.vocabulary);
    words_ = words.size();
    character_dimension_ = policy.character_dimension;
    shape_ = {.alphabet = static_cast<std::uint32_t>(words.alphabet().size()),
              .min_width = static_cast<std::uint32_t>(policy.min_width),
              .widths = static_cast<std::uint32_t>(parameters.widths()),
              .filters = static_cast<std::uint32_t>(policy.filters),
              .positions = static_cast<std::uint32_t>(policy.positions)};
    std::size_t* const begins[] = {&characters_, &dense_, &dense_bias_, &biases_, &filters_};
    for (std::size_t place = 0; place < parameters.matrices().size(); ++place) {
      const std::string name = parameters.matrices()[place].name;
      detail::AdamParameter matrix(model, name, parameters.matrix(place), policy.adam);
      const std::size_t columns = matrix.value().columns();
      if (place < std::size(begins)) *begins[place] = rows_.size();
      if (place == Parameters::characters)
        for (const std::uint32_t symbol : words.alphabet()) rows_.add(matrix.row(symbol), columns);
      else
        for (std::size_t i = 0; i < matrix.value().rows(); ++i) rows_.add(matrix.row(i), columns);
    }
    rows_.allocate(machine_);
    const std::size_t batch = (std::min)(policy.batch, words_);
    batches_ = batch == 0 ? 0 : (words_ + batch - 1) / batch;
    chunk_ = (std::max)(batch, (std::min)(words_, min_chunk));
    const std::size_t D = model.dimension(), H = shape_.features();
    const auto floats = [](std::size_t size) { return Floats(size, "the encoder"); };
    vectors_ = Floats(words_ * D, "the vectors of all words");
    table_ = floats(windows() * shape_.alphabet * shape_.filters);
    table_gradients_ = floats(table_.size());
    symbol_gradients_ = floats(windows() * shape_.alphabet * character_dimension_);
    batch_ = cuda::WordBatch(batch, chunk_, H, D);
    fill_ones((std::max)(batch, windows()));
    symbols_ = cuda::DeviceArray<std::uint32_t>(words.all().size(), "the words");
    begins_ = cuda::DeviceArray<std::uint64_t>(words.ends().size(), "the words");
    machine_.begin_copy(symbols_.data(), words.all().data(), words.all().size());
    machine_.begin_copy(begins_.data(), words.ends().data(), words.ends().size());
    machine_.wait();  // for the lists
    shape_.symbols = symbols_.data();
    shape_.begins = begins_.data();
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() {
    if (is_in_flight_) machine_.settle();  // after a failure
  }

  /// Returns CharCnn::batch, or the size of the vocabulary if that is less.
  std::size_t words_at_once() const noexcept { return batch_.words; }

  /// Writes the vectors of all words to the input rows [V x D] of the model, and the parameters
  /// that batches have trained to the model. Throws DeviceError.
  void encode() {
    download();
    begin();
    batch_steps_ = downloaded_steps_ = 0;
    make_table();
    encode_all();
    end();
  }

  /// Writes the parameters that batches have trained to the model. Threads may train meanwhile.
  /// Throws DeviceError.
  void download() {
    const std::lock_guard lock(guard_);
    if (batch_steps_ == downloaded_steps_) return;
    cuda::check(cudaSetDevice(static_cast<int>(device_)));
    is_in_flight_ = true;
    rows_.begin_download(machine_);
    end();
    rows_.end_download(batch_steps_ - downloaded_steps_);
    downloaded_steps_ = batch_steps_;
  }

  /// Fits the encoder to the input rows, as CharCnn::Run::learn, and writes the vectors of all
  /// words to them. Throws DeviceError.
  void learn(double rate) {
    begin();
    upload_rows(vectors_);
    step_through_words(rate, [this](const cuda::BatchWords& words, std::size_t count) {
      forward(words, count, batch_, batch_.places.data(), vectors_.data(), batch_.error.data());
    });
  }

  /// As CharCnn::Run::encode_and_keep and learn_gradient. Throw DeviceError.
  void encode_and_keep() {
    if (now_.size() == 0) now_ = Floats(vectors_.size(), "the vectors of all words");
    encode();
  }
  void learn_gradient(double rate, double row_rate) {
    begin();
    upload_rows(now_);
    const auto scale = static_cast<float>(row_rate);
    step_through_words(rate, [this, scale](const cuda::BatchWords& words, std::size_t count) {
      find_features(words, count, batch_, batch_.places.data());
      machine_.run(count, cuda::FindGradients{words, model_.dimension(), vectors_.data(),
                                              now_.data(), scale, batch_.error.data()});
    });
  }

 private:
  /// Copies the input rows to the device.
  void upload_rows(const cuda::DeviceArray<float>& to) const {
    const std::size_t D = model_.dimension();
    machine_.begin_copy_of_rows(to.data(), D, model_.input.data(), model_.input.stride(), D,
                                words_);
  }

  /// `find_error(words, count)` finds the features of a batch and the gradients by its vectors.
  template <class FindError>
  void step_through_words(double rate, FindError find_error) {
    make_table();
    for (std::size_t number = 0; number < batches_; ++number) {
      const cuda::BatchWords words{number, batches_};
      const std::size_t count = (words_ - number + batches_ - 1) / batches_;
      find_error(words, count);
      find_parameter_gradients(words, count, batch_);
      rows_.step(number + 1, static_cast<float>(rate), adam_, machine_);
      make_table();
    }
    rows_.begin_download(machine_);
    encode_all();
    end();
    rows_.end_download(batches_);
  }

  using Parameters = detail::CharCnnParameters;
  using Floats = cuda::DeviceArray<float>;
  using Factor = cuda::DeviceFactor;

  static constexpr std::size_t min_chunk = 4096;  // words that are encoded at a time

  std::size_t windows() const noexcept { return shape_.windows(shape_.widths); }
  const float* value(std::size_t begin) const noexcept { return rows_.values() + begin; }
  float* gradient(std::size_t begin) const noexcept { return rows_.gradients() + begin; }

  static std::size_t use(std::size_t device) {
    cuda::use_device(static_cast<int>(device));
    return device;
  }

  void fill_ones(std::size_t count) {
    const std::vector<float> ones(count, 1.0f);
    ones_ = Floats(count, "the encoder");
    machine_.copy(ones_.data(), ones.data(), count);
  }

  void begin() {
    cuda::check(cudaSetDevice(static_cast<int>(device_)));
    is_in_flight_ = true;
    rows_.upload(machine_);
  }
  void end() {
    machine_.wait();
    is_in_flight_ = false;
  }

  void make_table() const {
    cublas_.multiply({.data = value(characters_), .is_shared = true}, {value(filters_)}, 0,
                     table_.data(), shape_.alphabet, character_dimension_, shape_.filters,
                     windows());
  }

  /// Computes the features of `count` words, the first of which is that of place `first`.
  void find_features(const cuda::BatchWords& words, std::size_t count, const cuda::WordBatch& to,
                     std::uint32_t* places, std::size_t first = 0) const {
    const std::size_t H = shape_.features();
    machine_.run(count * ((H + 31) / 32),
                 cuda::FindFeatures{shape_, words, table_.data(), value(biases_),
                                    to.features.data() + first * H, places});
  }

  /// Computes the features of `count` words and from them the vectors of the words: with the bias,
  /// and minus `targets` unless it is null.
  void forward(const cuda::BatchWords& words, std::size_t count, const cuda::WordBatch& to,
               std::uint32_t* places, const float* targets, float* vectors,
               std::size_t first = 0) const {
    const std::size_t D = model_.dimension(), H = shape_.features();
    find_features(words, count, to, places, first);
    machine_.run(count, cuda::StartVectors{words, D, value(dense_bias_), targets, vectors});
    cublas_.multiply({to.features.data() + first * H}, {value(dense_)}, 1, vectors, count, H, D);
  }

  /// Computes the gradients by the parameters of a batch whose features and gradients by its
  /// vectors are there.
  void find_parameter_gradients(const cuda::BatchWords& words, std::size_t count,
                                const cuda::WordBatch& of) const {
    const std::size_t D = model_.dimension(), H = shape_.features();
    const std::size_t A = shape_.alphabet, C = character_dimension_, F = shape_.filters;
    float *const error = of.error.data(), *const ones = ones_.data();
    cublas_.multiply({error}, {.data = value(dense_), .is_transposed = true}, 0,
                     of.feature_gradients.data(), count, D, H);
    cublas_.multiply({.data = of.features.data(), .is_transposed = true}, {error}, 0,
                     gradient(dense_), H, count, D);
    cublas_.multiply({ones}, {error}, 0, gradient(dense_bias_), 1, count, D);
    cuda::launch_gather_max(shape_, words, static_cast<std::uint32_t>(count), of.places.data(),
                            of.feature_gradients.data(), table_gradients_.data(), gradient(biases_),
                            machine_.stream);
    const Factor tables{table_gradients_.data()};
    cublas_.multiply({.data = value(characters_), .is_transposed = true, .is_shared = true}, tables,
                     0, gradient(filters_), C, A, F, windows());
    cublas_.multiply(tables, {.data = value(filters_), .is_transposed = true}, 0,
                     symbol_gradients_.data(), A, F, C, windows());
    cublas_.multiply({ones}, {symbol_gradients_.data()}, 0, gradient(characters_), 1, windows(),
                     A * C);
  }

  /// Writes all vectors to the input rows, after all work of the stream.
  void encode_all() {
    const std::size_t D = model_.dimension();
    for (std::size_t first = 0; first < words_; first += chunk_)
      forward({first, 1}, (std::min)(chunk_, words_ - first), batch_, nullptr, nullptr,
              vectors_.data() + first * D);
    cuda::fetch_rows(model_.input, vectors_.data(), words_, D, machine_, slots_);
  }

  std::size_t device_;
  Model& model_;
  simd::AdamConstants adam_;
  cuda::CudaMachine::Queue machine_;
  cuda::CudaMachine::Slot slots_[2];
  bool is_in_flight_ = false;  // work in the stream
  cuda::Cublas cublas_;
  cuda::ConvolutionView shape_{};
  std::size_t words_ = 0, batches_ = 0, chunk_ = 0;  // chunk_: words that are encoded at a time
  std::size_t character_dimension_ = 0;
  // Parameters and gradients, and the beginnings of their matrices.
  cuda::AdamRows rows_;
  std::size_t characters_ = 0, dense_ = 0, dense_bias_ = 0, biases_ = 0, filters_ = 0;
  cuda::DeviceArray<std::uint32_t> symbols_;  // see ConvolutionView
  cuda::DeviceArray<std::uint64_t> begins_;
  Floats ones_;
  Floats vectors_, now_;            // [V x D], the second for learn_gradient
  Floats table_, table_gradients_;  // [windows x A x F]
  Floats symbol_gradients_;         // [windows x A x C]
  cuda::WordBatch batch_;           // with room for the features of chunk_ words
  // Steps of Batch since the parameters were uploaded, and those that the model has.
  std::size_t batch_steps_ = 0, downloaded_steps_ = 0;
  std::mutex guard_;  // of the device, for Batch
};

inline CudaCharCnn::Run CudaCharCnn::start(Model& model, std::size_t, std::uint64_t seed) const {
  return {*this, model, seed};
}

}}  // namespace wordloom::WORDLOOM_ABI

#include <wordloom/cuda/char_cnn_batch.cuh>  // CudaCharCnn::Run::Batch
