#pragma once
#include <wordloom/cuda/detail/thrust.cuh>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <wordloom/cuda/detail/machine.cuh>
#include <wordloom/cuda/detail/runtime.cuh>
#include <wordloom/cuda/detail/team.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// The bits of a number without its sign. They are in the order of absolute values; those of
/// infinity follow, then those of NaN.
struct MagnitudeBits {
  WORDLOOM_BOTH std::uint32_t operator()(float x) const {
    return std::bit_cast<std::uint32_t>(x) & 0x7fffffffu;
  }
};

/// Sorts, sums and selects numbers on a device in the order of the stream of a machine, by Thrust,
/// and by CUB where Thrust would do more: its sort compares all bits of a key, and its copy_if
/// waits for the device to return the end. The results are the same in every run. All calls share
/// one temporary memory; no work may be in progress when the sorter is destroyed. Not thread-safe.
/// Functions throw DeviceError.
class CudaSorter {
 public:
  using Numbers = std::uint32_t;

  /// Announces that calls of sort() and select() will have up to `size` numbers: the first call
  /// then allocates memory for all.
  template <class Condition>
  void reserve(std::size_t size, int bits, const Condition& condition, const CudaMachine& machine) {
    Numbers* const none = nullptr;
    std::size_t to_sort = 0, to_select = 0;
    check(cub::DeviceRadixSort::SortPairs(nullptr, to_sort, none, none, none, none,
                                          static_cast<Numbers>(size), 0, bits, machine.stream));
    check(cub::DeviceSelect::If(nullptr, to_select, none, none, none,
                                static_cast<std::int64_t>(size), condition, machine.stream));
    scratch_.reserve((std::max)(to_sort, to_select));
  }
  /// Sets the numbers to 0, 1, 2, ...
  void enumerate(Numbers* numbers, std::size_t size, const CudaMachine& machine) {
    by_thrust(scratch_, machine,
              [&](const auto& policy) { thrust::sequence(policy, numbers, numbers + size); });
  }
  /// Sorts keys below 2^bits and the values that belong to them. Equal keys keep their order.
  void sort(const Numbers* keys, Numbers* sorted_keys, const Numbers* values,
            Numbers* sorted_values, std::size_t size, int bits, const CudaMachine& machine) {
    by_cub([&](void* memory, std::size_t& bytes) {
      return cub::DeviceRadixSort::SortPairs(memory, bytes, keys, sorted_keys, values,
                                             sorted_values, static_cast<Numbers>(size), 0, bits,
                                             machine.stream);
    });
  }
  /// Replaces each number by its inclusive prefix sum.
  void add_up(Numbers* numbers, std::size_t size, const CudaMachine& machine) {
    by_thrust(scratch_, machine, [&](const auto& policy) {
      thrust::inclusive_scan(policy, numbers, numbers + size, numbers);
    });
  }
  /// Copies the numbers for which `condition` is true, in order, and sets `count`.
  template <class Condition>
  void select(const Numbers* numbers, Numbers* selected, Numbers* count, std::size_t size,
              const Condition& condition, const CudaMachine& machine) {
    by_cub([&](void* memory, std::size_t& bytes) {
      return cub::DeviceSelect::If(memory, bytes, numbers, selected, count,
                                   static_cast<std::int64_t>(size), condition, machine.stream);
    });
  }
  /// Returns the largest absolute value, and NaN if there is one. Waits for the device.
  float largest(const float* values, std::size_t size, const CudaMachine& machine) {
    return std::bit_cast<float>(by_thrust(scratch_, machine, [&](const auto& policy) {
      return thrust::transform_reduce(policy, values, values + size, MagnitudeBits(), Numbers{0},
                                      thrust::maximum<Numbers>());
    }));
  }

 private:
  /// Calls CUB twice, as it requires: without memory it reports how much it needs.
  template <class Call>
  void by_cub(Call call) {
    std::size_t bytes = 0;
    check(call(nullptr, bytes));
    char* const memory = scratch_.allocate(bytes);
    const cudaError_t status = call(memory, bytes);
    scratch_.deallocate(memory, bytes);
    check(status);
  }

  DeviceScratch scratch_;
};

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
