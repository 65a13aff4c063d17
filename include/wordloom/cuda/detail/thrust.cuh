#pragma once
// The only file that includes Thrust. The first header comes first because the emulated device of
// the tests replaces it.
#include <thrust/system/cuda/execution_policy.h>

#include <cuda_runtime.h>
#include <thrust/functional.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/system_error.h>
#include <thrust/transform_reduce.h>

#include <algorithm>
#include <cstddef>
#include <deque>

#include <wordloom/cuda/detail/machine.cuh>
#include <wordloom/cuda/detail/runtime.cuh>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// Temporary memory on a device for calls of Thrust and CUB that are made on one stream, as an
/// allocator. A call takes memory that an earlier one has given back, even if the device has not
/// done that call's work yet: the stream does it first. Memory is freed by the destructor alone,
/// when no work may use it any more. Not thread-safe.
class DeviceScratch {
 public:
  using value_type = char;

  DeviceScratch() = default;
  DeviceScratch(const DeviceScratch&) = delete;
  DeviceScratch& operator=(const DeviceScratch&) = delete;

  /// Announces that calls will need up to `bytes`: the memory of the first is then enough for all.
  void reserve(std::size_t bytes) noexcept { min_bytes_ = (std::max)(min_bytes_, bytes); }
  /// Waits for no work of the device. Throws DeviceError if there is too little memory.
  char* allocate(std::size_t bytes) {
    auto block = std::ranges::find_if(
        blocks_, [&](const Block& b) { return !b.is_used && b.memory.size() >= bytes; });
    if (block == blocks_.end()) {
      blocks_.push_back({Memory((std::max)(min_bytes_, bytes + bytes / 8), "temporary memory")});
      block = blocks_.end() - 1;
    }
    block->is_used = true;
    return block->memory.data();
  }
  void deallocate(char* memory, std::size_t) noexcept {
    for (Block& block : blocks_)
      if (block.memory.data() == memory) block.is_used = false;
  }

 private:
  using Memory = OrderedArray<char>;
  struct Block {
    Memory memory;
    bool is_used = false;
  };
  std::deque<Block> blocks_;
  std::size_t min_bytes_ = std::size_t{1} << 16;  // of a block; enough for all but sorts
};

/// Calls call(policy), in which algorithms of Thrust take their temporary memory from `scratch` and
/// do their work in the order of the machine's stream. Those that return no number from the device
/// do not wait for it. Throws DeviceError, also in place of Thrust's own exception.
template <class Call>
auto by_thrust(DeviceScratch& scratch, const CudaMachine& machine, Call call) {
  try {
    return call(thrust::cuda::par_nosync(scratch).on(machine.stream));
  } catch (const thrust::system_error& error) {
    check(static_cast<cudaError_t>(error.code().value()));
    throw;
  }
}

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
