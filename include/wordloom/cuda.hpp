#pragma once
/// Training on GPUs, for example by `Trainer<SharedNegative, CudaWarpKernel>`. Compile with nvcc.
#ifndef __CUDACC__
#error "wordloom/cuda.hpp has kernels for a GPU: compile the file that includes it with nvcc (.cu)"
#endif
#include <memory>
#include <span>
#include <utility>

#include <wordloom/cuda/cuda_kernel.cuh>
#include <wordloom/cuda/device_rows.hpp>
#include <wordloom/cuda/machine.cuh>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/collective.hpp>
#include <wordloom/train/trainer.hpp>

namespace wordloom::inline WORDLOOM_ABI {

/// Gupta and Khare 2017, "BlazingText: Scaling and Accelerating Word2Vec using Multiple GPUs".
using BlazingText = Trainer<Hogwild, CudaSentenceKernel>;
using BlazingTextCbow = Trainer<Cbow, CudaSentenceKernel>;

/// Moon et al. 2019, on a GPU.
using ParWord2VecGpu = Trainer<SentenceMinibatch, CudaGemmKernel>;

/// Randall et al. 2021, "FULL-W2V: Fully Exploiting Data Reuse for W2V on GPU-Accelerated Systems".
using FullRegister = Trainer<SharedNegativeFixedWindow, CudaRegisterKernel>;
using FullW2V = Trainer<SharedNegativeFixedWindow, CudaRingBufferKernel>;

/// Ranks that sum values on their devices by way of the host: where there is no NCCL, or where
/// ranks share a GPU, which NCCL refuses. Copies are the same rank.
template <Collective Host>
class StagedRanks : public Host {
 public:
  explicit StagedRanks(Host ranks) : Host(std::move(ranks)) {}

  /// Waits until the values are on the host: only the sum itself is asynchronous.
  void begin_sum(cuda::DeviceValues values) {
    Host::begin_sum(fetch(values));
    in_flight_ = true;
  }
  bool done() {
    if (in_flight_ && !Host::done()) return false;
    wait();
    return true;
  }
  void wait() {
    if (!std::exchange(in_flight_, false)) return;
    Host::wait();
    put_back();
  }
  void broadcast(cuda::DeviceValues values) {
    Host::broadcast(fetch(values));
    put_back();
  }

 private:
  struct Stage {
    cuda::DeviceValues values;
    cuda::PinnedArray<float> on_host;
    cuda::Event ready;
    cuda::Stream copies;

    void copy(float* to, const float* from) const {
      cuda::copy_async(to, from, values.size(), copies);
      cuda::check(cudaStreamSynchronize(copies));
    }
  };

  std::span<float> fetch(const cuda::DeviceValues& values) {
    // Not before: the model's device is the current one by now.
    if (!stage_) stage_ = std::make_shared<Stage>();
    cuda::grow(stage_->on_host, values.size());
    stage_->values = values;
    stage_->ready.record(values.stream);
    stage_->ready.hold(stage_->copies);
    stage_->copy(stage_->on_host.data(), values.data());
    return {stage_->on_host.data(), values.size()};
  }
  void put_back() { stage_->copy(stage_->values.data(), stage_->on_host.data()); }

  std::shared_ptr<Stage> stage_;  // made for the first values
  bool in_flight_ = false;
};

/// Synchronises replicas on GPUs by way of the host. `Host` is MpiRanks for processes, InProcess
/// for threads of one process. See also NcclAllreduce.
template <class Host, class Combine = CoherentSum>
using StagedAllreduce = Allreduce<StagedRanks<Host>, Combine, cuda::DeviceRows<cuda::CudaMachine>>;

}  // namespace wordloom::inline WORDLOOM_ABI
