#pragma once
// A CUDA runtime on the host, which runs device code where there is no GPU: every CUDA thread is a
// fiber, warp and block collectives wait for each other, and streams do their work late and in any
// order that events allow. A .cu file is compiled as C++ with this file included first, this folder
// first in the include path, and the macros of CMakeLists.txt.
//   EMU_SEED=n     another interleaving of warps, lanes and streams
//   EMU_DEVICES=n  GPUs that there are (1)
//   EMU_KIB=n      memory of a GPU (80 GiB)
//   EMU_PINNED_KIB=n  the largest array of pinned memory (no bound)
//   EMU_SHARED_KIB=n  shared memory that a block may ask for (227; 99 is sm_86 and sm_89)
//   EMU_PAGEABLE_LATE=1  copies of pageable memory are late too, as where devices access it
//   EMU_FREE_AT_ONCE=1  no array that is made or freed waits for the device
//   EMU_POOLS=0    cudaMallocAsync is not supported
//   EMU_DRIVER=n   version of CUDA that the driver is for (13000; 0: there is no driver)
//   EMU_NO_CODE=1  the program has no code for the device
//   EMU_NCCL_FAILS=1  NCCL does not start
//   EMU_NAN=1      divisions of device code give NaN
//   EMU_OMIT=list, EMU_OMIT=place  leaves out a barrier or a wait: see left_out
//   EMU_YIELD=p    per cent of reads and atomics of global memory at which a thread lets others run
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "device_code.hpp"
#include "streams.hpp"

using cudaStream_t = emu::Stream*;
using cudaEvent_t = emu::Event*;
using cudaGraph_t = emu::Graph*;
using cudaGraphExec_t = emu::Graph*;

