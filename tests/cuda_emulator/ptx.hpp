#pragma once
// What the C++ that ptx_to_cpp.py writes is made of.
#include <bit>
#include <cmath>

#include "cuda_runtime.h"

using u8 = std::uint8_t;
using s8 = std::int8_t;
using u16 = std::uint16_t;
using s16 = std::int16_t;
using u32 = std::uint32_t;
using s32 = std::int32_t;
using u64 = std::uint64_t;
using s64 = std::int64_t;

/// Returns the bits of x as another type of the same size, else its value.
template <class T, class X>
T as(X x) {
  if constexpr (sizeof(T) == sizeof(X) && !std::is_same_v<T, bool> && !std::is_same_v<X, bool>)
    return std::bit_cast<T>(x);
  else
    return static_cast<T>(x);
}
template <class T, class X>
void set(T& to, X x) {
  to = as<T>(x);
}
/// Shifts further than C++ can clear x, or leave its sign.
template <class T>
T shift_left(T x, u32 n) {
  return n >= sizeof(T) * 8 ? T(0) : T(x << n);
}
template <class T>
T shift_right(T x, u32 n) {
  if (n < sizeof(T) * 8) return T(x >> n);
  return x < 0 ? T(-1) : T(0);
}
template <class T>
T read(const unsigned char* p) {
  if constexpr (sizeof(T) == 4) {  // another thread's atomic may cross it
    const u32 bits = __atomic_load_n(reinterpret_cast<const u32*>(p), __ATOMIC_RELAXED);
    return std::bit_cast<T>(bits);
  } else {
    T value;
    std::memcpy(&value, p, sizeof value);
    return value;
  }
}
template <class T>
void write(unsigned char* p, T value) {
  std::memcpy(p, &value, sizeof value);
}

/// These return a place in memory, of `size` bytes, when it is aligned and within an array.
inline unsigned char* at_global(u64 address, std::size_t size) {
  if (address % size != 0) emu::die("PTX: an access of global memory that is not aligned");
  auto* const place = reinterpret_cast<unsigned char*>(address);
  if (!emu::is_of_device(place) || !emu::is_of_device(place + size - 1))
    emu::die("PTX: an access of global memory beyond its arrays");
  return place;
}
template <std::size_t bytes>
unsigned char* at_local(u64 address, std::size_t size, unsigned char (&local)[bytes]) {
  if (address % size != 0) emu::die("PTX: an access of local memory that is not aligned");
  const u64 at = address - reinterpret_cast<u64>(local);
  if (at > bytes || bytes - at < size) emu::die("PTX: an access beyond local memory");
  return local + at;
}
inline const unsigned char* at_param(u64 address, std::size_t size, const unsigned char* parameters,
                                     std::size_t bytes) {
  const u64 at = address - reinterpret_cast<u64>(parameters);
  if (address % size != 0 || at > bytes || bytes - at < size)
    emu::die("PTX: an access that is not aligned or beyond the parameters");
  return parameters + at;
}
/// Addresses of shared memory count from 0 in each block.
inline unsigned char* at_shared(u64 address, std::size_t size) {
  const std::size_t at = static_cast<u32>(address);
  if (at % size != 0) emu::die("PTX: an access of shared memory that is not aligned");
  if (at + size > emu::self().block->shared_bytes)
    emu::die("PTX: an access beyond the shared memory of the launch");
  return reinterpret_cast<unsigned char*>(emu::dynamic_shared()) + at;
}
