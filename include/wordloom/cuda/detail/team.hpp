#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <wordloom/core/types.hpp>

/// The arithmetic of the kernels is written for a Team: threads that hold a row together. On the
/// device a team is a warp or a thread block (DeviceTeam), and a `Lanes<T>` is a T, one for each
/// thread. On the host it is a HostTeam, and a `Lanes<T>` has the values of all threads. A value
/// that is the same for all threads (an id, a learning rate, a sum) is a plain T on both.
///
/// WORDLOOM_MARK marks a place that a team passes: benchmarks/count_sass counts how often, and
/// finds it again in the machine code. Above 99: passed by the first warp of a team alone.
/// Otherwise it is a comment in the PTX, which generates no instruction.
#ifndef WORDLOOM_MARK
#if defined(__CUDA_ARCH__) && !defined(WORDLOOM_EMULATED_CUDA)
#define WORDLOOM_MARK(number) asm volatile("// %0" ::"n"(number))
#else
#define WORDLOOM_MARK(number) (void)0
#endif
#endif

namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// The values of `width` threads.
template <class T, int width>
struct Pack {
  T lane[std::size_t{width}];
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

/// Four floats that are read and written by one access.
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

/// A team on the host, whose threads run one after the other. Every `width` of them, a warp, hold a
/// row together. Thread-safe if its rows are.
template <int row_width, int all = row_width>
struct HostTeam {
  static constexpr int width = row_width;  // threads that hold a row together
  static constexpr int threads = all;      // threads of the team
  template <class T>
  using Lanes = Pack<T, all>;

  /// Returns the values f(i) of all threads i.
  template <class F>
  WORDLOOM_BOTH auto each(F&& f) const {
    Lanes<std::decay_t<decltype(f(0))>> result;
    for (int l = 0; l < threads; ++l) result.lane[l] = f(l);
    return result;
  }
  /// Returns the value of thread `l`. Inside of `each`, of the thread itself.
  template <class T>
  WORDLOOM_BOTH T own(const Lanes<T>& values, int l) const {
    return values.lane[l];
  }
  /// Broadcasts the value of thread `l`.
  template <class T>
  WORDLOOM_BOTH T from(const Lanes<T>& values, int l) const {
    return values.lane[l];
  }
  /// Gives each thread i the value of thread i ^ mask.
  template <class T>
  WORDLOOM_BOTH Lanes<T> shuffle_xor(const Lanes<T>& values, int mask) const {
    return each([&](int l) { return values.lane[l ^ mask]; });
  }
  WORDLOOM_BOTH float sum(const Lanes<float>& values) const {
    float total = 0;
    for (int l = 0; l < threads; ++l) total += values.lane[l];
    return total;
  }
  /// Gives each warp the sum over its threads.
  WORDLOOM_BOTH Lanes<float> row_sums(const Lanes<float>& values) const {
    return each([&](int l) {
      float total = 0;
      for (int i = 0; i < width; ++i) total += values.lane[l / width * width + i];
      return total;
    });
  }
  /// Calls f(i) for the threads i of the first warp, and gives each thread the value of the thread
  /// of that warp with its position.
  template <class F>
  WORDLOOM_BOTH auto of_first_warp(F&& f) const {
    Lanes<std::decay_t<decltype(f(0))>> result;
    if constexpr (threads > 32) {
      WORDLOOM_MARK(100);
    }
    for (int l = 0; l < threads; ++l) result.lane[l] = l < 32 ? f(l) : result.lane[l % 32];
    return result;
  }
  WORDLOOM_BOTH void barrier() const {}
  WORDLOOM_BOTH void warp_barrier() const {}
  /// Returns the values as bits; thread i has bit i.
  WORDLOOM_BOTH std::uint32_t ballot(const Lanes<bool>& mask) const {
    std::uint32_t bits = 0;
    for (int l = 0; l < threads; ++l) bits |= static_cast<std::uint32_t>(mask.lane[l]) << l;
    return bits;
  }
  /// Loads a row of width x R floats of the model, or one row for each warp; a null row is read as
  /// zeros. load_own and store_own access memory that only this team uses.
  template <std::size_t R, class Rows>
  WORDLOOM_BOTH void load(Lanes<float> (&x)[R], const Rows& row) const {
    for (std::size_t r = 0; r < R; ++r)
      x[r] = each([&](int l) { return of(row, l) == nullptr ? 0.0f : of(row, l)[at(r, l)]; });
  }
  template <std::size_t R>
  WORDLOOM_BOTH void load_own(Lanes<float> (&x)[R], const float* row) const {
    load(x, row);
  }
  template <std::size_t R>
  WORDLOOM_BOTH void store_own(float* row, const Lanes<float> (&x)[R]) const {
    for (std::size_t r = 0; r < R; ++r)
      for (int l = 0; l < threads; ++l) row[at(r, l)] = x[r].lane[l];
  }
  /// Adds to a row of the model, or to one for each warp; null rows are skipped. Changes by other
  /// teams are not lost.
  template <std::size_t R, class Rows>
  WORDLOOM_BOTH void add(const Rows& row, const Lanes<float> (&x)[R]) const {
    for (std::size_t r = 0; r < R; ++r)
      for (int l = 0; l < threads; ++l)
        if (of(row, l) != nullptr) of(row, l)[at(r, l)] += x[r].lane[l];
  }
  /// Load and add to four floats of a row of the model. Inside of `each`.
  WORDLOOM_BOTH Quad load_quad(const float* from) const { return Quad::load(from); }
  WORDLOOM_BOTH void add_quad(float* to, const Quad& q) const {
    for (int i = 0; i < 4; ++i) to[i] += q.at[i];
  }
  /// Adds to a number to which other teams may add at the same time. Inside of `each`.
  WORDLOOM_BOTH void add_number(double* to, double value) const { *to += value; }

 private:
  /// Returns the row of thread l.
  template <class Float>
  static WORDLOOM_BOTH Float* of(Float* row, int) {
    return row;
  }
  static WORDLOOM_BOTH float* of(const Lanes<float*>& rows, int l) { return rows.lane[l]; }
  /// Returns the place in a row of float r of thread l.
  static WORDLOOM_BOTH std::size_t at(std::size_t r, int l) {
    return r * width + static_cast<std::size_t>(l % width);
  }
};

template <int warps>
using HostWarps = HostTeam<32, 32 * warps>;

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
