#pragma once
#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>

#include <wordloom/core/error.hpp>

/// The CUDA runtime: errors as exceptions, memory, streams and events.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// Returns the meaning of a failed call for a user, and what to do.
inline std::string explanation_of(cudaError_t status) {
  const auto version = [](int v) {
    return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10);
  };
  switch (status) {
    case cudaErrorNoDevice:
      return "no CUDA device answers: see whether nvidia-smi lists one, and whether "
             "CUDA_VISIBLE_DEVICES hides it";
    case cudaErrorInsufficientDriver: {
      int driver = 0, runtime = 0;
      (void)cudaDriverGetVersion(&driver);
      (void)cudaRuntimeGetVersion(&runtime);
      if (driver == 0) return "no CUDA device answers: install NVIDIA's driver";
      return "the NVIDIA driver is for CUDA " + version(driver) + ", this program needs CUDA " +
             version(runtime) + ": update the driver";
    }
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorUnsupportedPtxVersion: {
      int device = 0;
      cudaDeviceProp found{};
      (void)cudaGetDevice(&device);
      (void)cudaGetDeviceProperties(&found, device);
      const auto number = std::to_string(10 * found.major + found.minor);
      return "this program has no code for this GPU (" + std::string(found.name) +
             "): build it with -DCMAKE_CUDA_ARCHITECTURES=" + number;
    }
    default:
      return std::string("CUDA: ") + cudaGetErrorString(status);
  }
}

/// Throws DeviceError if a CUDA call has failed; the message says what, where, and what to do.
inline void check(cudaError_t status,
                  std::source_location place = std::source_location::current()) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // or the next call would report it again
  const std::string path = place.file_name();
  throw DeviceError{explanation_of(status), " (", path.substr(path.rfind('/') + 1), ":",
                    place.line(), ")"};
}

/// Makes a device, counted from 0, the current one of this thread. Throws DeviceError if there is
/// no such device.
inline cudaDeviceProp use_device(int device) {
  int count = 0;
  check(cudaGetDeviceCount(&count));
  if (device < 0 || device >= count)
    throw DeviceError{"device ", device, ": there are ", count, " CUDA devices, counted from 0"};
  check(cudaSetDevice(device));
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device));
  return properties;
}

/// Returns the current device of this thread, counted from 0.
inline int current_device() {
  int device = 0;
  check(cudaGetDevice(&device));
  return device;
}

/// Returns the device of a rank: the ranks on a machine take its devices in turn, from `first` on.
/// A launcher may show each process only one device, which is then number 0 in each. Throws
/// DeviceError if there is no device.
inline std::size_t device_of_rank(std::size_t first, std::size_t rank_on_machine) {
  int count = 0;
  check(cudaGetDeviceCount(&count));
  return (first + rank_on_machine) % static_cast<std::size_t>(count);
}

/// Memory kind of an array, and what its allocation and release wait for. `device`: for all work of
/// the device, which may be a sum of NCCL that waits for another rank; `ordered`, also on the
/// device: for no such work; `pinned`, on the host: for the device as well.
enum class Memory { device, ordered, pinned };

/// Memory of the current device, or pinned memory of the host, which the device copies from and to
/// asynchronously; uninitialized. Nothing may still use it when it is freed. Movable.
template <class T, Memory memory>
class CudaArray {
 public:
  CudaArray() = default;
  /// Throws DeviceError if it does not fit, with the size needed and, for a device, the free size.
  explicit CudaArray(std::size_t size, const char* what = "an array") : size_(size) {
    const std::size_t bytes = size * sizeof(T);
    T* data = nullptr;
    const cudaError_t status = allocate(&data, bytes);
    data_.reset(data);
    if (status != cudaErrorMemoryAllocation) {
      check(status);
      return;
    }
    (void)cudaGetLastError();
    const auto mebibytes = [](std::size_t b) {
      return std::to_string((b + (1 << 20) - 1) >> 20) + " MiB";
    };
    const std::string needs = std::string(what) + " needs " + mebibytes(bytes);
    if (memory == Memory::pinned)
      throw DeviceError{"not enough pinned memory on the host: ", needs,
                        ": end other programs that pin memory"};
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total));
    throw DeviceError{"not enough memory on the device: ", needs, ", ", mebibytes(free), " of ",
                      mebibytes(total),
                      " are free: train fewer words (min_count) or a smaller dimension"};
  }

  T* data() const noexcept { return data_.get(); }
  std::size_t size() const noexcept { return size_; }

 private:
  static cudaError_t allocate(T** data, std::size_t bytes) {
    if (memory == Memory::pinned) return cudaMallocHost(data, bytes);
    if (memory == Memory::ordered) {
      const cudaError_t status = cudaMallocAsync(data, bytes, nullptr);
      // All streams may use the memory from then on. Our streams do not delay the null stream.
      if (status == cudaSuccess) return cudaStreamSynchronize(nullptr);
      if (status != cudaErrorNotSupported) return status;
      (void)cudaGetLastError();
    }
    return cudaMalloc(data, bytes);
  }
  struct Free {
    void operator()(T* data) const noexcept {
      if (memory == Memory::pinned) {
        (void)cudaFreeHost(data);
      } else if (memory == Memory::device || cudaFreeAsync(data, nullptr) != cudaSuccess) {
        (void)cudaFree(data);
        (void)cudaGetLastError();
      }
    }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};
