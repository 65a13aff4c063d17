#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include <wordloom/core/model.hpp>
#include <wordloom/core/sentence_batch.hpp>
#include <wordloom/corpus/subsampling.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/kernel/cuda/arithmetic.hpp>
#include <wordloom/kernel/cuda/device.cuh>
#include <wordloom/sampler/negative_distribution.hpp>

namespace wordloom::cuda {

/// Both matrices of a Model on the device, rows padded with zeros to `stride` floats.
class DeviceModel {
 public:
  DeviceModel(const Model& model, std::size_t stride, cudaStream_t stream)
      : rows_(model.rows()), stride_(stride), floats_(2 * rows_ * stride, "the model") {
    floats_.clear(stream);
    upload(model.input, input(), stream);
    upload(model.output, output(), stream);
    check(cudaStreamSynchronize(stream));
  }

  std::size_t rows() const noexcept { return rows_; }
  ModelView view() noexcept { return {input(), output(), stride_}; }

  void download(Model& model, cudaStream_t stream) {
    download(model.input, input(), stream);
    download(model.output, output(), stream);
    check(cudaStreamSynchronize(stream));
  }

 private:
  float* input() noexcept { return floats_.data(); }
  float* output() noexcept { return floats_.data() + rows_ * stride_; }

  void upload(const RowMatrix& from, float* to, cudaStream_t stream) const {
    check(cudaMemcpy2DAsync(to, stride_ * sizeof(float), from.data(), from.stride() * sizeof(float),
                            from.columns() * sizeof(float), rows_, cudaMemcpyHostToDevice, stream));
  }
  void download(RowMatrix& to, const float* from, cudaStream_t stream) const {
    check(cudaMemcpy2DAsync(to.data(), to.stride() * sizeof(float), from, stride_ * sizeof(float),
                            to.columns() * sizeof(float), rows_, cudaMemcpyDeviceToHost, stream));
  }

  std::size_t rows_, stride_;
  DeviceArray<float> floats_;
};

/// The tables of subsampling and of negative sampling on the device.
class DeviceTables {
 public:
  DeviceTables(const Vocabulary& vocabulary, double subsample, double exponent,
               cudaStream_t stream) {
    const Subsampling subsampling(vocabulary, subsample);
    std::vector<std::uint32_t> highest{UINT32_MAX};  // keeps all
    if (subsampling.enabled())
      highest.assign(subsampling.table().begin(), subsampling.table().end());
    highest_kept_ = DeviceArray<std::uint32_t>(highest.size(), "the subsampling table");
    highest_kept_.copy_from(highest, stream);
    const NegativeDistribution negatives(vocabulary, exponent);
    negatives_ = DeviceArray<AliasTable::Entry>(negatives.table().size(), "the alias table");
    negatives_.copy_from(negatives.table().entries(), stream);
    check(cudaStreamSynchronize(stream));
  }

  AliasView negatives() const noexcept {
    return {negatives_.data(), static_cast<std::uint32_t>(negatives_.size())};
  }
  const std::uint32_t* highest_kept() const noexcept { return highest_kept_.data(); }
  std::uint32_t last_kept() const noexcept {
    return static_cast<std::uint32_t>(highest_kept_.size() - 1);
  }

 private:
  DeviceArray<std::uint32_t> highest_kept_;
  DeviceArray<AliasTable::Entry> negatives_;
};

/// A batch of sentences on the device. What lies there is used again in the next epoch.
struct DeviceBatch {
  DeviceArray<WordId> words;
  DeviceArray<std::uint32_t> ends;
  std::uint32_t sentences = 0;
  std::uint64_t first_sentence = 0;

  DeviceBatch() = default;
  DeviceBatch(const SentenceBatch& batch, cudaStream_t stream)
      : words(batch.words.size(), "the corpus"), ends(batch.ends.size(), "the corpus") {
    fill(batch, stream);
  }
  /// With a batch that is no larger.
  void fill(const SentenceBatch& batch, cudaStream_t stream) {
    words.copy_from(batch.words, stream);
    ends.copy_from(batch.ends, stream);
    sentences = static_cast<std::uint32_t>(batch.ends.size());
    first_sentence = batch.first_sentence;
  }
};

}  // namespace wordloom::cuda
