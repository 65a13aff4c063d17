#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <wordloom/cuda/device.cuh>
#include <wordloom/cuda/teams.cuh>

namespace wordloom::cuda {

/// Floats on a device that are up to date for later work of a stream.
struct DeviceValues : std::span<float> {
  cudaStream_t stream;
};

/// Calls work(team, i) for each i below `count`, each by a warp.
template <class Work>
__global__ void run_work(Work work, std::uint32_t count) {
  const WarpTeam team(nullptr);
  const std::uint32_t warps = gridDim.x * (blockDim.x / 32);
  for (std::uint32_t i = (blockIdx.x * blockDim.x + threadIdx.x) / 32; i < count; i += warps)
    work(team, i);
}

/// The current device, for DeviceRows: its work is in the order of a stream.
class CudaMachine {
 public:
  template <class T>
  using Array = DeviceArray<T>;
  using Values = DeviceValues;

  /// `copies`: a stream for copies that must not wait for the other's work.
  CudaMachine(cudaStream_t stream, cudaStream_t copies) : stream_(stream), copies_(copies) {}

  Values values(float* data, std::size_t size) const { return {{data, size}, stream_}; }
  void copy(float* to, const float* from, std::size_t size) const {
    check(cudaMemcpyAsync(to, from, size * sizeof(float), cudaMemcpyDeviceToDevice, stream_));
  }
  void upload(Array<float>& to, const std::vector<float>& from) const {
    to.copy_from(from, stream_);
    check(cudaStreamSynchronize(stream_));
  }
  /// Reads a value as of this call; does not wait for later work.
  float read(const float* from) const {
    float value = 0;
    check(cudaMemcpyAsync(&value, from, sizeof value, cudaMemcpyDeviceToHost, copies_));
    check(cudaStreamSynchronize(copies_));
    return value;
  }
  template <class Work>
  void run(std::size_t count, const Work& work) const {
    constexpr std::size_t warps = 8, max_blocks = 4096;
    if (count == 0) return;
    const std::size_t blocks = std::min(max_blocks, (count + warps - 1) / warps);
    run_work<<<static_cast<unsigned>(blocks), 32 * warps, 0, stream_>>>(
        work, static_cast<std::uint32_t>(count));
    check(cudaGetLastError());
  }

 private:
  cudaStream_t stream_, copies_;
};

}  // namespace wordloom::cuda
