#pragma once
// Speeds of a GPU that bound training: for bench_cuda and gpu_kit/ceilings.cu.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>
#include <wordloom/cuda/detail/runtime.cuh>

namespace device_speed {

using wordloom::cuda::check;
using wordloom::cuda::launch;

constexpr int row = 128;  // floats

/// The median of five times, seconds, each between two events, after one that is not counted.
template <class Work>
double seconds_of(Work work) {
  cudaEvent_t start, stop;
  check(cudaEventCreate(&start));
  check(cudaEventCreate(&stop));
  work();
  std::vector<float> times(5);
  for (float& time : times) {
    check(cudaEventRecord(start));
    work();
    check(cudaEventRecord(stop));
    check(cudaEventSynchronize(stop));
    check(cudaGetLastError());
    check(cudaEventElapsedTime(&time, start, stop));
  }
  std::sort(times.begin(), times.end());
  check(cudaEventDestroy(start));
  check(cudaEventDestroy(stop));
  return times[2] / 1000.0;
}

/// An array of zeros on the device.
template <class T>
struct Zeros : wordloom::cuda::DeviceArray<T> {
  explicit Zeros(std::size_t size) : wordloom::cuda::DeviceArray<T>(size, "a measurement") {
    check(cudaMemset(this->data(), 0, size * sizeof(T)));
  }
};

__global__ void read_all(const float4* data, std::size_t size, int times, float* sink) {
  float sum = 0;
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (int t = 0; t < times; ++t)
#pragma unroll 4
    for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += step) {
      const float4 v = __ldcg(data + i);
      sum += v.x + v.y + v.z + v.w;
    }
  if (sum == 1) *sink = sum;  // so that no read is optimised away
}

enum class RowWork { read, add, add_floats, read_and_add, read_then_add };

/// Each warp takes the ids in turn and reads the rows, adds to them, or both: six at a time, as the
/// outputs of a window.
template <RowWork work>
__global__ void rows_at_random(float* table, const std::uint32_t* ids, std::uint32_t count,
                               float* sink) {
  constexpr int at_once = 6;
  const unsigned lane = threadIdx.x % 32;
  const std::uint32_t warps = gridDim.x * (blockDim.x / 32);
  const float4 one = make_float4(1e-9f, 1e-9f, 1e-9f, 1e-9f);
  float sum = 0;
  for (std::uint32_t i = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * at_once;
       i + at_once <= count; i += warps * at_once) {
    float4* at[at_once];
    float4 v[at_once];
#pragma unroll
    for (int k = 0; k < at_once; ++k)
      at[k] = reinterpret_cast<float4*>(table + std::size_t{ids[i + k]} * row) + lane;
    if (work != RowWork::add && work != RowWork::add_floats) {
#pragma unroll
      for (int k = 0; k < at_once; ++k) v[k] = __ldcg(at[k]);
#pragma unroll
      for (int k = 0; k < at_once; ++k) sum += v[k].x + v[k].y + v[k].z + v[k].w;
    }
    if (work == RowWork::read) continue;
#pragma unroll
    for (int k = 0; k < at_once; ++k) {
      if (work == RowWork::add_floats) {
        float* const f = table + std::size_t{ids[i + k]} * row + lane;
#pragma unroll
        for (int r = 0; r < 4; ++r) atomicAdd(f + 32 * r, 1e-9f);
      } else if (work == RowWork::read_then_add) {
        const float s = sum * 1e-30f;
        atomicAdd(at[k], make_float4(s, s, s, s));
      } else {
        atomicAdd(at[k], one);
      }
    }
  }
  if (sum == 1) *sink = sum;
}

__global__ void multiply_add(int times, float factor, float* sink) {
  float sums[16];
  for (int i = 0; i < 16; ++i) sums[i] = static_cast<float>(threadIdx.x + static_cast<unsigned>(i));
  for (int t = 0; t < times; ++t)
#pragma unroll
    for (int i = 0; i < 16; ++i) sums[i] = sums[i] * factor + factor;
  float sum = 0;
  for (int i = 0; i < 16; ++i) sum += sums[i];
  if (sum == 1) *sink = sum;
}

/// Draws `count` of `rows` rows: uniformly (`power` 0), or as the words of a text whose r-th most
/// frequent word has a share of 1 / (r + 2.7), to a power (0.75: as negatives are), or after
/// subsampling with a threshold.
inline std::vector<std::uint32_t> draw_rows(std::size_t rows, std::size_t count, double power,
                                            double subsample = 0) {
  std::mt19937_64 random(1);
  std::vector<std::uint32_t> ids(count);
  if (power == 0) {
    for (auto& id : ids) id = static_cast<std::uint32_t>(random() % rows);
    return ids;
  }
  const auto weight = [](std::size_t r) { return 1 / (static_cast<double>(r) + 2.7); };
  std::vector<double> ends(rows);
  double total = 0, all = 0;
  for (std::size_t r = 0; r < rows; ++r) all += weight(r);
  for (std::size_t r = 0; r < rows; ++r) {
    const double share = weight(r) / all;
    double kept = 1;
    if (subsample > 0) kept = std::min(1.0, std::sqrt(subsample / share) + subsample / share);
    ends[r] = total += kept * std::pow(share, power);
  }
  std::uniform_real_distribution<double> uniform(0, total);
  for (auto& id : ids) {
    const auto at = std::upper_bound(ends.begin(), ends.end(), uniform(random)) - ends.begin();
    id = static_cast<std::uint32_t>(std::min(rows - 1, static_cast<std::size_t>(at)));
  }
  return ids;
}

}  // namespace device_speed
