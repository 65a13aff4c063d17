#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

#include <wordloom/cuda/team.hpp>

/// The teams of a device (see team.hpp): a `Lanes<T>` is the T of the calling thread.
namespace wordloom::cuda {

/// Adds to a vector of floats in global memory: by one vector reduction where the device has that.
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

/// The accesses to rows that all teams have in common: thread l has elements l * v to l * v + v - 1
/// of every width * v, where v is the number of floats of one access.
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

  /// Loads a row from the second-level cache: the first level does not see what other teams add.
  template <int R>
  __device__ __forceinline__ void load(float (&x)[R], const float* row) const {
    transfer<R>(row, [&](int r, auto* at) { put(x, r, __ldcg(at)); });
  }
  template <int R>
  __device__ __forceinline__ void load_own(float (&x)[R], const float* row) const {
    transfer<R>(row, [&](int r, auto* at) { put(x, r, *at); });
  }
  template <int R>
  __device__ __forceinline__ void store_own(float* row, const float (&x)[R]) const {
    transfer<R>(row, [&](int r, auto* at) { *at = get(x, r); });
  }
  template <int R>
  __device__ __forceinline__ void add(float* row, const float (&x)[R]) const {
    transfer<R>(row, [&](int r, auto* at) { atomic_add(at, get(x, r)); });
  }

 private:
  template <int R>
  using Vector =
      std::conditional_t<R % 4 == 0, float4, std::conditional_t<R % 2 == 0, float2, float>>;
  template <int R>
  struct Parts {
    float at[sizeof(Vector<R>) / sizeof(float)];
  };

  template <int R, class Float, class Use>
  __device__ __forceinline__ void transfer(Float* row, Use&& use) const {
    using V = std::conditional_t<std::is_const_v<Float>, const Vector<R>, Vector<R>>;
    constexpr int floats = sizeof(V) / sizeof(float);
    V* const at = reinterpret_cast<V*>(row) + threadIdx.x % threads;
#pragma unroll
    for (int r = 0; r < R; r += floats) use(r, at + r / floats * threads);
  }
  template <int R>
  __device__ __forceinline__ static void put(float (&x)[R], int r, Vector<R> vector) {
    const auto parts = std::bit_cast<Parts<R>>(vector);
    for (const float part : parts.at) x[r++] = part;
  }
  template <int R>
  __device__ __forceinline__ static Vector<R> get(const float (&x)[R], int r) {
    Parts<R> parts;
    for (float& part : parts.at) part = x[r++];
    return std::bit_cast<Vector<R>>(parts);
  }
};

/// A warp.
struct WarpTeam : DeviceRowAccess<32> {
  static constexpr std::uint32_t all = 0xffffffff;

  /// The floats of shared memory that the team itself needs.
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
  /// Broadcasts the value of the first thread.
  __device__ __forceinline__ std::uint32_t of_first(std::uint32_t value) const {
    return __shfl_sync(all, value, 0);
  }
};

/// A whole thread block of that many threads, a multiple of 32, in one dimension.
template <int threads>
struct BlockTeam : DeviceRowAccess<threads> {
  static constexpr int scratch = threads > 32 ? 2 * 32 : 0;
  __device__ __forceinline__ explicit BlockTeam(float* memory) : memory_(memory) {}

  /// Uses two halves of the memory in turn, so that one barrier is enough.
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

/// A thread block of several warps, each with a row of its own.
template <int warps>
struct WarpsTeam : private BlockTeam<32 * warps> {
  static constexpr int width = 32;
  using Block = BlockTeam<32 * warps>;
  using Block::Block, Block::each, Block::of_first, Block::own, Block::scratch, Block::sum,
      Block::threads;
  template <class T>
  using Lanes = T;

  __device__ __forceinline__ float row_sums(float value) const { return warp().sum(value); }
  __device__ __forceinline__ void barrier() const { __syncthreads(); }
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
    return std::bit_cast<Quad>(__ldcg(reinterpret_cast<const float4*>(from)));
  }
  __device__ __forceinline__ void add_quad(float* to, const Quad& q) const {
    atomic_add(reinterpret_cast<float4*>(to), std::bit_cast<float4>(q));
  }

 private:
  __device__ __forceinline__ static WarpTeam warp() { return WarpTeam(nullptr); }
};

}  // namespace wordloom::cuda
