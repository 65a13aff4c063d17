#pragma once
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <string>
#include <utility>

#include <wordloom/core/error.hpp>

namespace wordloom::cuda {

/// Throws DeviceError when a CUDA call failed; the message says where and what to do.
inline void check(cudaError_t status,
                  std::source_location place = std::source_location::current()) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // else the next call would report it again
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

/// Makes a device the current one of this thread. Throws DeviceError when there is none of that
/// number.
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
  /// Not initialised. Throws DeviceError that says need and have when `size` does not fit.
  explicit DeviceArray(std::size_t size, const char* what = "an array") : size_(size) {
    if (size == 0) return;
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total));
    const std::size_t bytes = size * sizeof(T);
    const cudaError_t status =
        bytes <= free ? cudaMalloc(&data_, bytes) : cudaErrorMemoryAllocation;
    if (status == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();
      const auto mebibytes = [](std::size_t b) {
        return std::to_string((b + (1 << 20) - 1) >> 20) + " MiB";
      };
      throw DeviceError(std::string("not enough memory on the device: ") + what + " needs " +
                        mebibytes(bytes) + ", free are " + mebibytes(free) + " of " +
                        mebibytes(total));
    }
    check(status);
  }
  DeviceArray(DeviceArray&& other) noexcept { *this = std::move(other); }
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~DeviceArray() {
    if (data_ != nullptr) (void)cudaFree(data_);
  }

  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

  /// Copies to the first elements, in order with the stream.
  void copy_from(std::span<const T> host, cudaStream_t stream) {
    check(cudaMemcpyAsync(data_, host.data(), host.size_bytes(), cudaMemcpyHostToDevice, stream));
  }
  void copy_to(std::span<T> host, cudaStream_t stream) const {
    check(cudaMemcpyAsync(host.data(), data_, host.size_bytes(), cudaMemcpyDeviceToHost, stream));
  }
  void clear(cudaStream_t stream) { check(cudaMemsetAsync(data_, 0, size_ * sizeof(T), stream)); }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Memory of the host that the device copies from and to by itself. Movable.
template <class T>
class PinnedArray {
 public:
  PinnedArray() = default;
  /// Not initialised.
  explicit PinnedArray(std::size_t size) : size_(size) {
    check(cudaMallocHost(&data_, size * sizeof(T)));
  }
  PinnedArray(PinnedArray&& other) noexcept { *this = std::move(other); }
  PinnedArray& operator=(PinnedArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~PinnedArray() {
    if (data_ != nullptr) (void)cudaFreeHost(data_);
  }

  std::span<T> first(std::size_t count) const noexcept { return {data_, count}; }
  std::size_t size() const noexcept { return size_; }

 private:
  T* data_ = nullptr;
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
  /// What comes next in the stream waits for it.
  void hold(cudaStream_t stream) const { check(cudaStreamWaitEvent(stream, event_)); }
  void wait() const { check(cudaEventSynchronize(event_)); }
  operator cudaEvent_t() const noexcept { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// A stream of its own.
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
