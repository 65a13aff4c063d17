#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <wordloom/core/alias_table.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/corpus/sentence_batch.hpp>
#include <wordloom/cuda/device.cuh>
#include <wordloom/cuda/device_kernel.hpp>
#include <wordloom/cuda/sentence.hpp>
#include <wordloom/model/model.hpp>

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

/// The tables of a run on the device.
struct DeviceTables {
  DeviceArray<std::uint32_t> highest_kept;
  DeviceArray<AliasTable::Entry> negatives;
  Sampling sampling;

  DeviceTables(const RunTables& tables, cudaStream_t stream)
      : highest_kept(tables.highest_kept.size(), "the subsampling table"),
        negatives(tables.negatives.table().size(), "the alias table"),
        sampling(tables.sampling) {
    highest_kept.copy_from(tables.highest_kept, stream);
    negatives.copy_from(tables.negatives.table().entries(), stream);
    sampling.negatives.entries = negatives.data();
    check(cudaStreamSynchronize(stream));
  }
  SubsamplingView subsampling() const noexcept {
    return {highest_kept.data(), static_cast<std::uint32_t>(highest_kept.size() - 1)};
  }
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

/// The memory that one batch in flight needs. There are two, so that a batch can be staged and
/// copied while another is trained.
class BatchSlot {
 public:
  /// Copies a batch to the device, in the order of the stream.
  void copy(const SentenceBatch& batch, DeviceBatch& to, cudaStream_t stream) {
    stage(words_, batch.words);
    stage(ends_, batch.ends);
    to.words.copy_from(words_.first(batch.words.size()), stream);
    to.ends.copy_from(ends_.first(batch.ends.size()), stream);
  }

  DeviceBatch transient;  // where the batch does not stay on the device
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
