#pragma once
#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <source_location>
#include <span>
#include <string>

#include <wordloom/core/error.hpp>

namespace wordloom::cuda {

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

/// Memory of the current device. Movable.
template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  /// Not initialised. Throws DeviceError that says what is needed and free when it does not fit.
  explicit DeviceArray(std::size_t size, const char* what = "an array") : size_(size) {
    if (size == 0) return;
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total));
    const std::size_t bytes = size * sizeof(T);
    T* memory = nullptr;
    const cudaError_t status =
        bytes <= free ? cudaMalloc(&memory, bytes) : cudaErrorMemoryAllocation;
    data_.reset(memory);
    if (status == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();
      const auto mebibytes = [](std::size_t b) {
        return std::to_string((b + (1 << 20) - 1) >> 20) + " MiB";
      };
      throw DeviceError(std::string("not enough memory on the device: ") + what + " needs " +
                        mebibytes(bytes) + ", " + mebibytes(free) + " of " + mebibytes(total) +
                        " are free");
    }
    check(status);
  }

  T* data() const noexcept { return data_.get(); }
  std::size_t size() const noexcept { return size_; }
  /// Copies to the first elements, in the order of the stream.
  void copy_from(std::span<const T> host, cudaStream_t stream) {
    check(cudaMemcpyAsync(data(), host.data(), host.size_bytes(), cudaMemcpyHostToDevice, stream));
  }
  void copy_to(std::span<T> host, cudaStream_t stream) const {
    check(cudaMemcpyAsync(host.data(), data(), host.size_bytes(), cudaMemcpyDeviceToHost, stream));
  }
  void clear(cudaStream_t stream) { check(cudaMemsetAsync(data(), 0, size_ * sizeof(T), stream)); }

 private:
  struct Free {
    void operator()(T* data) const noexcept { (void)cudaFree(data); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

/// Pinned memory of the host, which the device copies from and to asynchronously. Movable.
template <class T>
class PinnedArray {
 public:
  PinnedArray() = default;
  /// Not initialised.
  explicit PinnedArray(std::size_t size) : size_(size) {
    T* memory = nullptr;
    check(cudaMallocHost(&memory, size * sizeof(T)));
    data_.reset(memory);
  }

  std::span<T> first(std::size_t count) const noexcept { return {data_.get(), count}; }
  std::size_t size() const noexcept { return size_; }

 private:
  struct Free {
    void operator()(T* data) const noexcept { (void)cudaFreeHost(data); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

/// A point in a stream.
class Event {
 public:
  Event() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { (void)cudaEventDestroy(event_); }
  void record(cudaStream_t stream) const { check(cudaEventRecord(event_, stream)); }
  /// Makes later work of the stream wait for it.
  void hold(cudaStream_t stream) const { check(cudaStreamWaitEvent(stream, event_)); }
  void wait() const { check(cudaEventSynchronize(event_)); }
  operator cudaEvent_t() const noexcept { return event_; }

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
  void wait() const { check(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace wordloom::cuda
