#pragma once
#include <cstdint>
#include <type_traits>

#include <wordloom/cuda/team.hpp>

/// The teams of the device, see team.hpp: a `Lanes<T>` is the T of the calling thread.
namespace wordloom::cuda {

/// By one reduction of the memory where the device has it.
template <class V>
__device__ __forceinline__ void atomic_add(V* at, const V& value) {
#if __CUDA_ARCH__ >= 900
  atomicAdd(at, value);
#else
  const float* const values = reinterpret_cast<const float*>(&value);
#pragma unroll
  for (unsigned i = 0; i < sizeof(V) / sizeof(float); ++i)
    atomicAdd(reinterpret_cast<float*>(at) + i, values[i]);
#endif
}

/// Rows as threads hold them, the same for all teams: thread l has elements l * v to l * v + v - 1
/// of each width * v, v being as many as one access can take.
template <int all>
struct DeviceRowAccess {
  static constexpr int width = all, threads = all;
  template <class T>
  using Lanes = T;

  template <class F>
  __device__ __forceinline__ auto each(F&& f) const {
    return f(static_cast<int>(threadIdx.x % threads));
  }
  template <class T>
  __device__ __forceinline__ T own(T value, int) const {
    return value;
  }

  /// Past the first cache, which does not see what other teams add.
  template <int R>
  __device__ __forceinline__ void load(float (&x)[R], const float* row) const {
    transfer<R>(row, [&](int r, auto* at) {
      const auto value = __ldcg(at);
      put(x, r, value);
    });
  }
  template <int R>
  __device__ __forceinline__ void load_own(float (&x)[R], const float* row) const {
    transfer<R>(row, [&](int r, auto* at) { put(x, r, *at); });
  }
  template <int R>
  __device__ __forceinline__ void store_own(float* row, const float (&x)[R]) const {
    transfer<R>(row, [&](int r, auto* at) { *at = get(x, r, *at); });
  }
  template <int R>
  __device__ __forceinline__ void add(float* row, const float (&x)[R]) const {
    transfer<R>(row, [&](int r, auto* at) {
      const auto value = get(x, r, *at);
      atomic_add(at, value);
    });
  }

 private:
  template <int R>
  using Vector =
      std::conditional_t<R % 4 == 0, float4, std::conditional_t<R % 2 == 0, float2, float>>;

  template <int R, class Float, class Use>
  __device__ __forceinline__ void transfer(Float* row, Use&& use) const {
    using V = std::conditional_t<std::is_const_v<Float>, const Vector<R>, Vector<R>>;
    constexpr int floats = sizeof(V) / sizeof(float);
    V* const at = reinterpret_cast<V*>(row) + threadIdx.x % threads;
#pragma unroll
    for (int r = 0; r < R; r += floats) use(r, at + r / floats * threads);
  }
  template <int R>
  __device__ __forceinline__ static void put(float (&x)[R], int r, float v) {
    x[r] = v;
  }
  template <int R>
  __device__ __forceinline__ static void put(float (&x)[R], int r, float2 v) {
    x[r] = v.x;
    x[r + 1] = v.y;
  }
  template <int R>
  __device__ __forceinline__ static void put(float (&x)[R], int r, float4 v) {
    x[r] = v.x;
    x[r + 1] = v.y;
    x[r + 2] = v.z;
    x[r + 3] = v.w;
  }
  // The last parameter says which vector.
  template <int R>
  __device__ __forceinline__ static float get(const float (&x)[R], int r, const float&) {
    return x[r];
  }
  template <int R>
  __device__ __forceinline__ static float2 get(const float (&x)[R], int r, const float2&) {
    return {x[r], x[r + 1]};
  }
  template <int R>
  __device__ __forceinline__ static float4 get(const float (&x)[R], int r, const float4&) {
    return {x[r], x[r + 1], x[r + 2], x[r + 3]};
  }
};

/// A warp.
struct WarpTeam : DeviceRowAccess<32> {
  static constexpr std::uint32_t all = 0xffffffff;

  /// Floats of shared memory that the team itself needs.
  static constexpr int scratch = 0;
  __device__ __forceinline__ explicit WarpTeam(float*) {}

