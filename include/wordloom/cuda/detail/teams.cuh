#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

#include <wordloom/cuda/detail/team.hpp>

/// The teams of a device (see team.hpp): a `Lanes<T>` is the T of the calling thread.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// Returns the dynamic shared memory of the block, aligned to 16 bytes.
__device__ __forceinline__ float* dynamic_shared() {
#ifdef WORDLOOM_EMULATED_CUDA  // by tests/cuda_emulator
  return reinterpret_cast<float*>(emu::dynamic_shared());
#else
  extern __shared__ float4 shared[];
  return reinterpret_cast<float*>(shared);
#endif
}

/// Adds to a vector of floats in global memory, by one vector reduction if the device supports it.
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

/// The device's counterpart of HostTeam<row_width, all>: a warp, or a thread block in one
/// dimension. Thread l of those that hold a row has elements l * v to l * v + v - 1 of every width
/// * v, where v is the number of floats of one access: four while that many are left, then two or
/// one.
template <int row_width, int all = row_width>
class DeviceTeam {
 public:
  static constexpr int width = row_width, threads = all;
  /// The floats of shared memory that the team itself needs.
  static constexpr int scratch = threads > 32 ? 2 * 32 : 0;
  template <class T>
  using Lanes = T;

  __device__ __forceinline__ explicit DeviceTeam(float* memory) : memory_(memory) {}

  template <class F>
  __device__ __forceinline__ auto each(F&& f) const {
    return f(static_cast<int>(threadIdx.x % threads));
  }
  template <class T>
  __device__ __forceinline__ T own(T value, int) const {
    return value;
  }
  __device__ __forceinline__ void barrier() const { __syncthreads(); }
  __device__ __forceinline__ void warp_barrier() const { __syncwarp(); }

  /// These three are for a warp.
  template <class T>
  __device__ __forceinline__ T from(T value, int l) const {
    return __shfl_sync(whole, value, l);
  }
  template <class T>
  __device__ __forceinline__ T shuffle_xor(T value, int mask) const {
    return __shfl_xor_sync(whole, value, mask);
  }
  __device__ __forceinline__ std::uint32_t ballot(bool value) const {
    return __ballot_sync(whole, value);
  }

  /// Returns the sum over the threads of each warp.
  __device__ __forceinline__ float row_sums(float value) const {
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) value += __shfl_xor_sync(whole, value, mask);
    return value;
  }
  /// Sums over the team. Uses two halves of the memory in turn, so that one barrier is enough.
  __device__ __forceinline__ float sum(float value) const {
    value = row_sums(value);
    if constexpr (threads > 32) {
      float* const half = next_half();
      if (threadIdx.x % 32 == 0) half[threadIdx.x / 32] = value;
      __syncthreads();
      constexpr int warps = threads / 32;
      using Some = Floats<warps>;
      value = 0;
#pragma unroll
      for (int warp = 0; warp < warps; warp += sizeof(Some) / sizeof(float))
        for (const float part : parts_of(*reinterpret_cast<const Some*>(half + warp)).at)
          value += part;
    }
    return value;
  }
  /// Calls f in the first warp. Uses the halves of the memory as `sum` does.
  template <class F>
  __device__ __forceinline__ auto of_first_warp(F&& f) const {
    if constexpr (threads == 32) {
      return each(f);
    } else {
      using T = decltype(f(0));
      static_assert(sizeof(T) == sizeof(float));
      auto* const half = reinterpret_cast<T*>(next_half());
      if (threadIdx.x < 32) {
        WORDLOOM_MARK(100);
        half[threadIdx.x] = f(static_cast<int>(threadIdx.x));
      }
      __syncthreads();
      return half[threadIdx.x % 32];
    }
  }
  /// Broadcasts the value of the first thread.
  __device__ __forceinline__ std::uint32_t of_first(std::uint32_t value) const {
    WORDLOOM_MARK(0);  // for each sentence
    if constexpr (threads == 32) return __shfl_sync(whole, value, 0);
    auto* const place = reinterpret_cast<std::uint32_t*>(next_half());
    if (threadIdx.x == 0) *place = value;
    __syncthreads();
    return *place;
  }

  /// Loads a row from the second-level cache, because changes by other teams do not reach the first
  /// level.
  template <int R>
  __device__ __forceinline__ void load(float (&x)[R], const float* row) const {
    if (is_there(row)) return transfer<R>(row, [&](int r, auto* at) { put(x, r, __ldcg(at)); });
#pragma unroll
    for (int r = 0; r < R; ++r) x[r] = 0;
  }
  template <int R>
  __device__ __forceinline__ void load_own(float (&x)[R], const float* row) const {
    transfer<R>(row, [&](int r, auto* at) { put(x, r, *at); });
  }
  template <int R>
  __device__ __forceinline__ void store_own(float* row, const float (&x)[R]) const {
    transfer<R>(row, [&](int r, auto* at) { get(*at, x, r); });
  }
  template <int R>
  __device__ __forceinline__ void add(float* row, const float (&x)[R]) const {
    if (is_there(row))
      transfer<R>(row, [&](int r, auto* at) {
        std::remove_reference_t<decltype(*at)> value;
        get(value, x, r);
        atomic_add(at, value);
      });
  }
  template <int R>
  __device__ __forceinline__ void add_own_to(float (&x)[R], const float* row, bool is_there) const {
    if (!is_there) return;
    float own[R];
    load_own(own, row);
#pragma unroll
    for (int r = 0; r < R; ++r) x[r] += own[r];
  }
  template <int R>
  __device__ __forceinline__ void add_to_own(float* row, const float (&x)[R], bool is_there) const {
    if (!is_there) return;
    float sum[R];
    load_own(sum, row);
#pragma unroll
    for (int r = 0; r < R; ++r) sum[r] += x[r];
    store_own(row, sum);
  }
  template <int R>
  __device__ __forceinline__ void add_if(float* row, const float (&x)[R], bool is_there) const {
    if (is_there) add(row, x);
  }
  __device__ __forceinline__ Quad load_quad(const float* from) const {
    return std::bit_cast<Quad>(__ldcg(reinterpret_cast<const float4*>(from)));
  }
  __device__ __forceinline__ void add_quad(float* to, const Quad& q) const {
    atomic_add(reinterpret_cast<float4*>(to), std::bit_cast<float4>(q));
  }
  __device__ __forceinline__ void add_number(double* to, double value) const {
    atomicAdd(to, value);
  }

 private:
  static constexpr std::uint32_t whole = 0xffffffff;  // of a warp
  /// The widest vector of which n floats are a multiple.
  template <int n>
  using Floats =
      std::conditional_t<n % 4 == 0, float4, std::conditional_t<n % 2 == 0, float2, float>>;
