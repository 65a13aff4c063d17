#pragma once
// The algorithms of Thrust on the streams of the emulated devices: Thrust's own for the host
// (libthrust-dev), which do their work when the stream gets there. Loops (transform, sequence,
// tabulate, fill, gather, ...) are for_each to Thrust. An algorithm that would need more than what
// is defined here does not compile.

// Thrust must not take this compiler for nvcc.
#define THRUST_DEVICE_SYSTEM THRUST_DEVICE_SYSTEM_CPP
#pragma push_macro("__CUDACC__")
#pragma push_macro("__CUDA_ARCH__")
#undef __CUDACC__
#undef __CUDA_ARCH__
#include <thrust/execution_policy.h>
#include <thrust/for_each.h>
#include <thrust/functional.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/system_error.h>
#include <thrust/tabulate.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#pragma pop_macro("__CUDA_ARCH__")
#pragma pop_macro("__CUDACC__")

#include <cstddef>
#include <cstring>
#include <functional>

#include "cuda_runtime.h"

namespace emu {

template <class Allocator>
struct ThrustPolicy : thrust::execution_policy<ThrustPolicy<Allocator>> {
  Allocator* allocator = nullptr;
  Stream* stream = nullptr;

  ThrustPolicy on(Stream* s) const {
    ThrustPolicy other = *this;
    other.stream = s;
    return other;
  }
  /// Does `work` in the order of the stream, with `bytes` of temporary memory, which are given back
  /// at once, as Thrust does for the device.
  void submit(std::size_t bytes, std::function<void()> work) const {
    if (setting("EMU_NO_CODE", 0) != 0)
      throw thrust::system_error(cudaErrorInvalidDeviceFunction, thrust::generic_category());
    char* const memory = bytes == 0 ? nullptr : allocator->allocate(bytes);
    {
      auto l = lock();
      if (stream == nullptr || stream->device != device)
        throw thrust::system_error(cudaErrorInvalidResourceHandle, thrust::generic_category());
      stream->ops.push_back({{}, [=] {
                               on_device(memory, bytes);
                               if (bytes != 0) std::memset(memory, 0xff, bytes);
                               work();
                             }});
    }
    if (bytes != 0) allocator->deallocate(memory, bytes);
  }
};

/// The elements must be of the device, where that can be seen.
template <class T>
void require_on_device(T* first, T* last) {
  on_device(first, static_cast<std::size_t>(last - first) * sizeof(T));
}
template <class Iterator>
void require_on_device(const Iterator&, const Iterator&) {}

template <class Allocator, class Iterator, class Function>
Iterator for_each(ThrustPolicy<Allocator>& policy, Iterator first, Iterator last, Function f) {
  policy.submit(0, [=] {
    require_on_device(first, last);
    thrust::for_each(thrust::seq, first, last, f);
  });
  return last;
}
template <class Allocator, class From, class To, class Operator>
To inclusive_scan(ThrustPolicy<Allocator>& policy, From first, From last, To result, Operator op) {
  const auto size = last - first;
  policy.submit(static_cast<std::size_t>(size) / 4 + 1, [=] {
    require_on_device(first, last);
    require_on_device(result, result + size);
    thrust::inclusive_scan(thrust::seq, first, last, result, op);
  });
  return result + size;
}
/// Waits for the stream, as it returns a number of the device.
template <class Allocator, class Iterator, class T, class Operator>
T reduce(ThrustPolicy<Allocator>& policy, Iterator first, Iterator last, T initial, Operator op) {
  T result = initial;
  policy.submit(static_cast<std::size_t>(last - first) / 64 + 1, [=, &result] {
    require_on_device(first, last);
    result = thrust::reduce(thrust::seq, first, last, initial, op);
  });
  cudaStreamSynchronize(policy.stream);
  return result;
}

struct ParNosync {
  template <class Allocator>
  ThrustPolicy<Allocator> operator()(Allocator& allocator) const {
    ThrustPolicy<Allocator> policy;
    policy.allocator = &allocator;
    return policy;
  }
};

}  // namespace emu

namespace thrust::cuda {
inline constexpr emu::ParNosync par_nosync;
}