// ---- the runtime's functions --------------------------------------------------------------------
inline cudaError_t cudaGetLastError() { return std::exchange(emu::last_error, cudaSuccess); }
inline const char* cudaGetErrorString(cudaError_t e) {
  switch (e) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorNotReady:
      return "device not ready";
    default:
      return "an error";
  }
}
inline cudaError_t cudaDriverGetVersion(int* v) {
  *v = static_cast<int>(emu::setting("EMU_DRIVER", emu::runtime_version));
  return cudaSuccess;
}
inline cudaError_t cudaRuntimeGetVersion(int* v) {
  *v = emu::runtime_version;
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceCount(int* n) {
  *n = 0;
  if (emu::setting("EMU_DRIVER", emu::runtime_version) < emu::runtime_version)
    return emu::fail(cudaErrorInsufficientDriver);
  *n = emu::devices();
  return *n == 0 ? emu::fail(cudaErrorNoDevice) : cudaSuccess;
}
inline cudaError_t cudaSetDevice(int d) {
  if (d < 0 || d >= emu::devices()) return emu::fail(cudaErrorInvalidDevice);
  emu::device = d;
  return cudaSuccess;
}
inline cudaError_t cudaGetDevice(int* d) {
  *d = emu::device;
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) {
  *p = {};
  std::strcpy(p->name, "emulated");
  p->major = 9;
  p->multiProcessorCount = static_cast<int>(emu::setting("EMU_SMS", 2));
  p->l2CacheSize = 50 << 20;
  p->sharedMemPerBlockOptin = static_cast<std::size_t>(emu::setting("EMU_SHARED_KIB", 227)) << 10;
  p->totalGlobalMem = std::size_t{80} << 30;
  return cudaSuccess;
}
inline cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *total = emu::memory_of_device();
  *free = *total - std::min(*total, emu::World::get().used);
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMalloc(T** p, std::size_t bytes) {
  auto l = emu::lock();
  emu::wait_for_device(l, "cudaMalloc");
  char* const memory = emu::allocate(bytes);
  if (memory == nullptr) return emu::fail(cudaErrorMemoryAllocation);
  emu::open(memory, bytes);
  *p = reinterpret_cast<T*>(memory);
  return cudaSuccess;
}
inline cudaError_t cudaFree(void* p) {
  if (p == nullptr) return cudaSuccess;
  auto l = emu::lock();
  emu::wait_for_device(l, "cudaFree");
  emu::release(p);
  return cudaSuccess;
}
/// There is an array between these two in the order of the stream.
template <class T>
cudaError_t cudaMallocAsync(T** p, std::size_t bytes, cudaStream_t s) {
  auto l = emu::lock();
  emu::not_while_recording("cudaMallocAsync");
  if (emu::setting("EMU_POOLS", 1) == 0) return emu::fail(cudaErrorNotSupported);
  char* const memory = emu::allocate(bytes);
  if (memory == nullptr) return emu::fail(cudaErrorMemoryAllocation);
  const auto work = [=] { emu::open(memory, bytes); };
  const bool is_last = emu::below(2) == 0;
  emu::World::get().of(s, emu::device)->push({{}, work, is_last});
  *p = reinterpret_cast<T*>(memory);
  return cudaSuccess;
}
inline cudaError_t cudaFreeAsync(void* p, cudaStream_t s) {
  auto l = emu::lock();
  emu::not_while_recording("cudaFreeAsync");
  if (emu::setting("EMU_POOLS", 1) == 0) return emu::fail(cudaErrorNotSupported);
  emu::World::get().of(s, emu::device)->push({{}, [=] { emu::release(p); }});
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMallocHost(T** p, std::size_t bytes) {
  auto l = emu::lock();
  emu::wait_for_device(l, "cudaMallocHost");
  if (bytes == 0) return emu::fail(cudaErrorInvalidValue);
  static const auto most = static_cast<std::size_t>(emu::setting("EMU_PINNED_KIB", 1 << 30)) << 10;
  if (bytes > most) return emu::fail(cudaErrorMemoryAllocation);
  auto* const memory = static_cast<char*>(std::malloc(bytes));
  std::memset(memory, 0xff, bytes);
  emu::World::get().pinned[memory] = bytes;
  *p = reinterpret_cast<T*>(memory);
  return cudaSuccess;
}
inline cudaError_t cudaFreeHost(void* p) {
  auto l = emu::lock();
  emu::wait_for_device(l, "cudaFreeHost");
  auto& pinned = emu::World::get().pinned;
  const auto it = pinned.find(static_cast<char*>(p));
  if (it == pinned.end()) emu::die("cudaFreeHost of what is no array");
  std::memset(p, 0xff, it->second);
  pinned.erase(it);
  std::free(p);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t n, cudaMemcpyKind kind,
                                   cudaStream_t s = nullptr) {
  return emu::copy(to, n, from, n, n, 1, kind, s, false);
}
inline cudaError_t cudaMemcpy2DAsync(void* to, std::size_t tp, const void* from, std::size_t fp,
                                     std::size_t w, std::size_t h, cudaMemcpyKind kind,
                                     cudaStream_t s = nullptr) {
  return emu::copy(to, tp, from, fp, w, h, kind, s, false);
}
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t n, cudaMemcpyKind kind) {
  return emu::copy(to, n, from, n, n, 1, kind, nullptr, true);
}
inline cudaError_t cudaMemcpy2D(void* to, std::size_t tp, const void* from, std::size_t fp,
                                std::size_t w, std::size_t h, cudaMemcpyKind kind) {
  return emu::copy(to, tp, from, fp, w, h, kind, nullptr, true);
}
inline cudaError_t cudaMemsetAsync(void* p, int value, std::size_t n, cudaStream_t s = nullptr) {
  auto l = emu::lock();
  if (s && s->device != emu::device) return emu::fail(cudaErrorInvalidResourceHandle);
  emu::on_device(p, n);
  emu::World::get().of(s, emu::device)->push({{}, [=] { std::memset(p, value, n); }});
  return cudaSuccess;
}
inline cudaError_t cudaMemset(void* p, int value, std::size_t n) {
  return cudaMemsetAsync(p, value, n);
}
inline cudaError_t cudaDeviceGetStreamPriorityRange(int* usual, int* urgent) {
  *usual = 0;
  *urgent = -5;
  return cudaSuccess;
}
inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t* s, unsigned, int priority) {
  auto l = emu::lock();
  *s = &emu::World::get().streams.emplace_back(emu::Stream{emu::device, {}, priority});
  return cudaSuccess;
}
[[gnu::noinline]] inline cudaError_t cudaStreamSynchronize(cudaStream_t s) {
  if (EMU_LEFT_OUT_ON_HOST) return cudaSuccess;
  auto l = emu::lock();
  s = emu::World::get().of(s, emu::device);
  emu::until(
      l, [&] { return s->ops.empty(); }, "cudaStreamSynchronize");
  return cudaSuccess;
}
inline cudaError_t cudaDeviceSynchronize() {
  auto l = emu::lock();
  emu::until(l, emu::device_is_idle, "cudaDeviceSynchronize");
  return cudaSuccess;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t s) {  // what is in it is still done
  auto l = emu::lock();
  emu::until(
      l, [&] { return s->ops.empty(); }, "cudaStreamDestroy");
  emu::World::get().streams.remove_if([&](const emu::Stream& t) { return &t == s; });
  return cudaSuccess;
}
/// What is submitted to the stream from here on is not done, but recorded.
inline cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode) {
  auto l = emu::lock();
  if (s == nullptr || s->recording != nullptr) return emu::fail(cudaErrorInvalidValue);
  s->recording = new emu::Graph{s->device, {}};
  return emu::records = true, cudaSuccess;
}
inline cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t* graph) {
  auto l = emu::lock();
  if (s->recording == nullptr) return emu::fail(cudaErrorInvalidValue);
  *graph = std::exchange(s->recording, nullptr);
  return emu::records = false, cudaSuccess;
}
inline cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* ready, cudaGraph_t graph,
                                                 unsigned long long) {
  auto l = emu::lock();
  const std::size_t waits = emu::World::get().waits;
  emu::wait_for_device(l, "cudaGraphInstantiate");  // if it takes memory
  emu::World::get().waits = waits;
  *ready = new emu::Graph(*graph);
  return cudaSuccess;
}
inline cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t s) {
  auto l = emu::lock();
  if (s->device != graph->device) return emu::fail(cudaErrorInvalidResourceHandle);
  ++graph->launches;
  for (const emu::Op& op : graph->ops) s->push(op);
  s->push({{}, [=] { --graph->launches; }});
  return cudaSuccess;
}
inline cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  auto l = emu::lock();
  if (graph->launches != 0) emu::die("destroys a graph whose work is in progress");
  delete graph;
  return cudaSuccess;
}
inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) { return cudaGraphDestroy(graph); }
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) {
  *e = new emu::Event{emu::device};
  return cudaSuccess;
}
inline cudaError_t cudaEventCreate(cudaEvent_t* e) { return cudaEventCreateWithFlags(e, 0); }
/// There is no clock of the device: a millisecond lies between any two events.
inline cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = 1;
  return cudaSuccess;
}
inline cudaError_t cudaEventDestroy(cudaEvent_t) {
  return cudaSuccess;
}  // kept: streams may hold it
inline cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s = nullptr) {
  auto l = emu::lock();
  s = emu::World::get().of(s, emu::device);
  if (e->device != s->device) return emu::fail(cudaErrorInvalidResourceHandle);
  const auto n = ++e->recorded;
  s->push({{}, [=] { e->over = std::max(e->over, n); }});
  return cudaSuccess;
}
[[gnu::noinline]] inline cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e,
                                                         unsigned = 0) {
  if (EMU_LEFT_OUT_ON_HOST) return cudaSuccess;
  auto l = emu::lock();
  if (s != nullptr && s->recording != nullptr) emu::not_while_recording("an event from outside");
  const auto n = e->recorded;
  emu::World::get().of(s, emu::device)->push({[=] { return e->over >= n; }, [] {}});
  return cudaSuccess;
}
inline cudaError_t cudaEventQuery(cudaEvent_t e) {
  auto l = emu::lock();
  emu::not_while_recording("cudaEventQuery");
  if (emu::below(2)) emu::World::get().step();
  return e->over >= e->recorded ? cudaSuccess : emu::fail(cudaErrorNotReady);
}
[[gnu::noinline]] inline cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  if (EMU_LEFT_OUT_ON_HOST) return cudaSuccess;
  auto l = emu::lock();
  emu::until(
      l, [&] { return e->over >= e->recorded; }, "cudaEventSynchronize");
  return cudaSuccess;
}
template <class... P>
cudaError_t cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 block, void** arguments,
                             std::size_t shared = 0, cudaStream_t stream = nullptr) {
  if (emu::setting("EMU_NO_CODE", 0) != 0) return emu::fail(cudaErrorNoKernelImageForDevice);
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    emu::launch(kernel, reinterpret_cast<const void*>(kernel), grid, block, shared, stream,
                *static_cast<P*>(arguments[i])...);
  }
  (std::index_sequence_for<P...>());
  return cudaGetLastError();
}
template <class K>
cudaError_t cudaFuncSetAttribute(K* kernel, cudaFuncAttribute, int value) {
  auto l = emu::lock();
  if (emu::setting("EMU_NO_CODE", 0) != 0) return emu::fail(cudaErrorInvalidDeviceFunction);
  if (value < 0 || value > emu::setting("EMU_SHARED_KIB", 227) << 10)
    return emu::fail(cudaErrorInvalidValue);
  emu::World::get().shared_limits[reinterpret_cast<const void*>(kernel)] =
      static_cast<std::size_t>(value);
  return cudaSuccess;
}
template <class K>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, K*, int threads,
                                                          std::size_t shared) {
  *blocks = static_cast<int>(std::min<std::size_t>(
      {32, 2048u / static_cast<unsigned>(threads),
       (static_cast<std::size_t>(emu::setting("EMU_SHARED_KIB", 227) + 1) << 10) /
           (shared + 1024)}));
  return cudaSuccess;
}
