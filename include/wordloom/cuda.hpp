#pragma once

/// Training on GPUs, for example by `Trainer<SharedNegative, CudaWarpKernel>`. Compile with nvcc.
#ifndef __CUDACC__
#error "wordloom/cuda.hpp has kernels for a GPU: compile the file that includes it with nvcc (.cu)"
#endif
#include <wordloom/corpus/word_context_matrix.hpp>
#include <wordloom/cuda/cuda_kernel.cuh>
#include <wordloom/cuda/staged_ranks.cuh>
#include <wordloom/optimizer/adam.hpp>
#include <wordloom/optimizer/sgd.hpp>
#include <wordloom/sampler/uniform_matrix.hpp>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/row_allgather.hpp>
#include <wordloom/systems.hpp>
#include <wordloom/train/trainer.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Gupta and Khare 2017, "BlazingText: Scaling and Accelerating Word2Vec using Multiple GPUs"; its
/// CBOW is `Trainer<Cbow, CudaSentenceKernel>`.
using BlazingText = Trainer<Hogwild, CudaSentenceKernel>;

/// Randall et al. 2021, "FULL-W2V: Fully Exploiting Data Reuse for W2V on GPU-Accelerated Systems",
/// with fixed windows. FullRegister keeps output rows in registers; FullW2V also keeps context rows
/// in a ring in shared memory.
using FullRegister = detail::FixedWindowTrainer<SharedNegative, CudaRegisterKernel>;
using FullW2V = detail::FixedWindowTrainer<SharedNegative, CudaRingBufferKernel>;

/// W2V-CL on a GPU (see W2vCl): trains a WordContextMatrix with Adam. The paper's baseline is
/// VanillaGpu in wordloom/cuda_vanilla.hpp.
using W2vClGpu = Published<UniformMatrix, CudaUniformKernel<Adam>>;

}}  // namespace wordloom::WORDLOOM_ABI
