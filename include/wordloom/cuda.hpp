#pragma once
/// Training on GPUs, for example by `Trainer<SharedNegative, CudaWarpKernel>`. Compile with nvcc.
#ifndef __CUDACC__
#error "wordloom/cuda.hpp has kernels for a GPU: compile the file that includes it with nvcc (.cu)"
#endif
#pragma nv_diagnostic push
#pragma nv_diag_suppress 20012  // of Eigen 3.4
#include <wordloom/core/row_matrix.hpp>
#pragma nv_diagnostic pop

#include <wordloom/cuda/cuda_kernel.cuh>
#include <wordloom/cuda/device_rows.hpp>
#include <wordloom/cuda/staged.cuh>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/train/trainer.hpp>

namespace wordloom {

/// Gupta and Khare 2017, "BlazingText: Scaling and Accelerating Word2Vec using Multiple GPUs".
using BlazingText = Trainer<Hogwild, CudaSentenceKernel>;

/// Moon et al. 2019, on a GPU.
using ParWord2VecGpu = Trainer<SentenceMinibatch, CudaGemmKernel>;

/// Randall et al. 2021, "FULL-W2V: Fully Exploiting Data Reuse for W2V on GPU-Accelerated Systems".
using FullRegister = Trainer<SharedNegativeFixedWindow, CudaRegisterKernel>;
using FullW2V = Trainer<SharedNegativeFixedWindow, CudaRingBufferKernel>;

/// Synchronises replicas on GPUs by way of the host. `Host` is MpiRanks for processes, InProcess
/// for threads of one process. See also NcclAllreduce.
template <class Host, class Combine = CoherentSum>
using StagedAllreduce = Allreduce<StagedRanks<Host>, Combine, cuda::DeviceRows<cuda::CudaMachine>>;

}  // namespace wordloom
