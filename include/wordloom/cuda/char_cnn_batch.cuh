#pragma once
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include <wordloom/core/types.hpp>
#include <wordloom/cuda/char_cnn.cuh>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// As CharCnn::Run::Batch, with the network on the device: words and vectors are copied, while the
/// parameters stay there until encode() of the run. Its functions throw DeviceError.
class CudaCharCnn::Run::Batch {
 public:
  Batch(Run& run, std::size_t words)
      : run_(run), dimension_(run.model_.dimension()), stride_(run.model_.input.stride()) {
    on_device([&] {
      scratch_ = cuda::WordBatch(words, words, run.shape_.features(), dimension_);
      list_ = cuda::DeviceArray<std::uint32_t>(words, "the words");
      vectors_ = Floats(words * dimension_, "the vectors of a batch");
      now_ = Floats(vectors_.size(), "the vectors of a batch");
      if (run.ones_.size() < words) run.fill_ones(words);
    });
  }

  void encode(std::size_t first, std::span<const WordId> words, float* rows) {
    on_device([&] {
      run_.machine_.begin_copy(list_.data() + first, words.data(), words.size());
      float* const vectors = vectors_.data() + first * dimension_;
      run_.forward({0, 1, list_.data() + first}, words.size(), scratch_,
                   scratch_.places.data() + first * run_.shape_.features(), nullptr, vectors,
                   first);
      run_.machine_.begin_copy_of_rows(rows, stride_, vectors, dimension_, dimension_,
                                       words.size());
    });
  }

  void learn(std::size_t count, const float* rows, float rate, float row_rate) {
    on_device([&] {
      run_.machine_.begin_copy_of_rows(now_.data(), dimension_, rows, stride_, dimension_, count);
      run_.machine_.run(
          count,
          cuda::FindGradients{
              {0, 1}, dimension_, vectors_.data(), now_.data(), row_rate, scratch_.error.data()});
      run_.find_parameter_gradients({0, 1, list_.data()}, count, scratch_);
      run_.rows_.step(++run_.batch_steps_, rate, run_.adam_, run_.machine_);
      run_.make_table();
    });
  }

 private:
  /// Calls `work` while no other thread uses the device of the run, and waits for the device.
  template <class Work>
  void on_device(Work work) {
    const std::lock_guard lock(run_.guard_);
    cuda::check(cudaSetDevice(static_cast<int>(run_.device_)));
    run_.is_in_flight_ = true;
    work();
    run_.end();
  }

  Run& run_;
  std::size_t dimension_, stride_;
  cuda::WordBatch scratch_;
  cuda::DeviceArray<std::uint32_t> list_;  // [B] the words
  Floats vectors_, now_;                   // [B x D] as encoded, and as trained
};

}}  // namespace wordloom::WORDLOOM_ABI
