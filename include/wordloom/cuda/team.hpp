#pragma once
#include <cstdint>
#include <type_traits>

#include <wordloom/core/host_device.hpp>

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

/// Four floats, read and written by one access.
struct alignas(16) Quad {
  float at[4];

  static WORDLOOM_BOTH Quad load(const float* from) {
#ifdef __CUDA_ARCH__
    const float4 v = *reinterpret_cast<const float4*>(from);
    return {v.x, v.y, v.z, v.w};
#else
    return {from[0], from[1], from[2], from[3]};
#endif
  }
  static WORDLOOM_BOTH void store(float* to, const Quad& q) {
#ifdef __CUDA_ARCH__
    *reinterpret_cast<float4*>(to) = make_float4(q.at[0], q.at[1], q.at[2], q.at[3]);
#else
    for (int i = 0; i < 4; ++i) to[i] = q.at[i];
#endif
  }
};

/// A team on the host, its threads one after the other. Thread-safe when its rows are.
template <int all>
struct HostTeam {
  static constexpr int width = all;    // that hold a row together
  static constexpr int threads = all;  // of the team
  template <class T>
  using Lanes = Pack<T, all>;

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

/// A team of some warps on the host: each holds a row of its own, and what they leave in memory for
/// each other is there after a barrier.
template <int warps>
struct HostWarps {
  static constexpr int width = 32;
  static constexpr int threads = 32 * warps;
  template <class T>
  using Lanes = Pack<T, threads>;

  template <class F>
  WORDLOOM_BOTH auto each(F&& f) const {
    return HostTeam<threads>().each(f);
  }
  template <class T>
  WORDLOOM_BOTH T own(const Lanes<T>& values, int l) const {
    return values.lane[l];
  }
  WORDLOOM_BOTH float sum(const Lanes<float>& values) const {
    return HostTeam<threads>().sum(values);
  }
  /// For each warp the sum over its threads.
  WORDLOOM_BOTH Lanes<float> row_sums(const Lanes<float>& values) const {
    return each([&](int l) {
      float total = 0;
      for (int i = 0; i < width; ++i) total += values.lane[l / width * width + i];
      return total;
    });
  }
  WORDLOOM_BOTH void barrier() const {}
  /// A row of the model for each warp; where it has none (null): zeros, nothing.
  template <int R>
  WORDLOOM_BOTH void load(Lanes<float> (&x)[R], const Lanes<float*>& row) const {
    for (int r = 0; r < R; ++r)
      x[r] = each([&](int l) {
        return row.lane[l] == nullptr ? 0.0f : row.lane[l][r * width + l % width];
      });
  }
  template <int R>
  WORDLOOM_BOTH void add(const Lanes<float*>& row, const Lanes<float> (&x)[R]) const {
    for (int r = 0; r < R; ++r)
      for (int l = 0; l < threads; ++l)
        if (row.lane[l] != nullptr) row.lane[l][r * width + l % width] += x[r].lane[l];
  }
  /// Inside of `each`: four floats of a row of the model.
  WORDLOOM_BOTH Quad load_quad(const float* from) const { return Quad::load(from); }
  WORDLOOM_BOTH void add_quad(float* to, const Quad& q) const {
    for (int i = 0; i < 4; ++i) to[i] += q.at[i];
  }
};

}  // namespace wordloom::cuda

#pragma GCC diagnostic pop
