#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string>

#include <wordloom/core/error.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/cuda/batch_kernel.hpp>
#include <wordloom/cuda/device_rows.hpp>
#include <wordloom/cuda/teams.cuh>

namespace wordloom::inline WORDLOOM_ABI::cuda {

/// Throws DeviceError when a CUDA call has failed; the message says where, and what to do.
inline void check(cudaError_t status,
                  std::source_location place = std::source_location::current()) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // or the next call would report it again
  std::string message;
  if (status == cudaErrorNoDevice) {
    message = "no CUDA device answers";
  } else if (status == cudaErrorInsufficientDriver) {
    int driver = 0, runtime = 0;
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    const auto version = [](int v) {
      return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10);
    };
    message = driver == 0 ? "no CUDA device answers: there is no driver"
                          : "the CUDA driver is for CUDA " + version(driver) +
                                ", this program needs " + version(runtime);
  } else if (status == cudaErrorNoKernelImageForDevice ||
             status == cudaErrorUnsupportedPtxVersion) {
    message =
        "this program has no code for this GPU: build it with its architecture "
        "(CMAKE_CUDA_ARCHITECTURES)";
  } else {
    message = std::string("CUDA: ") + cudaGetErrorString(status);
  }
  const std::string path = place.file_name();
  throw DeviceError(message + " (" + path.substr(path.rfind('/') + 1) + ":" +
                    std::to_string(place.line()) + ")");
}

/// Makes a device, counted from 0, the current one of this thread. Throws DeviceError when there is
/// no such device.
inline cudaDeviceProp use_device(int device) {
  int count = 0;
  check(cudaGetDeviceCount(&count));
  if (device < 0 || device >= count)
    throw DeviceError("device " + std::to_string(device) + ": there are " + std::to_string(count) +
                      " CUDA devices, counted from 0");
  check(cudaSetDevice(device));
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device));
  return properties;
}

/// Memory of the current device, or pinned memory of the host, which the device copies from and to
/// asynchronously; uninitialized. Movable.
template <class T, bool pinned>
class CudaArray {
 public:
  CudaArray() = default;
  /// Throws DeviceError that says what is needed, and free on a device, when it does not fit.
  explicit CudaArray(std::size_t size, const char* what = "an array") : size_(size) {
    const std::size_t bytes = size * sizeof(T);
    T* memory = nullptr;
    const cudaError_t status = pinned ? cudaMallocHost(&memory, bytes) : cudaMalloc(&memory, bytes);
    data_.reset(memory);
    if (status != cudaErrorMemoryAllocation) {
      check(status);
      return;
    }
    (void)cudaGetLastError();
    const auto mebibytes = [](std::size_t b) {
      return std::to_string((b + (1 << 20) - 1) >> 20) + " MiB";
    };
    if (pinned)
      throw DeviceError(std::string("not enough pinned memory on the host: ") + what + " needs " +
                        mebibytes(bytes));
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total));
    throw DeviceError(std::string("not enough memory on the device: ") + what + " needs " +
                      mebibytes(bytes) + ", " + mebibytes(free) + " of " + mebibytes(total) +
                      " are free");
  }

  T* data() const noexcept { return data_.get(); }
  std::size_t size() const noexcept { return size_; }

 private:
  struct Free {
    void operator()(T* data) const noexcept {
      (void)(pinned ? cudaFreeHost(data) : cudaFree(data));
    }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};
template <class T>
using DeviceArray = CudaArray<T, false>;
template <class T>
using PinnedArray = CudaArray<T, true>;

/// Copies between the host and the current device, in the order of a stream.
template <class T>
void copy_async(T* to, const T* from, std::size_t size, cudaStream_t stream) {
  check(cudaMemcpyAsync(to, from, size * sizeof(T), cudaMemcpyDefault, stream));
}

/// A point in a stream. A thread that waits for it sleeps: batches take long.
class Event {
 public:
  Event() {
    check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming | cudaEventBlockingSync));
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { (void)cudaEventDestroy(event_); }
  operator cudaEvent_t() const noexcept { return event_; }
  void record(cudaStream_t stream) const { check(cudaEventRecord(event_, stream)); }
  /// Makes later work of the stream wait for it.
  void hold(cudaStream_t stream) const { check(cudaStreamWaitEvent(stream, event_)); }
  void wait() const { check(cudaEventSynchronize(event_)); }

 private:
  cudaEvent_t event_ = nullptr;
};

