#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <wordloom/corpus/detail/sentence_batch.hpp>
#include <wordloom/cuda/detail/batch_kernel.hpp>
#include <wordloom/cuda/detail/device_rows.hpp>
#include <wordloom/cuda/detail/runtime.cuh>
#include <wordloom/cuda/detail/teams.cuh>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// Calls work(team, i) for each i below `count`, one warp each.
template <class Work>
__global__ void run_work(Work work, std::uint32_t count) {
  const RowTeam<WarpTeam> team(nullptr);
  const std::uint32_t warps = gridDim.x * (blockDim.x / 32);
  for (std::uint32_t i = (blockIdx.x * blockDim.x + threadIdx.x) / 32; i < count; i += warps)
    work(team, i);
}

/// A device that does its work in the order of a stream. It must be the current device of this
/// thread: see make_current.
struct CudaMachine {
  template <class T>
  using Array = DeviceArray<T>;
  using Floats = DeviceArray<float>;
  using Numbers = OrderedArray<std::uint32_t>;  // copied while NCCL's sums are in flight
  using Values = DeviceValues;
  using Device = cudaDeviceProp;
  struct Queue;
  class Slot;

  cudaStream_t stream;
  cudaStream_t copies;  // for copies that must not wait for the other's work
  int device;

  static Device use(std::size_t device) { return use_device(static_cast<int>(device)); }
  /// Makes the device the current one. Needed after a callback of the program, which may have
  /// chosen another device.
  void make_current() const { check(cudaSetDevice(device)); }
  Values values(float* data, std::size_t size) const {
    make_current();
    return {{data, size}, stream};
  }
  void wait() const { check(cudaStreamSynchronize(stream)); }
  void clear(float* data, std::size_t size) const {
    check(cudaMemsetAsync(data, 0, size * sizeof(float), stream));
  }
  template <class T>
  void copy(T* to, const T* from, std::size_t size) const {
    begin_copy(to, from, size);
    wait();
  }
  /// Starts a copy. The host's memory must stay until wait().
  template <class T>
  void begin_copy(T* to, const T* from, std::size_t size) const {
    copy_async(to, from, size, stream);
  }
  void begin_copy_of_rows(float* to, std::size_t to_stride, const float* from,
                          std::size_t from_stride, std::size_t columns, std::size_t rows) const {
    make_current();
    check(cudaMemcpy2DAsync(to, to_stride * sizeof(float), from, from_stride * sizeof(float),
                            columns * sizeof(float), rows, cudaMemcpyDefault, stream));
  }
  /// Reads the value that work submitted so far leaves; does not wait for later work.
  float read(const float* from) const {
    float value = 0;
    copy_async(&value, from, 1, copies);
    check(cudaStreamSynchronize(copies));
    return value;
  }
  template <class Work>
  void run(std::size_t count, const Work& work) const {
    constexpr std::size_t warps = 8, max_blocks = 4096;
    if (count == 0) return;
    const std::size_t blocks = (std::min)(max_blocks, (count + warps - 1) / warps);
    launch(&run_work<Work>, blocks, 32 * warps, 0, stream, work, static_cast<std::uint32_t>(count));
  }
};

struct CudaStreams {
  Stream own_stream, own_copies;
};

/// A machine with streams of its own.
struct CudaMachine::Queue : private CudaStreams, CudaMachine {
  Queue() : CudaMachine{own_stream, own_copies, current_device()} {}

  /// Half of the free memory stays free.
  static bool has_room(std::size_t bytes, std::size_t) {
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total));
    return bytes < free / 2;
  }
  /// Waits for the stream, and so for all copies of batches, because the stream waits for them.
  void settle() const noexcept { (void)cudaStreamSynchronize(stream); }
};

/// The memory that one batch in flight, or a group of columns, needs. There are two, so that a
/// batch can be staged and copied while another is trained.
class CudaMachine::Slot {
 public:
  /// `losses`: the batches or columns that are waited for together.
  explicit Slot(std::size_t losses = 1) : loss_(2 * losses), loss_on_host_(2 * losses) {}

