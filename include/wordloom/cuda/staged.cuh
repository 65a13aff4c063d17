#pragma once
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/cuda/device.cuh>
#include <wordloom/cuda/machine.cuh>
#include <wordloom/sync/collective.hpp>

namespace wordloom {

/// Ranks that sum values on their devices by way of the host: where there is no NCCL, or where
/// ranks share a GPU, which NCCL refuses. Copies are the same rank.
template <Collective Host>
class StagedRanks {
 public:
  explicit StagedRanks(Host ranks) : ranks_(std::move(ranks)) {}

  std::size_t rank() const noexcept { return ranks_.rank(); }
  std::size_t size() const noexcept { return ranks_.size(); }
  std::size_t bytes_of_value() const noexcept {
    if constexpr (requires { ranks_.bytes_of_value(); })
      return ranks_.bytes_of_value();
    else
      return sizeof(float);
  }

  /// Waits until the values are on the host: only the sum itself is asynchronous.
  void begin_sum(cuda::DeviceValues values) {
    fetch(values);
    ranks_.begin_sum(stage_->values.first(values.size()));
    in_flight_ = true;
  }
  bool done() {
    if (in_flight_ && !ranks_.done()) return false;
    wait();
    return true;
  }
  void wait() {
    if (!std::exchange(in_flight_, false)) return;
    ranks_.wait();
    put_back();
  }
  void broadcast(cuda::DeviceValues values) {
    fetch(values);
    ranks_.broadcast(stage_->values.first(values.size()));
    put_back();
  }
  std::vector<std::uint64_t> gather(std::uint64_t value) { return ranks_.gather(value); }
  void fail(const std::string& cause) noexcept { ranks_.fail(cause); }

 private:
  struct Stage {
    cuda::PinnedArray<float> values;
    float* on_device = nullptr;
    std::size_t size = 0;
    cuda::Event ready;
    cuda::Stream copies;
  };

  void fetch(const cuda::DeviceValues& values) {
    // Not before: the model's device is the current one by now.
    if (!stage_) stage_ = std::make_shared<Stage>();
    if (stage_->values.size() < values.size()) {
      stage_->values = {};
      stage_->values = cuda::PinnedArray<float>(values.size());
    }
    stage_->on_device = values.data();
    stage_->size = values.size();
    stage_->ready.record(values.stream);
    stage_->ready.hold(stage_->copies);
    copy(stage_->values.first(0).data(), values.data(), cudaMemcpyDeviceToHost);
  }
  void put_back() {
    copy(stage_->on_device, stage_->values.first(0).data(), cudaMemcpyHostToDevice);
  }
  void copy(float* to, const float* from, cudaMemcpyKind kind) {
    cuda::check(cudaMemcpyAsync(to, from, stage_->size * sizeof(float), kind, stage_->copies));
    stage_->copies.wait();
  }

  Host ranks_;
  std::shared_ptr<Stage> stage_;  // made for the first values
  bool in_flight_ = false;
};

}  // namespace wordloom
