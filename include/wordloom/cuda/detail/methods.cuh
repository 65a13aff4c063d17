#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <wordloom/core/error.hpp>
#include <wordloom/cuda/detail/batch_kernel.hpp>
#include <wordloom/cuda/detail/bidmach_scheme.hpp>
#include <wordloom/cuda/detail/column_kernel.hpp>
#include <wordloom/cuda/detail/gemm_scheme.hpp>
#include <wordloom/cuda/detail/grouped_warp_scheme.hpp>
#include <wordloom/cuda/detail/machine.cuh>
#include <wordloom/cuda/detail/published_schemes.hpp>
#include <wordloom/cuda/detail/ring_schemes.hpp>
#include <wordloom/cuda/detail/shared_warp_scheme.hpp>
#include <wordloom/cuda/detail/teams.cuh>
#include <wordloom/cuda/detail/warp_scheme.hpp>
#include <wordloom/cuda/detail/wombat_scheme.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// The minimum number of blocks that a multiprocessor holds: it limits the registers of a thread,
/// and is chosen so that none spill.
template <class Scheme, int R>
inline constexpr unsigned min_blocks = 1;
template <unsigned hot, unsigned additions>
inline constexpr unsigned min_blocks<WarpScheme<7, hot, additions>, 4> = 3;

/// Trains all sentences, each by one Team, as many at a time as there are teams in the grid; or all
/// words, if the scheme is a WordAtATime, or all parts of the batch. A block holds one team, or
/// several teams that are warps.
template <class Scheme, int R, class Team, int threads>
__global__ void __launch_bounds__(threads, min_blocks<Scheme, R>)
    train_batch(ModelView model, Sampling sampling, BatchView batch, std::uint32_t floats_of_own) {
  float* const own =
      dynamic_shared() + threadIdx.x / Team::threads * (floats_of_own + Team::scratch);
  const Team team(own + floats_of_own);
  const bool is_first = threadIdx.x % Team::threads == 0;
  std::uint32_t count = TrainsByWord<Scheme> ? batch.word_count() : batch.sentences;
  if constexpr (TrainsParts<Scheme>) count = Scheme::parts(sampling, batch);
  for (;;) {
    const std::uint32_t next = team.of_first(is_first ? atomicAdd(batch.next, 1u) : 0u);
    if (next >= count) break;
    const std::uint32_t i = TrainsByWord<Scheme>  ? batch.sentence_of(next)
                            : TrainsParts<Scheme> ? 0
                                                  : next;
    const Sentence sentence = batch.sentence(i);
    PairLoss loss;
    const SentenceTask<R, Team> task{team, model, sampling, sentence, own, loss};
    if constexpr (TrainsByWord<Scheme>) {
      const std::uint32_t center = next - batch.begin(i);
      if (center >= sentence.size) continue;  // this many words are left after subsampling
      Scheme::train_window(task, center);
    } else if constexpr (TrainsParts<Scheme>) {
      Scheme::train_part(task, batch, next);
    } else {
      Scheme::train(task);
    }
    if (sentence.with_loss && is_first) {
      atomicAdd(batch.loss, static_cast<double>(loss.sum));
      atomicAdd(batch.loss + 1, static_cast<double>(loss.examples));
    }
  }
}

/// The kernel that trains batches by a Scheme, with rows of R floats for each thread of a Team, in
/// blocks of up to `threads` threads.
template <class Scheme, int R, class Team, int threads>
struct BatchLaunch {
  /// Throws DeviceError if the program has no code for the current device, or a team needs more
  /// memory than a block has there. Must be called before `run`.
  static void check(const Sampling& sampling, const cudaDeviceProp& device) {
    // The maximum rather than what `run` needs, because another thread may train with this kernel
    // and another window.
    cuda::check(cudaFuncSetAttribute(&train_batch<Scheme, R, Team, threads>,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(device.sharedMemPerBlockOptin)));
    if (bytes_of_team(sampling) > device.sharedMemPerBlockOptin)
      throw DeviceError{"the rows that train together need ", bytes_of_team(sampling),
                        " bytes of shared memory, a block of this device has ",
                        device.sharedMemPerBlockOptin, ": choose a smaller dimension or window"};
  }

  /// Starts to train `in_flight` sentences at a time, at least 1, or fewer if these fill the
  /// device, and returns how many. Blocks have fewer teams if fewer sentences are in flight or
  /// fewer teams fit the shared memory.
  static std::size_t run(const ModelView& model, const Sampling& sampling, const BatchView& batch,
                         std::size_t in_flight, const cudaDeviceProp& device,
                         const CudaMachine& machine) {
    const std::size_t max_bytes = device.sharedMemPerBlockOptin;
    const std::size_t teams =
        (std::min)({std::size_t{threads / Team::threads}, in_flight,
                    max_bytes / (std::max<std::size_t>)(1, bytes_of_team(sampling))});
    const int block = static_cast<int>(teams) * Team::threads;
    const std::size_t bytes = teams * bytes_of_team(sampling);
    const auto kernel = &train_batch<Scheme, R, Team, threads>;
    int blocks = 0;
    cuda::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, block, bytes));
    if (blocks == 0) throw DeviceError("the kernel does not fit this device");
    cuda::check(cudaMemsetAsync(batch.next, 0, sizeof(std::uint32_t), machine.stream));
    const std::size_t resident =
        static_cast<std::size_t>(blocks) * static_cast<std::size_t>(device.multiProcessorCount);
    const std::size_t grid = (std::min)(resident, in_flight / teams);
    launch(kernel, grid, static_cast<std::size_t>(block), bytes, machine.stream, model, sampling,
           batch, static_cast<std::uint32_t>(floats_of_own(sampling)));
    return grid * teams;
  }

 private:
  static std::size_t floats_of_own(const Sampling& sampling) {
    return Scheme::floats_of_own(sampling, std::size_t{Team::width} * R);
  }
  static std::size_t bytes_of_team(const Sampling& sampling) {
    return (floats_of_own(sampling) + Team::scratch) * sizeof(float);
  }
};

