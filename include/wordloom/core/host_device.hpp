#pragma once

// Arithmetic that a device runs and the host tests: compiled for both by nvcc, for the host by any
// other compiler.
#ifdef __CUDACC__
#define WORDLOOM_BOTH __host__ __device__ __forceinline__
#else
#define WORDLOOM_BOTH inline
#endif
#ifdef __CUDA_ARCH__
#define WORDLOOM_UNROLL _Pragma("unroll")
#else
#define WORDLOOM_UNROLL
#endif