#if __CUDA_ARCH__ >= 900
  template <int n>
  using Vector = Floats<n>;
#else
  // Without a vector reduction: the threads of a warp add to adjacent floats.
  template <int>
  using Vector = float;
#endif
  template <class V>
  struct Parts {
    float at[sizeof(V) / sizeof(float)];
  };
  template <class V>
  __device__ __forceinline__ static Parts<V> parts_of(V vector) {
    return std::bit_cast<Parts<V>>(vector);
  }

  /// Returns whether a row exists: it may be null only if each warp has a row of its own.
  __device__ __forceinline__ static bool is_there(const float* row) {
    return width == threads || row != nullptr;
  }
  template <int R, class Float, class Use>
  __device__ __forceinline__ void transfer(Float* row, Use&& use) const {
    constexpr int fours = R - R % 4;
    if constexpr (fours > 0) transfer_part<0, fours, Vector<4>>(row, use);
    if constexpr (fours < R) transfer_part<fours, R, Vector<R % 4>>(row, use);
  }
  /// Transfers the floats `begin` to `end` - 1 of each thread by accesses of a vector V.
  template <int begin, int end, class V, class Float, class Use>
  __device__ __forceinline__ void transfer_part(Float* row, Use& use) const {
    using Place = std::conditional_t<std::is_const_v<Float>, const V, V>;
    constexpr int floats = sizeof(V) / sizeof(float);
    Place* const at = reinterpret_cast<Place*>(row + begin * width) + threadIdx.x % width;
#pragma unroll
    for (int r = begin; r < end; r += floats) use(r, at + (r - begin) / floats * width);
  }
  template <int R, class V>
  __device__ __forceinline__ static void put(float (&x)[R], int r, V vector) {
    for (const float part : parts_of(vector).at) x[r++] = part;
  }
  template <int R, class V>
  __device__ __forceinline__ static void get(V& to, const float (&x)[R], int r) {
    Parts<V> parts;
    for (float& part : parts.at) part = x[r++];
    to = std::bit_cast<V>(parts);
  }
  __device__ __forceinline__ float* next_half() const {
    turn_ ^= 1;
    return memory_ + turn_ * 32;
  }

  float* memory_;
  mutable int turn_ = 0;
};
using WarpTeam = DeviceTeam<32>;

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
