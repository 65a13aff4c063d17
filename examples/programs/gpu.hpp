#pragma once
#include <cstddef>
#include <string>
#include <wordloom/any_trainer.hpp>
#include <wordloom/core/error.hpp>

#include "cluster.hpp"
#include "training_options.hpp"

#if WORDLOOM_HAS_CUDA

/// Throws, before the corpus is read, errors that would end training on a GPU at once. In gpu.cu.
void check_gpu(const TrainingOptions& options);
/// Returns the GPU of a process, alone or with others on its machine.
std::size_t gpu_of(const TrainingOptions& options, const Cluster& cluster);
/// Returns the trainer of the options' sampler and kernel, which is for GPUs.
wordloom::AnyTrainer make_gpu_trainer(const TrainingOptions& options, const Cluster& cluster);

#else

[[noreturn]] inline void check_gpu(const TrainingOptions& options) {
  throw wordloom::InvalidArgument("--kernel " + options.kernel +
                                  " needs a build with CUDA (WORDLOOM_ENABLE_CUDA)");
}
inline std::size_t gpu_of(const TrainingOptions& options, const Cluster&) { check_gpu(options); }
inline wordloom::AnyTrainer make_gpu_trainer(const TrainingOptions& options, const Cluster&) {
  check_gpu(options);
}

#endif
