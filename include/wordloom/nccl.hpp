#pragma once

/// Training by several GPUs, of one machine or many, for example by `Trainer<SharedNegative,
/// CudaWarpKernel, Allreduce<NcclRanks<MpiRanks>>, RankScaledDecay>`. Compile with nvcc; needs the
/// CMake target wordloom::nccl, and wordloom::mpi if the ranks are processes.
#include <wordloom/cuda.hpp>
#include <wordloom/cuda/nccl_ranks.cuh>
#include <wordloom/sync/rank_corpus.hpp>
#include <wordloom/sync/row_allgather.hpp>
#include <wordloom/sync/thread_ranks.hpp>
