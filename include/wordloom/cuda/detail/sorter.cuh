#pragma once
#include <cuda_runtime.h>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <wordloom/cuda/detail/batch_run.hpp>
#include <wordloom/cuda/detail/machine.cuh>
#include <wordloom/cuda/detail/runtime.cuh>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// Sorts, sums and selects numbers on a device by CUB, in the order of the stream of a machine. The
/// results are the same in every run. Keeps the temporary memory of CUB, which all calls share, and
/// which grows: no call may be in progress when a call for more numbers is made, or when the sorter
/// is destroyed. Not thread-safe. Functions throw DeviceError.
class CudaSorter {
 public:
  using Numbers = std::uint32_t;

  /// Announces that calls of sort() and select() will have up to `size` numbers: these may then
  /// follow each other in any order.
  template <class Condition>
  void reserve(std::size_t size, int bits, const Condition& condition, const CudaMachine& machine) {
    Numbers* const none = nullptr;
    std::size_t to_sort = 0, to_select = 0;
    check(cub::DeviceRadixSort::SortPairs(nullptr, to_sort, none, none, none, none,
                                          static_cast<Numbers>(size), 0, bits, machine.stream));
    check(cub::DeviceSelect::If(nullptr, to_select, none, none, none,
                                static_cast<std::int64_t>(size), condition, machine.stream));
    min_bytes_ = (std::max)(to_sort, to_select);
  }
  /// Sorts keys below 2^bits and the values that belong to them. Equal keys keep their order.
  void sort(const Numbers* keys, Numbers* sorted_keys, const Numbers* values,
            Numbers* sorted_values, std::size_t size, int bits, const CudaMachine& machine) {
    run([&](void* memory, std::size_t& bytes) {
      return cub::DeviceRadixSort::SortPairs(memory, bytes, keys, sorted_keys, values,
                                             sorted_values, static_cast<Numbers>(size), 0, bits,
                                             machine.stream);
    });
  }
  /// Replaces each number by its inclusive prefix sum.
  void add_up(Numbers* numbers, std::size_t size, const CudaMachine& machine) {
    run([&](void* memory, std::size_t& bytes) {
      return cub::DeviceScan::InclusiveSum(memory, bytes, numbers, numbers,
                                           static_cast<Numbers>(size), machine.stream);
    });
  }
  /// Copies the numbers for which `condition` is true, in order, and sets `count`.
  template <class Condition>
  void select(const Numbers* numbers, Numbers* selected, Numbers* count, std::size_t size,
              const Condition& condition, const CudaMachine& machine) {
    run([&](void* memory, std::size_t& bytes) {
      return cub::DeviceSelect::If(memory, bytes, numbers, selected, count,
                                   static_cast<std::int64_t>(size), condition, machine.stream);
    });
  }

 private:
  /// Calls CUB twice, as it requires: without memory it reports how much it needs.
  template <class Call>
  void run(Call call) {
    std::size_t bytes = 0;
    check(call(nullptr, bytes));
    grow(memory_, (std::max)(bytes, min_bytes_));
    bytes = memory_.size();
    check(call(memory_.data(), bytes));
  }

  OrderedArray<std::byte> memory_;
  std::size_t min_bytes_ = 0;
};

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
