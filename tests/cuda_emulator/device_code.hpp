#pragma once
// What device code calls: indices, barriers, shuffles, atomics.
#include <cmath>
#include <cstdint>
#include <cstring>

#include "fibers.hpp"

#define threadIdx (::emu::self().thread)
#define blockIdx (::emu::self().block->index)
#define blockDim (::emu::self().block->size)
#define gridDim (::emu::self().block->grid)

namespace emu {
template <class T>
std::uint64_t bits(T value) {
  static_assert(sizeof(T) <= 8);
  std::uint64_t b = 0;
  std::memcpy(&b, &value, sizeof value);
  return b;
}
template <class T>
T value(std::uint64_t b) {
  T v;
  std::memcpy(&v, &b, sizeof v);
  return v;
}
}  // namespace emu

[[gnu::noinline]] inline void __syncthreads() {
  if (!emu::left_out(__builtin_return_address(0), nullptr))
    emu::collective(emu::Wait::block, 0, 0, 0);
}
inline void __syncwarp(unsigned mask = 0xffffffff) { emu::collective(emu::Wait::warp, mask, 0, 0); }
template <class T>
T __shfl_sync(unsigned mask, T v, int lane) {
  return emu::value<T>(emu::collective(emu::Wait::shuffle, mask, emu::bits(v), lane));
}
template <class T>
T __shfl_xor_sync(unsigned mask, T v, int with) {
  return emu::value<T>(emu::collective(emu::Wait::shuffle, mask, emu::bits(v),
                                       static_cast<int>(threadIdx.x % 32) ^ with));
}
inline unsigned __ballot_sync(unsigned mask, bool v) {
  return static_cast<unsigned>(emu::collective(emu::Wait::ballot, mask, v, 0));
}
namespace emu {
template <class T>
T read_global(const T* p) {  // as a read that another thread's atomic may cross
  return __atomic_load_n(p, __ATOMIC_RELAXED);
}
inline float read_global(const float* p) {
  float v;
  __atomic_load(p, &v, __ATOMIC_RELAXED);
  return v;
}
inline void add_global(float* p, float v) {
  float old = read_global(p), sum;
  do sum = old + v;
  while (!__atomic_compare_exchange(p, &old, &sum, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}
template <class V>
void aligned(const V* p) {
  if (reinterpret_cast<std::uintptr_t>(p) % alignof(V) != 0) die("an access that is not aligned");
}
}  // namespace emu
inline float __ldcg(const float* p) {
  emu::maybe_yield();
  return emu::read_global(p);
}
inline float2 __ldcg(const float2* p) {
  emu::maybe_yield();
  emu::aligned(p);
  return {emu::read_global(&p->x), emu::read_global(&p->y)};
}
inline float4 __ldcg(const float4* p) {
  emu::maybe_yield();
  emu::aligned(p);
  return {emu::read_global(&p->x), emu::read_global(&p->y), emu::read_global(&p->z),
          emu::read_global(&p->w)};
}
inline void atomicAdd(float* p, float v) {
  emu::maybe_yield();
  emu::add_global(p, v);
}
inline void atomicAdd(float2* p, float2 v) {
  emu::maybe_yield();
  emu::aligned(p);
  emu::add_global(&p->x, v.x);
  emu::add_global(&p->y, v.y);
}
inline void atomicAdd(float4* p, float4 v) {
  emu::maybe_yield();
  emu::aligned(p);
  emu::add_global(&p->x, v.x);
  emu::add_global(&p->y, v.y);
  emu::add_global(&p->z, v.z);
  emu::add_global(&p->w, v.w);
}
inline void atomicAdd(double* p, double v) {
  double old, sum;
  __atomic_load(p, &old, __ATOMIC_RELAXED);
  do sum = old + v;
  while (!__atomic_compare_exchange(p, &old, &sum, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}
inline unsigned atomicAdd(unsigned* p, unsigned v) {
  emu::maybe_yield();
  return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float __fdividef(float x, float y) {
  static const bool nan = emu::setting("EMU_NAN", 0) != 0;
  return nan && emu::current != nullptr ? __builtin_nanf("") : x / y;
}