/// A launch in which a thread block trains a sentence, with one float of a row in each thread.
template <class Scheme, int R>
using BlockLaunch = BatchLaunch<Scheme, 1, DeviceTeam<32 * R>, 32 * R>;
/// A launch in which each warp of a block of four trains a sentence.
template <class Scheme, int R>
using WarpLaunch = BatchLaunch<Scheme, R, WarpTeam, 128>;

/// The lengths of rows on a device, in units of 32 floats, ascending: rows are padded to one of
/// them. Each is a kernel of its own; a program that knows its dimensions may define fewer of them,
/// identically in all its files.
#ifndef WORDLOOM_CUDA_ROW_SIZES
#define WORDLOOM_CUDA_ROW_SIZES 1, 2, 4, 6, 8, 10, 12, 16, 24, 32
#endif
struct CudaMethod {
  using RowSizes = std::integer_sequence<int, WORDLOOM_CUDA_ROW_SIZES>;
  static constexpr std::size_t min_words = std::size_t{1} << 20;
  static constexpr std::size_t batch_words = std::size_t{1} << 22;
};

/// A thread block trains a sentence: by the scheme for words as targets, the one for paths or the
/// one for bags.
template <class Words, class Paths = Words, class Bags = Words>
struct BlockMethod : CudaMethod {
  template <int R, class Use>
  static void with_launch(const Sampling& sampling, Use use) {
    if (sampling.has_bags)
      use(BlockLaunch<Bags, R>());
    else if (sampling.has_paths)
      use(BlockLaunch<Paths, R>());
    else
      use(BlockLaunch<Words, R>());
  }
};

/// A thread block trains a sentence, with context rows in a ring: by the scheme for the sampler.
struct RingMethod : CudaMethod, RingSamplers {
  template <int R, class Use>
  static void with_launch(const Sampling& sampling, Use use) {
    if (sampling.minibatch > 0)
      use(BlockLaunch<MinibatchRingScheme, R>());
    else if (sampling.draws_for_pairs)
      use(BlockLaunch<PairRingScheme, R>());
    else
      use(BlockLaunch<RingBufferScheme, R>());
  }
};

/// To be measured: the number of the most frequent outputs whose additions each warp of
/// CudaWarpKernel collects, 0 (none) to 32, and how many of them, see HotOutputs. Each takes a row
/// of shared memory for each sentence in flight: 16 rows of 128 floats are 64 KiB of a
/// multiprocessor, which has 227 and uses 57.
#ifndef WORDLOOM_CUDA_HOT_OUTPUTS
#define WORDLOOM_CUDA_HOT_OUTPUTS 0
#endif
#ifndef WORDLOOM_CUDA_HOT_ADDITIONS
#define WORDLOOM_CUDA_HOT_ADDITIONS 4
#endif
template <unsigned places>
using WarpSchemeOfKernel =
    WarpScheme<places, WORDLOOM_CUDA_HOT_OUTPUTS, WORDLOOM_CUDA_HOT_ADDITIONS>;

/// WarpScheme if registers can hold the rows of a window, else SharedWarpScheme; for groups,
/// GroupedWarpScheme.
struct WarpMethod : CudaMethod {
  template <int R, class Use>
  static void with_launch(const Sampling& sampling, Use use) {
    if (sampling.group > 0) {
      using Scheme = GroupedWarpScheme<3, 2, 7>;
      if constexpr (R <= 4)
        if (Scheme::fits(sampling)) return use(WarpLaunch<Scheme, R>());
      throw InvalidArgument(
          "kernels for a GPU train GroupedWindow in up to 128 dimensions, with a window of 5, "
          "minibatches (groups) of 3 words and 7 shared_negatives: choose these, or "
          "SharedNegative");
    }
    const std::uint32_t places = 2 * sampling.max_reach + 1;
    if constexpr (R <= 8)
      if (places <= 7) return use(WarpLaunch<WarpSchemeOfKernel<7>, R>());
    if constexpr (R <= 4)
      if (places <= 11) return use(WarpLaunch<WarpSchemeOfKernel<11>, R>());
    use(WarpLaunch<SharedWarpScheme, R>());
  }
};

/// WombatScheme by warps, for words or paths as targets.
struct WombatMethod : CudaMethod {
  template <int R, class Use>
  static void with_launch(const Sampling& sampling, Use use) {
    if (sampling.has_paths)
      use(WarpLaunch<WombatScheme<AnyTargets>, R>());
    else
      use(WarpLaunch<WombatScheme<WordTargets>, R>());
  }
};

/// Both schemes of BIDMach: its positives by thread blocks with one float of a row in each thread,
/// its negatives by warps. A batch is its minibatch, as large as by default there.
struct BidMachMethod : CudaMethod {
  static constexpr std::size_t batch_words = 100'000;
  template <int R, class Use>
  static void with_launch(const Sampling&, Use use) {
    use(InTurn<BlockLaunch<BidMachPositives, R>, WarpLaunch<BidMachNegatives, R>>());
  }
};

/// GemmScheme by thread blocks of four warps.
struct GemmMethod : CudaMethod {
  template <int R, class Use>
  static void with_launch(const Sampling&, Use use) {
    use(BatchLaunch<GemmScheme, R, DeviceTeam<32, 128>, 128>());
  }
};

/// Trains on a GPU: see BatchKernel. The model is changed by atomic additions.
template <class Method, class... Samplers>
using CudaKernel = BatchKernel<CudaMachine, Method, Samplers...>;

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
