#pragma once
/// Encoders on a GPU, in addition to encoders.hpp: `Trainer<Encoded<UniformMatrix, CudaCharCnn>,
/// FusedKernel>` computes word vectors on the GPU and trains on the host. Compile with nvcc; needs
/// the CMake target wordloom::cublas.
#ifndef __CUDACC__
#error "wordloom/cuda_encoders.hpp has kernels for a GPU: compile what includes it with nvcc (.cu)"
#endif

#include <wordloom/cuda/char_cnn.cuh>
#include <wordloom/encoders.hpp>
