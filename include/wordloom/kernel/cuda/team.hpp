#pragma once
#include <cstdint>
#include <type_traits>

// Arithmetic that the device runs and the host tests: compiled for both by nvcc, for the host by
// any other compiler.
#ifdef __CUDACC__
#define WORDLOOM_BOTH __host__ __device__ __forceinline__
#else
#define WORDLOOM_BOTH inline
#endif
#ifdef __CUDA_ARCH__
#define WORDLOOM_UNROLL _Pragma("unroll")
#else
#define WORDLOOM_UNROLL
#endif

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"  // int as the size of an array

/// The kernels' arithmetic is written over a Team: threads that hold a row together. On the device
/// a team is a warp (WarpTeam) or a thread block (BlockTeam) and a `Lanes<T>` is a T, one for each
/// thread; on the host it is a HostTeam and a `Lanes<T>` has the values of all threads. What all
/// threads agree on (ids, learning rates, sums) is a plain T on both.
namespace wordloom::cuda {

/// The values of `width` threads.
template <class T, int width>
struct Pack {
  T lane[width];
};

#define WORDLOOM_PACK_OPERATOR(op)                                                             \
  template <class T, int width>                                                                \
  WORDLOOM_BOTH Pack<T, width> operator op(const Pack<T, width>& a, const Pack<T, width>& b) { \
    Pack<T, width> c;                                                                          \
    for (int l = 0; l < width; ++l) c.lane[l] = a.lane[l] op b.lane[l];                        \
    return c;                                                                                  \
  }                                                                                            \
  template <class T, int width>                                                                \
  WORDLOOM_BOTH Pack<T, width> operator op(T a, const Pack<T, width>& b) {                     \
    Pack<T, width> c;                                                                          \
    for (int l = 0; l < width; ++l) c.lane[l] = a op b.lane[l];                                \
    return c;                                                                                  \
  }
WORDLOOM_PACK_OPERATOR(+)
WORDLOOM_PACK_OPERATOR(-)
WORDLOOM_PACK_OPERATOR(*)
#undef WORDLOOM_PACK_OPERATOR

/// A team on the host, its threads one after the other. Thread-safe when its rows are.
template <int threads>
struct HostTeam {
  static constexpr int width = threads;
  template <class T>
  using Lanes = Pack<T, threads>;

  /// f(i) of each thread i.
  template <class F>
  WORDLOOM_BOTH auto each(F&& f) const {
    Lanes<std::decay_t<decltype(f(0))>> result;
    for (int l = 0; l < width; ++l) result.lane[l] = f(l);
    return result;
  }
  /// Inside of `each`: the value of thread `l` itself.
  template <class T>
  WORDLOOM_BOTH T own(const Lanes<T>& values, int l) const {
    return values.lane[l];
  }
  /// The value of thread `l`.
  template <class T>
  WORDLOOM_BOTH T from(const Lanes<T>& values, int l) const {
    return values.lane[l];
  }
  /// Of each thread i the value of thread i ^ mask.
  template <class T>
  WORDLOOM_BOTH Lanes<T> shuffle_xor(const Lanes<T>& values, int mask) const {
    return each([&](int l) { return values.lane[l ^ mask]; });
  }
  WORDLOOM_BOTH float sum(const Lanes<float>& values) const {
    float total = 0;
    for (int l = 0; l < width; ++l) total += values.lane[l];
    return total;
  }
  /// Bit i: what thread i says.
  WORDLOOM_BOTH std::uint32_t ballot(const Lanes<bool>& mask) const {
    std::uint32_t bits = 0;
    for (int l = 0; l < width; ++l) bits |= static_cast<std::uint32_t>(mask.lane[l]) << l;
    return bits;
  }
  /// A row of width x R floats: in the model, and in memory of the team alone.
  template <int R>
  WORDLOOM_BOTH void load(Lanes<float> (&x)[R], const float* row) const {
    for (int r = 0; r < R; ++r) x[r] = each([&](int l) { return row[r * width + l]; });
  }
  template <int R>
  WORDLOOM_BOTH void load_own(Lanes<float> (&x)[R], const float* row) const {
    load(x, row);
  }
  template <int R>
  WORDLOOM_BOTH void store_own(float* row, const Lanes<float> (&x)[R]) const {
    for (int r = 0; r < R; ++r)
      for (int l = 0; l < width; ++l) row[r * width + l] = x[r].lane[l];
  }
  /// Adds to a row of the model, so that changes of other teams stay.
  template <int R>
  WORDLOOM_BOTH void add(float* row, const Lanes<float> (&x)[R]) const {
    for (int r = 0; r < R; ++r)
      for (int l = 0; l < width; ++l) row[r * width + l] += x[r].lane[l];
  }
};

}  // namespace wordloom::cuda

#pragma GCC diagnostic pop
