#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <wordloom/core/error.hpp>

#include "composition.hpp"

inline bool is_for_gpu(std::string_view kernel) { return kernel.starts_with("cuda-"); }

#if WORDLOOM_HAS_CUDA

/// Throws what would stop training on a GPU at once: before the corpus is read. All in gpu.cu.
void check_gpu(const Composition& composition);
/// The GPU of a process, if it is the only one or with others on its machine.
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
