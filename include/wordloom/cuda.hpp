#pragma once

/// Training on GPUs, for example by `Trainer<SharedNegative, CudaWarpKernel>`. Compile with nvcc.
#ifndef __CUDACC__
#error "wordloom/cuda.hpp has kernels for a GPU: compile the file that includes it with nvcc (.cu)"
#endif
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include <wordloom/corpus/word_context_matrix.hpp>
#include <wordloom/cuda/cuda_kernel.cuh>
#include <wordloom/cuda/detail/device_rows.hpp>
#include <wordloom/cuda/detail/machine.cuh>
#include <wordloom/optimizer/adam.hpp>
#include <wordloom/optimizer/sgd.hpp>
#include <wordloom/sampler/uniform_matrix.hpp>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/collective.hpp>
#include <wordloom/sync/row_allgather.hpp>
#include <wordloom/systems.hpp>
#include <wordloom/train/trainer.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Gupta and Khare 2017, "BlazingText: Scaling and Accelerating Word2Vec using Multiple GPUs".
using BlazingText = Trainer<Hogwild, CudaSentenceKernel>;
using BlazingTextCbow = Trainer<Cbow, CudaSentenceKernel>;

/// Moon et al. 2019, on a GPU.
using ParWord2VecGpu = Trainer<SentenceMinibatch, CudaGemmKernel>;

/// Randall et al. 2021, "FULL-W2V: Fully Exploiting Data Reuse for W2V on GPU-Accelerated Systems".
using FullRegister = FixedWindowTrainer<SharedNegative, CudaRegisterKernel>;
using FullW2V = FixedWindowTrainer<SharedNegative, CudaRingBufferKernel>;

/// Simonton and Alaghband 2017, "Efficient and accurate Word2Vec implementations in GPU and
/// shared-memory multicore architectures", with negatives, or with hierarchical softmax and
/// `.node_sample = 0`.
using WombatGpu = Trainer<SharedNegative, CudaWombatKernel>;
using WombatGpuHierarchicalSoftmax = Trainer<HierarchicalSoftmax, CudaWombatKernel>;

/// Canny et al. 2015, "Machine Learning at the Limit", as its kernels for GPUs: the positives of a
/// minibatch of 100,000 words, then its negatives, with `.learning_rate = 0.001`. See BidMach for
/// one window at a time.
using BidMachGpu = Trainer<SharedNegative, CudaBidMachKernel>;

/// W2V-CL (see W2vCl) on a GPU: by Adam, over a WordContextMatrix. Its baseline is in
/// wordloom/cuda_vanilla.hpp.
using W2vClGpu = Published<UniformMatrix, CudaUniformKernel<Adam>>;

/// Ranks that sum values on their devices by way of the host: for machines without NCCL, or if
/// ranks share a GPU, which NCCL refuses. Copies are the same rank.
template <Collective Host>
class StagedRanks : public Host {
 public:
  explicit StagedRanks(Host ranks) : Host(std::move(ranks)) {}

  /// Does not wait for the work that makes the values, so that the device stays busy: once they are
  /// on the host, the next done() or wait() starts the sum there.
  void begin_sum(cuda::DeviceValues values) {
    fetch(values);
    state_ = State::copying;
  }
  bool done() {
    if (state_ == State::copying) {
      if (!stage_->copied.is_over()) return false;
      sum();
    }
    if (state_ == State::summing && !Host::done()) return false;
    wait();
    return true;
  }
  void wait() {
    if (state_ == State::copying) sum();
    if (std::exchange(state_, State::idle) == State::idle) return;
    Host::wait();
    put_back();
  }
  void broadcast(cuda::DeviceValues values) {
    constexpr std::size_t at_once = std::size_t{1} << 22;  // floats of pinned memory
    for (std::size_t first = 0; first < values.size(); first += at_once) {
      fetch({values.subspan(first, (std::min)(at_once, values.size() - first)), values.stream});
      Host::broadcast(on_host());
      put_back();
    }
  }
  /// Gathers rows, see RowCollective.
  void gather_rows(const cuda::DeviceValues& rows, std::size_t row_size,
                   std::span<const std::uint64_t> first) {
    fetch(rows);
    detail::gather_rows(static_cast<Host&>(*this), on_host(), row_size, first);
    put_back();
  }

 private:
  enum class State { idle, copying, summing };
  struct Stage {
    cuda::DeviceValues values;
    cuda::PinnedArray<float> on_host;
    cuda::Event ready, copied;
    cuda::Stream copies;
  };

  /// Starts to copy values to the host.
  void fetch(const cuda::DeviceValues& values) {
    // Not earlier, because only now is the model's device the current one.
    if (!stage_) stage_ = std::make_shared<Stage>();
    cuda::grow(stage_->on_host, values.size());
    stage_->values = values;
    stage_->ready.record(values.stream);
    stage_->ready.hold(stage_->copies);
    cuda::copy_async(stage_->on_host.data(), values.data(), values.size(), stage_->copies);
    stage_->copied.record(stage_->copies);
  }
  std::span<float> on_host() {
    stage_->copied.wait();
    return {stage_->on_host.data(), stage_->values.size()};
  }
  void sum() {
    Host::begin_sum(on_host());
    state_ = State::summing;
  }
  void put_back() {
    cuda::copy_async(stage_->values.data(), stage_->on_host.data(), stage_->values.size(),
                     stage_->copies);
    cuda::check(cudaStreamSynchronize(stage_->copies));
  }

  std::shared_ptr<Stage> stage_;  // made for the first values
  State state_ = State::idle;
};

/// Keeps replicas on GPUs identical if they are trained by columns, by way of the host. See also
/// NcclRowAllgather.
template <class Host, class Optimizer = Sgd>
using StagedRowAllgather =
    RowAllgather<StagedRanks<Host>, typename CudaUniformKernel<Optimizer>::Replica>;

/// Synchronises replicas on GPUs by way of the host. `Host` is MpiRanks for processes, InProcess
/// for threads of one process. See also NcclAllreduce.
template <class Host, class Combine = CoherentSum>
using StagedAllreduce = Allreduce<StagedRanks<Host>, Combine, cuda::DeviceRows<cuda::CudaMachine>>;

}}  // namespace wordloom::WORDLOOM_ABI
