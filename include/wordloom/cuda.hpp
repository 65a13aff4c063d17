#pragma once
/// Training on GPUs, to be compiled by nvcc: `Trainer<SharedNegative, CudaWarpKernel>` and its
/// like.
#ifndef __CUDACC__
#error "wordloom/cuda.hpp has kernels for a GPU: compile the file that includes it with nvcc (.cu)"
#endif
#pragma nv_diagnostic push
#pragma nv_diag_suppress 20012  // of Eigen 3.4
#include <wordloom/core/row_matrix.hpp>
#pragma nv_diagnostic pop

#include <wordloom/kernel/cuda/cuda_kernel.cuh>
#include <wordloom/trainer.hpp>
