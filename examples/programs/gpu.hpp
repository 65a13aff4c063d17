#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <wordloom/core/error.hpp>

#include "composition.hpp"

inline bool is_for_gpu(std::string_view kernel) { return kernel.starts_with("cuda-"); }

#if WORDLOOM_HAS_CUDA

/// Throws, before the corpus is read, errors that would end training on a GPU at once. In gpu.cu.
void check_gpu(const Composition& composition);
/// Returns the GPU of a process, alone or with others on its machine.
std::size_t gpu_of(const Composition& composition, const Cluster& cluster);
wordloom::TrainReport train_on_gpu(const Job& job);

#else

[[noreturn]] inline void check_gpu(const Composition& composition) {
  throw wordloom::InvalidArgument("--kernel " + std::string(composition.kernel) +
                                  " needs a build with CUDA (WORDLOOM_ENABLE_CUDA)");
}
inline std::size_t gpu_of(const Composition& composition, const Cluster&) {
  check_gpu(composition);
}
inline wordloom::TrainReport train_on_gpu(const Job& job) { check_gpu(job.composition); }

#endif
