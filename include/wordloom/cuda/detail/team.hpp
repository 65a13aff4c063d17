#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <wordloom/core/types.hpp>

/// Teams, for which the arithmetic of the kernels is written: so the host can test it without a
/// GPU. The threads of a team hold a row together: each has some of its floats. On the device a
/// team is a warp or a thread block (DeviceTeam), and a `Lanes<T>` is the T of the current thread.
/// On the host it is a HostTeam, and a `Lanes<T>` holds the values of all threads. A value that is
/// equal in all threads (an id, a learning rate, a sum) is a plain T on both.
///
/// WORDLOOM_MARK marks a place in the code for benchmarks/count_sass, which counts on the host how
/// often a team passes it and finds it again in the machine code. Numbers from 100 on mark places
/// that only the first warp of a team passes. In other builds a mark is a comment in the PTX and
/// generates no instruction.
#ifndef WORDLOOM_MARK
#if defined(__CUDA_ARCH__) && !defined(WORDLOOM_EMULATED_CUDA)
#define WORDLOOM_MARK(number) asm volatile("// %0" ::"n"(number))
#else
#define WORDLOOM_MARK(number) (void)0
#endif
#endif

namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// The values of `width` threads, one for each.
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

/// Four floats that a thread of a device reads or writes by one access of 16 bytes.
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

/// A team on the host, whose threads run one after the other in one thread of the host. Each warp
/// of `row_width` threads holds a row together. Thread-safe only if no two threads of the host use
/// one row.
template <int row_width, int all = row_width>
struct HostTeam {
  static constexpr int width = row_width;  // threads that hold a row together
  static constexpr int threads = all;      // threads of the team
  template <class T>
  using Lanes = Pack<T, all>;

  /// Calls f(i) for each thread i of the team and returns all results.
  template <class F>
  WORDLOOM_BOTH auto each(F&& f) const {
    Lanes<std::decay_t<decltype(f(0))>> result;
    for (int l = 0; l < threads; ++l) result.lane[l] = f(l);
    return result;
  }
  /// Returns the value of the current thread `l`. To be called in the function given to `each`.
  template <class T>
  WORDLOOM_BOTH T own(const Lanes<T>& values, int l) const {
    return values.lane[l];
  }
  /// Returns the value of thread `l` to all threads.
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
  /// Calls f(i) for the 32 threads i of the first warp only. Gives thread i of the team the result
  /// of thread i mod 32.
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
  /// Returns an integer whose bit i is the value of thread i.
  WORDLOOM_BOTH std::uint32_t ballot(const Lanes<bool>& mask) const {
    std::uint32_t bits = 0;
    for (int l = 0; l < threads; ++l) bits |= static_cast<std::uint32_t>(mask.lane[l]) << l;
    return bits;
  }
  /// Loads a row of width x R floats of the model, or one row for each warp. A null row is read as
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
  /// These three are for a row in each thread, of which it has its part, in the threads where
  /// `is_there` is true: they add such rows in memory that only this team uses to `x`, or `x` to
  /// such rows, there or of the model.
  template <std::size_t R>
  WORDLOOM_BOTH void add_own_to(Lanes<float> (&x)[R], const Lanes<float*>& row,
                                const Lanes<bool>& is_there) const {
    for (std::size_t r = 0; r < R; ++r)
      for (int l = 0; l < threads; ++l)
        if (is_there.lane[l]) x[r].lane[l] += row.lane[l][at(r, l)];
  }
  template <std::size_t R>
  WORDLOOM_BOTH void add_to_own(const Lanes<float*>& row, const Lanes<float> (&x)[R],
                                const Lanes<bool>& is_there) const {
    for (std::size_t r = 0; r < R; ++r)
      for (int l = 0; l < threads; ++l)
        if (is_there.lane[l]) row.lane[l][at(r, l)] += x[r].lane[l];
  }
  template <std::size_t R>
  WORDLOOM_BOTH void add_if(const Lanes<float*>& row, const Lanes<float> (&x)[R],
                            const Lanes<bool>& is_there) const {
    add_to_own(row, x, is_there);
  }
  template <std::size_t R>
  WORDLOOM_BOTH void store_own(float* row, const Lanes<float> (&x)[R]) const {
    for (std::size_t r = 0; r < R; ++r)
      for (int l = 0; l < threads; ++l) row[at(r, l)] = x[r].lane[l];
  }
  /// Adds to a row of the model, or to one row for each warp. Skips null rows. On the device the
  /// additions are atomic: changes by other teams are not lost.
  template <std::size_t R, class Rows>
  WORDLOOM_BOTH void add(const Rows& row, const Lanes<float> (&x)[R]) const {
    for (std::size_t r = 0; r < R; ++r)
      for (int l = 0; l < threads; ++l)
        if (of(row, l) != nullptr) of(row, l)[at(r, l)] += x[r].lane[l];
  }
  /// Loads four floats of a row of the model. To be called in the function given to `each`.
  WORDLOOM_BOTH Quad load_quad(const float* from) const { return Quad::load(from); }
  /// Adds to four floats of a row of the model. To be called in the function given to `each`.
  WORDLOOM_BOTH void add_quad(float* to, const Quad& q) const {
    for (int i = 0; i < 4; ++i) to[i] += q.at[i];
  }
  /// Adds to a number to which other teams may add at the same time. To be called in the function
  /// given to `each`.
  WORDLOOM_BOTH void add_number(double* to, double value) const { *to += value; }

 private:
  /// Returns the row of thread l.
  template <class Float>
  static WORDLOOM_BOTH Float* of(Float* row, int) {
    return row;
  }
  static WORDLOOM_BOTH float* of(const Lanes<float*>& rows, int l) { return rows.lane[l]; }
  /// Returns the position in a row of the r-th float of thread l.
  static WORDLOOM_BOTH std::size_t at(std::size_t r, int l) {
    return r * width + static_cast<std::size_t>(l % width);
  }
};

template <int warps>
using HostWarps = HostTeam<32, 32 * warps>;

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