/// A stream that does not wait for the legacy default stream.
class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { (void)cudaStreamDestroy(stream_); }
  operator cudaStream_t() const noexcept { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// Floats on a device that are up to date for later work of a stream.
struct DeviceValues : std::span<float> {
  cudaStream_t stream;
};

/// Starts a kernel with `bytes` of dynamic shared memory. By a function of the runtime, so that a
/// compiler for hosts, and with it an emulated runtime, takes all of this code. Throws DeviceError.
template <class... Parameters>
void launch(void (*kernel)(Parameters...), std::size_t blocks, std::size_t threads,
            std::size_t bytes, cudaStream_t stream, std::type_identity_t<Parameters>... arguments) {
  void* pointers[] = {&arguments...};
  check(cudaLaunchKernel(kernel, dim3(static_cast<unsigned>(blocks)),
                         dim3(static_cast<unsigned>(threads)), pointers, bytes, stream));
}

/// Calls work(team, i) for each i below `count`, each by a warp.
template <class Work>
__global__ void run_work(Work work, std::uint32_t count) {
  const RowTeam<WarpTeam> team(nullptr);
  const std::uint32_t warps = gridDim.x * (blockDim.x / 32);
  for (std::uint32_t i = (blockIdx.x * blockDim.x + threadIdx.x) / 32; i < count; i += warps)
    work(team, i);
}

/// The current device: its work is in the order of a stream.
struct CudaMachine {
  template <class T>
  using Array = DeviceArray<T>;
  using Floats = DeviceArray<float>;
  using Values = DeviceValues;
  using Device = cudaDeviceProp;
  struct Queue;
  class Slot;

  cudaStream_t stream;
  cudaStream_t copies;  // for copies that must not wait for the other's work

  static Device use(std::size_t device) { return use_device(static_cast<int>(device)); }
  Values values(float* data, std::size_t size) const { return {{data, size}, stream}; }
  void wait() const { check(cudaStreamSynchronize(stream)); }
  void clear(float* data, std::size_t size) const {
    check(cudaMemsetAsync(data, 0, size * sizeof(float), stream));
  }
  template <class T>
  void copy(T* to, const T* from, std::size_t size) const {
    begin_copy(to, from, size);
    wait();
  }
  /// Copies of which the host's side must stay until wait().
  template <class T>
  void begin_copy(T* to, const T* from, std::size_t size) const {
    copy_async(to, from, size, stream);
  }
  void begin_copy_of_rows(float* to, std::size_t to_stride, const float* from,
                          std::size_t from_stride, std::size_t columns, std::size_t rows) const {
    check(cudaMemcpy2DAsync(to, to_stride * sizeof(float), from, from_stride * sizeof(float),
                            columns * sizeof(float), rows, cudaMemcpyDefault, stream));
  }
  /// Reads a value as of this call; does not wait for later work.
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
    const std::size_t blocks = std::min(max_blocks, (count + warps - 1) / warps);
    launch(&run_work<Work>, blocks, 32 * warps, 0, stream, work, static_cast<std::uint32_t>(count));
  }
};

struct CudaStreams {
  Stream own_stream, own_copies;
};

/// A machine with streams of its own.
struct CudaMachine::Queue : private CudaStreams, CudaMachine {
  Queue() : CudaMachine{own_stream, own_copies} {}

  /// Half of the free memory stays free.
  static bool has_room(std::size_t bytes, std::size_t) {
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total));
    return bytes < free / 2;
  }
  /// Copies of batches are over with it: the stream waits for them.
  void settle() const noexcept { (void)cudaStreamSynchronize(stream); }
};

/// The memory that one batch in flight needs. There are two, so that a batch can be staged and
/// copied while another is trained.
class CudaMachine::Slot {
 public:
  /// Copies a batch to the device beside other work, which waits for it from here on.
  void copy(const SentenceBatch& batch, std::uint32_t* to, const CudaMachine& machine) {
    const std::size_t size = batch.words.size() + batch.ends.size();
    grow(staged_, size);
    std::copy(batch.ends.begin(), batch.ends.end(),
              std::copy(batch.words.begin(), batch.words.end(), staged_.data()));
    copy_async(to, staged_.data(), size, machine.copies);
    copied_.record(machine.copies);
    copied_.hold(machine.stream);
  }
  /// Clears what a batch adds to.
  void begin(BatchView& batch, const CudaMachine& machine) {
    batch.loss = loss_.data();
    batch.next = next_.data();
    check(cudaMemsetAsync(batch.loss, 0, 2 * sizeof(double), machine.stream));
    check(cudaMemsetAsync(batch.next, 0, sizeof(std::uint32_t), machine.stream));
  }
  void end(const CudaMachine& machine) {
    copy_async(loss_on_host_.data(), loss_.data(), 2, machine.stream);
    done_.record(machine.stream);
  }
  Trained wait() const {
    done_.wait();
    return {loss_on_host_.data()[0], loss_on_host_.data()[1]};
  }

 private:
  PinnedArray<std::uint32_t> staged_;
  DeviceArray<std::uint32_t> next_{1};
  DeviceArray<double> loss_{2};
  PinnedArray<double> loss_on_host_{2};
  Event copied_, done_;
};

}  // namespace wordloom::inline WORDLOOM_ABI::cuda
