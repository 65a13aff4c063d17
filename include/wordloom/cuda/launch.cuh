#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <wordloom/cuda/arithmetic.hpp>
#include <wordloom/cuda/device.cuh>
#include <wordloom/cuda/teams.cuh>
#include <wordloom/cuda/warp_scheme.hpp>

namespace wordloom::cuda {

/// Sentences on the device, and how to train them.
struct BatchView {
  const WordId* words;
  const std::uint32_t* ends;  // [sentences]
  std::uint32_t sentences;
  std::uint64_t first_sentence;
  std::uint64_t seed;
  std::uint32_t epoch;
  float first_rate, last_rate;  // the learning rate goes in a line from one to the other
  WordId* kept;                 // room for all words, and
  std::uint32_t* kept_sizes;    // for each sentence: what subsampling keeps
  std::uint32_t* next;          // the sentence that nobody has begun; 0 at the start
  double* loss;                 // [2] as PairLoss, added to

  WORDLOOM_BOTH std::uint32_t begin(std::uint32_t i) const { return i == 0 ? 0 : ends[i - 1]; }
  WORDLOOM_BOTH SentenceRandom random(std::uint32_t i) const {
    return {seed, first_sentence + i, epoch};
  }
};

/// Sentences of which the loss is measured: every so many.
inline constexpr std::uint32_t loss_interval = 16;

/// Subsamples all sentences, each by a warp.
template <int unused = 0>  // a template, so that it may stand in many files
__global__ void subsample_batch(BatchView batch, const std::uint32_t* highest_kept,
                                std::uint32_t last) {
  const WarpTeam team(nullptr);
  const std::uint32_t warps = gridDim.x * (blockDim.x / 32);
  for (std::uint32_t i = (blockIdx.x * blockDim.x + threadIdx.x) / 32; i < batch.sentences;
       i += warps) {
    const std::uint32_t begin = batch.begin(i);
    const std::uint32_t kept =
        subsample(team, highest_kept, last, batch.words + begin, batch.ends[i] - begin,
                  batch.random(i), batch.kept + begin);
    if (threadIdx.x % 32 == 0) batch.kept_sizes[i] = kept;
  }
}

/// Blocks of a kernel that a multiprocessor is to hold: fewer registers for a thread, but not so
/// few that they spill.
template <class Scheme, int R>
inline constexpr unsigned least_blocks = 1;
template <>
inline constexpr unsigned least_blocks<WarpScheme<7>, 4> = 6;

/// Trains all sentences, each by one Team: as many at a time as there are teams in the grid. A
/// block holds one BlockTeam or WarpsTeam, or some WarpTeams.
template <class Scheme, int R, class Team, int threads>
__global__ void __launch_bounds__(threads, least_blocks<Scheme, R>)
    train_batch(ModelView model, Sampling sampling, BatchView batch, std::uint32_t floats_of_own) {
  extern __shared__ float4 shared[];
  float* const own = reinterpret_cast<float*>(shared) +
                     threadIdx.x / Team::threads * (floats_of_own + Team::scratch);
  const Team team(own + floats_of_own);
  const bool is_first = threadIdx.x % Team::threads == 0;
  for (;;) {
    const std::uint32_t i = team.of_first(is_first ? atomicAdd(batch.next, 1u) : 0u);
    if (i >= batch.sentences) break;
    const float done = static_cast<float>(i) / static_cast<float>(batch.sentences);
    const Sentence sentence{batch.kept + batch.begin(i), batch.kept_sizes[i], batch.random(i),
                            batch.first_rate + (batch.last_rate - batch.first_rate) * done,
                            i % loss_interval == 0};
    PairLoss loss;
    Scheme::template train<R>(team, model, sampling, sentence, own, loss);
    if (sentence.with_loss && is_first) {
      atomicAdd(batch.loss, static_cast<double>(loss.sum));
      atomicAdd(batch.loss + 1, static_cast<double>(loss.positives));
    }
  }
}

/// How a kernel is to be started.
struct LaunchLimits {
  std::size_t sentences_in_flight;
  const cudaDeviceProp& device;
};

/// Starts train_batch with a grid that fills the device, or less when the limits say so.
template <class Scheme, int R, class Team, int threads>
void launch(const ModelView& model, const Sampling& sampling, const BatchView& batch,
            const LaunchLimits& limits, cudaStream_t stream) {
  constexpr int teams = threads / Team::threads;
  const std::size_t floats = Scheme::floats_of_own(sampling, std::size_t{Team::width} * R);
  const std::size_t bytes = (floats + Team::scratch) * teams * sizeof(float);
  const auto kernel = &train_batch<Scheme, R, Team, threads>;
  if (bytes > limits.device.sharedMemPerBlockOptin)
    throw DeviceError("the rows that train together need " + std::to_string(bytes) +
                      " bytes of shared memory, a block of this device has " +
                      std::to_string(limits.device.sharedMemPerBlockOptin) +
                      ": take a smaller dimension or window");
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(bytes)));
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, bytes));
  if (blocks == 0) throw DeviceError("the kernel does not fit this device");
  const std::size_t resident = static_cast<std::size_t>(blocks) *
                               static_cast<std::size_t>(limits.device.multiProcessorCount);
  const std::size_t wanted = (limits.sentences_in_flight + teams - 1) / teams;
  const auto grid = static_cast<unsigned>(std::max<std::size_t>(1, std::min(resident, wanted)));
  kernel<<<grid, threads, bytes, stream>>>(model, sampling, batch,
                                           static_cast<std::uint32_t>(floats));
  check(cudaGetLastError());
}

}  // namespace wordloom::cuda
