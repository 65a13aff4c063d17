#pragma once
// Sorts and selections by CUB, on the streams of the emulated devices: those of
// wordloom/cuda/detail/sorter.cuh alone, as CUB has no algorithms for the host. The folder cub/ has
// the headers that include this one.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "cuda_runtime.h"

namespace cub {
namespace emulated {

/// Without memory, says how much it takes. With memory, which must be enough, and of the device as
/// all `arrays` (data and bytes) must be, does `work` in the order of the stream.
template <class Work>
cudaError_t submit(void* memory, std::size_t& bytes, std::size_t needed, cudaStream_t stream,
                   const std::vector<std::pair<const void*, std::size_t>>& arrays, Work work) {
  if (emu::setting("EMU_NO_CODE", 0) != 0) return emu::fail(cudaErrorInvalidDeviceFunction);
  if (memory == nullptr) {
    bytes = needed;
    return cudaSuccess;
  }
  auto l = emu::lock();
  if (bytes < needed) return emu::fail(cudaErrorInvalidValue);
  if (stream != nullptr && stream->device != emu::device)
    return emu::fail(cudaErrorInvalidResourceHandle);
  emu::World::get().of(stream, emu::device)->push({{}, [=] {
                                                     emu::on_device(memory, needed);
                                                     for (const auto& [data, size] : arrays)
                                                       emu::on_device(data, size);
                                                     std::memset(memory, 0xff,
                                                                 needed);  // which only CUB may use
                                                     work();
                                                   }});
  return cudaSuccess;
}

}  // namespace emulated

struct DeviceRadixSort {
  template <class Key, class Value>
  static cudaError_t SortPairs(void* memory, std::size_t& bytes, const Key* keys, Key* sorted_keys,
                               const Value* values, Value* sorted_values, std::uint32_t size,
                               int begin_bit, int end_bit, cudaStream_t stream) {
    if (begin_bit < 0 || end_bit <= begin_bit || end_bit > static_cast<int>(8 * sizeof(Key)))
      return emu::fail(cudaErrorInvalidValue);
    return emulated::submit(
        memory, bytes, size * (sizeof(Key) + sizeof(Value)) + 1, stream,
        {{keys, size * sizeof(Key)},
         {sorted_keys, size * sizeof(Key)},
         {values, size * sizeof(Value)},
         {sorted_values, size * sizeof(Value)}},
        [=] {
          // By these bits alone, as CUB does.
          const auto part = [=](Key key) {
            return static_cast<std::uint64_t>(key) % (std::uint64_t{1} << end_bit) >> begin_bit;
          };
          std::vector<std::pair<Key, Value>> all(size);
          for (std::size_t i = 0; i < size; ++i) all[i] = {keys[i], values[i]};
          std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
            return part(a.first) < part(b.first);
          });
          for (std::size_t i = 0; i < size; ++i) {
            sorted_keys[i] = all[i].first;
            sorted_values[i] = all[i].second;
          }
        });
  }
};

struct DeviceSelect {
  template <class T, class Count, class Condition>
  static cudaError_t If(void* memory, std::size_t& bytes, const T* from, T* to, Count* count,
                        std::int64_t size, Condition condition, cudaStream_t stream) {
    const auto numbers = static_cast<std::size_t>(size);
    return emulated::submit(
        memory, bytes, numbers / 4 + 1, stream,
        {{from, numbers * sizeof(T)}, {to, sizeof(T)}, {count, sizeof(Count)}},
        [=] { *count = static_cast<Count>(std::copy_if(from, from + size, to, condition) - to); });
  }
};

}  // namespace cub
