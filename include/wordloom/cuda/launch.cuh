#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include <wordloom/core/error.hpp>
#include <wordloom/cuda/device.cuh>
#include <wordloom/cuda/sentence.hpp>
#include <wordloom/cuda/teams.cuh>
#include <wordloom/cuda/warp_scheme.hpp>

namespace wordloom::cuda {

/// A batch on the device.
struct DeviceBatchView : BatchView {
  std::uint32_t* next;  // the first sentence that no team has claimed; 0 at the start
  double* loss;         // [2] as PairLoss, added to
};

/// Subsamples all sentences, each by a warp.
template <int unused = 0>  // a template, so that it may be defined in many files
__global__ void subsample_batch(DeviceBatchView batch, SubsamplingView table) {
  const WarpTeam team(nullptr);
  const std::uint32_t warps = gridDim.x * (blockDim.x / 32);
  for (std::uint32_t i = (blockIdx.x * blockDim.x + threadIdx.x) / 32; i < batch.sentences;
       i += warps)
    batch.subsample_sentence(team, table, i);
}

/// The minimum number of blocks that a multiprocessor is to hold: it limits the registers of a
/// thread, and is chosen so that none spill.
template <class Scheme, int R>
inline constexpr unsigned min_blocks = 1;
template <>
inline constexpr unsigned min_blocks<WarpScheme<7>, 4> = 6;

/// Trains all sentences, each by one Team, as many at a time as there are teams in the grid. A
/// block holds one BlockTeam or WarpsTeam, or several WarpTeams.
template <class Scheme, int R, class Team, int threads>
__global__ void __launch_bounds__(threads, min_blocks<Scheme, R>)
    train_batch(ModelView model, Sampling sampling, DeviceBatchView batch,
                std::uint32_t floats_of_own) {
  extern __shared__ float4 shared[];
  float* const own = reinterpret_cast<float*>(shared) +
                     threadIdx.x / Team::threads * (floats_of_own + Team::scratch);
  const Team team(own + floats_of_own);
  const bool is_first = threadIdx.x % Team::threads == 0;
  for (;;) {
    const std::uint32_t i = team.of_first(is_first ? atomicAdd(batch.next, 1u) : 0u);
    if (i >= batch.sentences) break;
    const Sentence sentence = batch.sentence(i);
    PairLoss loss;
    Scheme::train(SentenceTask<R, Team>{team, model, sampling, sentence, own, loss});
    if (sentence.with_loss && is_first) {
      atomicAdd(batch.loss, static_cast<double>(loss.sum));
      atomicAdd(batch.loss + 1, static_cast<double>(loss.positives));
    }
  }
}

/// The kernel that trains batches by a Scheme, with rows of R floats for each thread of a Team, in
/// blocks of up to `threads` threads.
template <class Scheme, int R, class Team, int threads>
struct BatchLaunch {
  /// Throws DeviceError when the memory of a team exceeds what a block of the device has.
  static void check(const Sampling& sampling, const cudaDeviceProp& device) {
    if (bytes_of_team(sampling) > device.sharedMemPerBlockOptin)
      throw DeviceError(
          "the rows that train together need " + std::to_string(bytes_of_team(sampling)) +
          " bytes of shared memory, a block of this device has " +
          std::to_string(device.sharedMemPerBlockOptin) + ": choose a smaller dimension or window");
  }

  /// Starts to train `in_flight` sentences at a time, at least 1, or fewer where these fill the
  /// device. Blocks have fewer teams where fewer sentences are in flight or fewer fit the shared
  /// memory.
  static void run(const ModelView& model, const Sampling& sampling, const DeviceBatchView& batch,
                  std::size_t in_flight, const cudaDeviceProp& device, cudaStream_t stream) {
    check(sampling, device);
    const std::size_t max_bytes = device.sharedMemPerBlockOptin;
    const std::size_t teams =
        std::min({std::size_t{threads / Team::threads}, in_flight,
                  max_bytes / std::max<std::size_t>(1, bytes_of_team(sampling))});
    const int block = static_cast<int>(teams) * Team::threads;
    const std::size_t bytes = teams * bytes_of_team(sampling);
    const auto kernel = &train_batch<Scheme, R, Team, threads>;
    // Not `bytes`: another thread may start this kernel with another window meanwhile.
    cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(max_bytes)));
    int blocks = 0;
    cuda::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, block, bytes));
    if (blocks == 0) throw DeviceError("the kernel does not fit this device");
    const std::size_t resident =
        static_cast<std::size_t>(blocks) * static_cast<std::size_t>(device.multiProcessorCount);
    const auto grid = static_cast<unsigned>(std::min(resident, in_flight / teams));
    kernel<<<grid, block, bytes, stream>>>(model, sampling, batch,
                                           static_cast<std::uint32_t>(floats_of_own(sampling)));
    cuda::check(cudaGetLastError());
  }

 private:
  static std::size_t floats_of_own(const Sampling& sampling) {
    return Scheme::floats_of_own(sampling, std::size_t{Team::width} * R);
  }
  static std::size_t bytes_of_team(const Sampling& sampling) {
    return (floats_of_own(sampling) + Team::scratch) * sizeof(float);
  }
};

}  // namespace wordloom::cuda
