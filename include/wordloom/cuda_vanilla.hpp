#pragma once
/// The baseline of W2V-CL on GPUs, in addition to wordloom/cuda.hpp; uses Thrust and CUB, which are
/// part of the CUDA toolkit. Compile with nvcc. They have a namespace `cuda`, by which nvcc names
/// their types in code of its own: it is ambiguous with `wordloom::cuda` in a file that includes
/// this header and says `using namespace wordloom`, which is therefore not allowed.
#ifndef __CUDACC__
#error "wordloom/cuda_vanilla.hpp is for a GPU: compile the file that includes it with nvcc (.cu)"
#endif
#include <wordloom/cuda.hpp>
#include <wordloom/cuda/detail/sorter.cuh>
#include <wordloom/cuda/detail/vanilla_kernel.hpp>
#include <wordloom/optimizer/adam.hpp>
#include <wordloom/optimizer/sgd.hpp>
#include <wordloom/sampler/hogwild.hpp>
#include <wordloom/systems.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Pairs in the order of the corpus in minibatches: see VanillaKernel.
template <class Optimizer = Sgd>
using CudaVanillaKernel =
    cuda::VanillaKernel<cuda::CudaMachine, cuda::CudaSorter, cuda::CudaMethod::RowSizes, Optimizer>;

/// Vanilla on a GPU: `VanillaGpu<Adam>(parameters, {.batch = 1024})`.
template <class OptimizerPolicy = Adam>
using VanillaGpu = detail::FixedWindowTrainer<Hogwild, CudaVanillaKernel<OptimizerPolicy>>;

}}  // namespace wordloom::WORDLOOM_ABI