  template <class T>
  __device__ __forceinline__ T from(T value, int l) const {
    return __shfl_sync(all, value, l);
  }
  template <class T>
  __device__ __forceinline__ T shuffle_xor(T value, int mask) const {
    return __shfl_xor_sync(all, value, mask);
  }
  __device__ __forceinline__ float sum(float value) const {
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) value += __shfl_xor_sync(all, value, mask);
    return value;
  }
  __device__ __forceinline__ std::uint32_t ballot(bool value) const {
    return __ballot_sync(all, value);
  }
  /// The value of the first thread.
  __device__ __forceinline__ std::uint32_t of_first(std::uint32_t value) const {
    return __shfl_sync(all, value, 0);
  }
};

/// A whole thread block of that many threads, a multiple of 32, in one dimension.
template <int threads>
struct BlockTeam : DeviceRowAccess<threads> {
  static constexpr int scratch = threads > 32 ? 2 * 32 : 0;
  __device__ __forceinline__ explicit BlockTeam(float* memory) : memory_(memory) {}

  /// Two halves of the memory in turn, so that one barrier is enough.
  __device__ __forceinline__ float sum(float value) const {
    value = WarpTeam(nullptr).sum(value);
    if constexpr (threads > 32) {
      float* const half = memory_ + turn_ * 32;
      turn_ ^= 1;
      if (threadIdx.x % 32 == 0) half[threadIdx.x / 32] = value;
      __syncthreads();
      value = 0;
#pragma unroll
      for (int warp = 0; warp < threads / 32; ++warp) value += half[warp];
    }
    return value;
  }
  __device__ __forceinline__ std::uint32_t of_first(std::uint32_t value) const {
    if constexpr (threads == 32) return __shfl_sync(WarpTeam::all, value, 0);
    auto* const place = reinterpret_cast<std::uint32_t*>(memory_ + turn_ * 32);
    turn_ ^= 1;
    if (threadIdx.x == 0) *place = value;
    __syncthreads();
    return *place;
  }

 private:
  float* memory_;
  mutable int turn_ = 0;
};

/// A thread block of some warps, each with a row of its own.
template <int warps>
struct WarpsTeam {
  static constexpr int width = 32, threads = 32 * warps;
  template <class T>
  using Lanes = T;

  static constexpr int scratch = BlockTeam<threads>::scratch;
  __device__ __forceinline__ explicit WarpsTeam(float* memory) : block_(memory) {}

  template <class F>
  __device__ __forceinline__ auto each(F&& f) const {
    return f(static_cast<int>(threadIdx.x));
  }
  template <class T>
  __device__ __forceinline__ T own(T value, int) const {
    return value;
  }
  __device__ __forceinline__ float sum(float value) const { return block_.sum(value); }
  __device__ __forceinline__ float row_sums(float value) const { return warp().sum(value); }
  __device__ __forceinline__ void barrier() const { __syncthreads(); }
  __device__ __forceinline__ std::uint32_t of_first(std::uint32_t value) const {
    return block_.of_first(value);
  }
  template <int R>
  __device__ __forceinline__ void load(float (&x)[R], const float* row) const {
    if (row != nullptr) return warp().template load<R>(x, row);
#pragma unroll
    for (int r = 0; r < R; ++r) x[r] = 0;
  }
  template <int R>
  __device__ __forceinline__ void add(float* row, const float (&x)[R]) const {
    if (row != nullptr) warp().template add<R>(row, x);
  }
  __device__ __forceinline__ Quad load_quad(const float* from) const {
    const float4 v = __ldcg(reinterpret_cast<const float4*>(from));
    return {v.x, v.y, v.z, v.w};
  }
  __device__ __forceinline__ void add_quad(float* to, const Quad& q) const {
    atomic_add(reinterpret_cast<float4*>(to), make_float4(q.at[0], q.at[1], q.at[2], q.at[3]));
  }

 private:
  __device__ __forceinline__ static WarpTeam warp() { return WarpTeam(nullptr); }

  BlockTeam<threads> block_;
};

}  // namespace wordloom::cuda
