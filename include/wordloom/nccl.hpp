#pragma once

/// Training by several GPUs, of one machine or many, for example by `Trainer<SharedNegative,
/// CudaWarpKernel, NcclAllreduce<MpiRanks>, RankScaledDecay>`. Compile with nvcc; needs the CMake
/// target wordloom::nccl, and wordloom::mpi where the ranks are processes.
#include <wordloom/cuda.hpp>
#include <wordloom/cuda/device_rows.hpp>
#include <wordloom/cuda/nccl.cuh>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/in_process.hpp>
#include <wordloom/sync/rank_corpus.hpp>

namespace wordloom {

/// Synchronises replicas on GPUs by NCCL. `Bootstrap` is MpiRanks for processes, InProcess for
/// threads of one process.
template <class Bootstrap, class Combine = CoherentSum>
using NcclAllreduce = Allreduce<NcclRanks<Bootstrap>, Combine, cuda::DeviceRows<cuda::CudaMachine>>;

}  // namespace wordloom
