#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include <wordloom/cuda/detail/device_rows.hpp>
#include <wordloom/cuda/detail/machine.cuh>
#include <wordloom/sync/collective.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Ranks that sum values on their devices by way of the host: for machines without NCCL, or if
/// ranks share a GPU, which NCCL refuses: `Allreduce<StagedRanks<Host>>`, for a `Host` that is
/// MpiRanks for processes, ThreadRanks for threads of one process. For columns, `RowAllgather<
/// StagedRanks<Host>, CudaUniformKernel<Optimizer>::Replica>`. Copies are the same rank.
template <Collective Host>
class StagedRanks : public Host {
 public:
  using Rows = cuda::DeviceRows<cuda::CudaMachine>;

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
    int device = cuda::current_device();
    cuda::DeviceValues values;
    cuda::PinnedArray<float> on_host;
    cuda::Event ready, copied;
    cuda::Stream copies;
  };

  /// Starts to copy values to the host.
  void fetch(const cuda::DeviceValues& values) {
    // Not earlier, because only now is the model's device the current one.
    // Ranks that trained on another device before have streams and events of that one.
    if (!stage_ || stage_->device != cuda::current_device()) stage_ = std::make_shared<Stage>();
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

  std::shared_ptr<Stage> stage_;  // made for the first values on a device
  State state_ = State::idle;
};

}}  // namespace wordloom::WORDLOOM_ABI