  /// Copies a batch to the device in parallel to other work, which waits for it from here on.
  void copy(const detail::SentenceBatch& batch, std::uint32_t* to, const CudaMachine& machine) {
    std::size_t filled = 0;
    const auto flush = [&] {
      if (filled == 0) return;
      copy_async(to, staged_.data() + staged_end_, filled, machine.copies);
      copied_.record(machine.copies);
      staged_end_ += filled;
      to += std::exchange(filled, 0);
    };
    const auto stage = [&](std::span<const std::uint32_t> part) {
      while (!part.empty()) {
        if (staged_end_ == staged_.size()) {
          copied_.wait();  // for all that is staged
          staged_end_ = 0;
        }
        const std::size_t free = staged_.size() - staged_end_ - filled;
        const std::size_t size = (std::min)(free, part.size());
        std::copy_n(part.data(), size, staged_.data() + staged_end_ + filled);
        part = part.subspan(size);
        filled += size;
        if (size == free) flush();
      }
    };
    batch.for_each_part(stage);
    stage(batch.ends);
    flush();
    copied_.hold(machine.stream);
  }
  /// Clears the numbers that a batch adds to.
  void begin(BatchView& batch, const CudaMachine& machine) {
    batch.loss = loss_.data();
    batch.next = next_.data();
    check(cudaMemsetAsync(batch.loss, 0, loss_.size() * sizeof(double), machine.stream));
  }
  void end(const CudaMachine& machine) {
    copy_async(loss_on_host_.data(), loss_.data(), loss_.size(), machine.stream);
    done_.record(machine.stream);
  }
  /// Starts to copy at most `staged_words` floats to the host, where fetched() returns them. They
  /// take the place of batches that are staged here: the stream waits for the copies of these.
  void begin_fetch(const float* from, std::size_t size, const CudaMachine& machine) {
    copy_async(floats_on_host(), from, size, machine.stream);
    copied_.record(machine.stream);
  }
  /// Waits for begin_fetch. The floats stay until the next batch or fetch.
  const float* fetched() {
    copied_.wait();
    staged_end_ = 0;
    return floats_on_host();
  }
  /// Submits `count` times the work that submit() submits, which must be equal each time and must
  /// have been done before, so that its kernels are loaded and its memory is allocated. As a graph,
  /// a call of the runtime each time: for short work, calls are the bound. All earlier work of this
  /// slot must have been waited for.
  template <class Submit>
  void repeat(std::size_t count, Submit submit, const CudaMachine& machine) {
    if (count < 4) {  // not worth a graph (an estimate)
      for (std::size_t i = 0; i < count; ++i) submit();
      return;
    }
    graph_ = Graph(machine.stream, submit);
    for (std::size_t i = 0; i < count; ++i) graph_.launch(machine.stream);
  }
  /// Waits for all work of this slot.
  void wait() {
    done_.wait();
    staged_end_ = 0;
  }
  /// Returns loss `i`, which must have been waited for.
  Trained trained(std::size_t i = 0) const {
    return {loss_on_host_.data()[2 * i], loss_on_host_.data()[2 * i + 1]};
  }

  // The size is fixed, because allocating or freeing pinned memory may wait for a sum in flight.
  static constexpr std::size_t staged_words = std::size_t{1} << 20;

 private:
  float* floats_on_host() const noexcept { return reinterpret_cast<float*>(staged_.data()); }

  PinnedArray<std::uint32_t> staged_{staged_words, "a batch"};
  std::size_t staged_end_ = 0;  // words of it that may still be copied
  DeviceArray<std::uint32_t> next_{1};
  DeviceArray<double> loss_;
  PinnedArray<double> loss_on_host_;
  Event copied_, done_;
  Graph graph_;
};

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
