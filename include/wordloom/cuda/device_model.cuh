#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <wordloom/corpus/sentence_batch.hpp>
#include <wordloom/corpus/subsampling.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/cuda/arithmetic.hpp>
#include <wordloom/cuda/device.cuh>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/negative_sampling.hpp>

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

/// Memory for a batch of sentences on the device.
struct DeviceBatch {
  DeviceArray<WordId> words;
  DeviceArray<std::uint32_t> ends;

  DeviceBatch() = default;
  DeviceBatch(std::size_t word_count, std::size_t sentences)
      : words(word_count, "the corpus"), ends(sentences, "the corpus") {}
  bool holds(const SentenceBatch& batch) const noexcept {
    return batch.words.size() <= words.size() && batch.ends.size() <= ends.size();
  }
};

/// What a batch in training needs of its own: two of them, so that one can be read and copied while
/// another is trained.
class BatchSlot {
 public:
  /// Copies a batch to the device, in order with the stream.
  void copy(const SentenceBatch& batch, DeviceBatch& to, cudaStream_t stream) {
    stage(words_, batch.words);
    stage(ends_, batch.ends);
    to.words.copy_from(words_.first(batch.words.size()), stream);
    to.ends.copy_from(ends_.first(batch.ends.size()), stream);
  }

  DeviceBatch passing;  // of a corpus that does not stay on the device
  DeviceArray<std::uint32_t> next{1};
  DeviceArray<double> loss{2};
  PinnedArray<double> loss_on_host{2};
  Event copied, done;

 private:
  template <class T>
  static void stage(PinnedArray<T>& to, const std::vector<T>& from) {
    if (to.size() < from.size()) {
      to = {};
      to = PinnedArray<T>(from.size() + from.size() / 8);
    }
    std::copy(from.begin(), from.end(), to.first(from.size()).begin());
  }

  PinnedArray<WordId> words_;
  PinnedArray<std::uint32_t> ends_;
};

}  // namespace wordloom::cuda