template <class T>
using DeviceArray = CudaArray<T, Memory::device>;
template <class T>
using OrderedArray = CudaArray<T, Memory::ordered>;
template <class T>
using PinnedArray = CudaArray<T, Memory::pinned>;

/// Copies between the host and the current device, in the order of a stream.
template <class T>
void copy_async(T* to, const T* from, std::size_t size, cudaStream_t stream) {
  check(cudaMemcpyAsync(to, from, size * sizeof(T), cudaMemcpyDefault, stream));
}

/// A point in a stream. A thread that waits for it sleeps, because batches take long.
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
  bool is_over() const {
    const cudaError_t status = cudaEventQuery(event_);
    if (status != cudaErrorNotReady) check(status);
    (void)cudaGetLastError();
    return status == cudaSuccess;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// A stream that does not wait for the legacy default stream. An urgent one gets the next free
/// multiprocessors.
class Stream {
 public:
  explicit Stream(bool is_urgent = false) {
    int usual = 0, urgent = 0;
    check(cudaDeviceGetStreamPriorityRange(&usual, &urgent));
    check(
        cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, is_urgent ? urgent : usual));
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { (void)cudaStreamDestroy(stream_); }
  operator cudaStream_t() const noexcept { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// Work of a stream as a graph, which the device does again with one call of the host. No work of
/// it may be in progress when it is destroyed. Movable.
class Graph {
 public:
  Graph() = default;
  /// Records what submit() submits to the stream, without doing it. It must neither wait for the
  /// device nor allocate its memory. Throws DeviceError.
  template <class Submit>
  Graph(cudaStream_t stream, Submit submit) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    Recorded recorded;
    try {
      submit();
    } catch (...) {
      (void)cudaStreamEndCapture(stream, &recorded.graph);
      (void)cudaGetLastError();
      throw;
    }
    check(cudaStreamEndCapture(stream, &recorded.graph));
    cudaGraphExec_t ready = nullptr;
    check(cudaGraphInstantiateWithFlags(&ready, recorded.graph, 0));
    ready_.reset(ready);
  }
  void launch(cudaStream_t stream) const { check(cudaGraphLaunch(ready_.get(), stream)); }

 private:
  struct Recorded {
    cudaGraph_t graph = nullptr;
    ~Recorded() {
      if (graph != nullptr) (void)cudaGraphDestroy(graph);
    }
  };
  struct Destroy {
    void operator()(cudaGraphExec_t graph) const noexcept { (void)cudaGraphExecDestroy(graph); }
  };
  std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, Destroy> ready_;
};

/// Floats on a device that are up to date for later work of a stream.
struct DeviceValues : std::span<float> {
  cudaStream_t stream;
};

/// Starts a kernel with `bytes` of dynamic shared memory. Uses a function of the runtime, so that a
/// compiler for hosts can compile all of this code, with an emulated runtime. Throws DeviceError.
template <class... Parameters>
void launch(void (*kernel)(Parameters...), std::size_t blocks, std::size_t threads,
            std::size_t bytes, cudaStream_t stream, std::type_identity_t<Parameters>... arguments) {
  void* pointers[] = {&arguments...};
  check(cudaLaunchKernel(kernel, dim3(static_cast<unsigned>(blocks)),
                         dim3(static_cast<unsigned>(threads)), pointers, bytes, stream));
}

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
