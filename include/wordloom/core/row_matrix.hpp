#pragma once
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>

#include <wordloom/core/detail/abi.hpp>
#include <wordloom/core/detail/pages.hpp>
#include <wordloom/core/error.hpp>

#ifdef WORDLOOM_ATOMIC_ROWS
#include <atomic>
#endif

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// True if this machine prefetches rows for writing (prefetchw): a line that another core wrote
/// last is then transferred once, not once to be read and again to be written. False on Zen 4 and
/// 5, where that would fetch into L1 (see below). They are recognized by AMD's numbers of families
/// and models, since virtual machines may hide AVX-512: Zen 4 shares family 19h with Zen 3, Zen 5
/// is 1Ah.
inline const bool prefetches_for_writing = [] {
#if defined(__x86_64__)
  __builtin_cpu_init();
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned prefetchw = 1u << 8;
  if (__get_cpuid(0x80000001, &a, &b, &c, &d) == 0 || (c & prefetchw) == 0) return false;
  if (!__builtin_cpu_is("amd") || __get_cpuid(1, &a, &b, &c, &d) == 0) return true;
  const unsigned family = (a >> 8 & 0xf) + (a >> 20 & 0xff), model = a >> 12 & 0xf0;
  const bool is_zen3 = family == 0x19 && (model == 0x00 || (model >= 0x20 && model <= 0x50));
  return family < 0x19 || is_zen3;
#else
  return false;
#endif
}();

/// Prefetches one cache line of a row, which is used about 100 ns later: for writing, or into L2.
/// With L1 as the target, trainers were 1.07 to 1.28 times slower (Zen 4, D = 128: see
/// benchmarks/results/experiments.md). Always inlined: GCC assumes that a function that only
/// prefetches has no effect and removes calls of it.
template <bool for_writing>
[[gnu::always_inline]] inline void prefetch_line(const float* address) noexcept {
#if defined(__x86_64__)
  // In assembly: the builtin emits this instruction only where the compiler's flags allow it.
  if constexpr (for_writing) {
    asm volatile("prefetchw %0" : : "m"(*address));
    return;
  }
#endif
  __builtin_prefetch(address, 0, 2);
}
[[gnu::always_inline]] inline void prefetch_line(const float* address) noexcept {
  prefetches_for_writing ? prefetch_line<true>(address) : prefetch_line<false>(address);
}

/// Reads a float of a row that other threads may write (see simd/row_access.hpp).
inline float read_racing(const float* from) noexcept {
#ifdef WORDLOOM_ATOMIC_ROWS
  return std::atomic_ref<float>(const_cast<float&>(*from)).load(std::memory_order_relaxed);
#else
  return *from;
#endif
}
/// Writes a float of such a row: concurrent updates may be lost.
inline void write_racing(float* to, float value) noexcept {
#ifdef WORDLOOM_ATOMIC_ROWS
  std::atomic_ref<float>(*to).store(value, std::memory_order_relaxed);
#else
  *to = value;
#endif
}

}  // namespace detail

/// A row-major float matrix [rows x columns] whose rows start on 64-byte boundaries: `stride()` is
/// `columns()` rounded up to 16 floats and the padding is always zero. All elements are initially
/// zero. Move-only. Concurrent reads are safe; writers must be synchronized by the caller, except
/// in training, whose races are part of the method (see simd/row_access.hpp).
class RowMatrix {
 public:
  RowMatrix() = default;

  /// Throws std::bad_alloc when the matrix does not fit into memory.
  RowMatrix(std::size_t rows, std::size_t columns)
      : rows_(rows), columns_(columns), stride_((columns + 15) / 16 * 16) {
    require_addressable();
    if (bytes() != 0) allocate();
  }

  RowMatrix(RowMatrix&& other) noexcept { swap(other); }
  RowMatrix& operator=(RowMatrix&& other) noexcept {
    RowMatrix moved(std::move(other));
    moved.swap(*this);
    return *this;
  }

  /// Returns a deep copy, of the first `rows` rows if `rows` <= rows() is given. It is a named
  /// function, not a copy constructor, because a matrix may take gigabytes. With
  /// WORDLOOM_ATOMIC_ROWS, it reads by relaxed atomics, as training does (see simd/row_access.hpp).
  [[nodiscard]] RowMatrix copy() const { return copy(rows_); }
  [[nodiscard]] RowMatrix copy(std::size_t rows) const;

  std::size_t rows() const noexcept { return rows_; }
  std::size_t columns() const noexcept { return columns_; }
  /// Floats from one row to the next.
  std::size_t stride() const noexcept { return stride_; }
  /// Bytes of memory, padding included.
  std::size_t bytes() const noexcept { return rows_ * stride_ * sizeof(float); }

  float* data() & noexcept { return data_.get(); }
  const float* data() const& noexcept { return data_.get(); }
  void data() const&& = delete;
  float* row_data(std::size_t i) & noexcept { return data_.get() + i * stride_; }
  const float* row_data(std::size_t i) const& noexcept { return data_.get() + i * stride_; }
  void row_data(std::size_t i) const&& = delete;
  /// Returns row i without its padding: [columns()].
  std::span<float> row(std::size_t i) & noexcept { return {row_data(i), columns_}; }
  std::span<const float> row(std::size_t i) const& noexcept { return {row_data(i), columns_}; }
  void row(std::size_t i) const&& = delete;

  /// Returns a matrix of the same rows in the same memory, for a model whose two sides are one
  /// matrix. It is valid as long as this matrix, or the one that this is moved to, does not move
  /// its rows (see reserve()).
  [[nodiscard]] RowMatrix borrow() & noexcept;
  /// Returns a matrix of rows that others own, which outlive it: [rows x columns] from `data` on, a
  /// 64-byte boundary, `columns` a multiple of 16. They may be read-only memory: only const members
  /// may then be used.
  [[nodiscard]] static RowMatrix view(const float* data, std::size_t rows, std::size_t columns) {
    RowMatrix other;
    other.rows_ = rows;
    other.columns_ = other.stride_ = columns;
    other.data_ = Array(const_cast<float*>(data), Free{borrowed});
    return other;
  }
  /// Returns whether the rows belong to another matrix.
  bool is_borrowed() const noexcept { return data_.get_deleter().mapped == borrowed; }

  /// Reserves memory for `rows` rows, at least rows(). row_data() and prefetch() then accept rows
  /// from rows() on, which are not part of the matrix and whose content is unspecified. Rows may
  /// move; matrices of 2 MiB or more move without being copied. Throws std::bad_alloc and leaves
  /// the matrix unchanged when there is not enough memory, and InvalidArgument when the rows are
  /// borrowed.
  void reserve(std::size_t rows);

  /// Releases the 2 MiB pages that reserve() has added. Rows do not move.
  void shrink_to_fit() noexcept;

  /// Prefetches row i (detail::prefetch_line).
  [[gnu::always_inline]] void prefetch(std::size_t i) const noexcept {
    constexpr std::size_t line = 16;  // floats in 64 bytes
    for (std::size_t c = 0; c < stride_; c += line) detail::prefetch_line(row_data(i) + c);
  }

 private:
  /// The value of Free::mapped if another matrix owns the rows.
  static constexpr std::size_t borrowed = (std::numeric_limits<std::size_t>::max)();

  struct Free {
    constexpr Free() noexcept : mapped(0) {}
    explicit constexpr Free(std::size_t bytes) noexcept : mapped(bytes) {}
    std::size_t mapped;  // bytes; 0: from the heap
    void operator()(float* p) const noexcept {
      if (mapped == borrowed) return;
      if (mapped != 0)
        detail::unmap_pages(p, mapped);
      else
        detail::free_aligned(p);
    }
  };
  using Array = std::unique_ptr<float[], Free>;

  void require_addressable() const {
    constexpr std::size_t max_floats =
        (std::numeric_limits<std::size_t>::max)() / sizeof(float) / 2;
    if (stride_ < columns_ || (stride_ != 0 && rows_ > max_floats / stride_))
      throw std::bad_alloc();
  }
  /// Returns the bytes of whole 2 MiB pages that hold all rows.
  std::size_t mapped_bytes() const noexcept {
    return (bytes() + detail::huge_page - 1) / detail::huge_page * detail::huge_page;
  }

  void allocate();

  /// Requests 2 MiB pages, because rows are visited at random and TLB misses are expensive. Pages
  /// are zero-filled and allocated on first touch, on the NUMA node of the touching thread.
  /// `moved`: an array whose pages become the first ones, or null.
  void map(Array& moved);

  void swap(RowMatrix& other) noexcept {
    std::swap(rows_, other.rows_);
    std::swap(columns_, other.columns_);
    std::swap(stride_, other.stride_);
    data_.swap(other.data_);
  }

  std::size_t rows_ = 0, columns_ = 0, stride_ = 0;
  Array data_;
};

namespace detail {

/// A matrix and its name in a list of matrices, for example "input".
struct NamedMatrix {
  std::string name;
  RowMatrix matrix;
};

}  // namespace detail

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION RowMatrix RowMatrix::copy(std::size_t rows) const {
  RowMatrix result(rows, columns_);
#ifdef WORDLOOM_ATOMIC_ROWS
  for (std::size_t i = 0; i < rows * stride_; ++i)
    result.data()[i] = detail::read_racing(data() + i);
#else
  if (result.bytes() != 0) std::memcpy(result.data(), data(), result.bytes());
#endif
  return result;
}

WORDLOOM_FUNCTION RowMatrix RowMatrix::borrow() & noexcept {
  RowMatrix other;
  other.rows_ = rows_;
  other.columns_ = columns_;
  other.stride_ = stride_;
  other.data_ = Array(data(), Free{borrowed});
  return other;
}

WORDLOOM_FUNCTION void RowMatrix::reserve(std::size_t rows) {
  if (is_borrowed()) throw InvalidArgument("the rows of another matrix cannot be added to");
  RowMatrix other;
  other.rows_ = (std::max)(rows, rows_);
  other.columns_ = columns_;
  other.stride_ = stride_;
  other.require_addressable();
  if (other.bytes() == 0) return;
  if (data_.get_deleter().mapped != 0) {
    other.map(data_);
  } else {
    other.allocate();
    if (bytes() != 0) std::memcpy(other.data(), data(), bytes());
  }
  other.rows_ = rows_;
  swap(other);
}

WORDLOOM_FUNCTION void RowMatrix::shrink_to_fit() noexcept {
  if (is_borrowed()) return;
  std::size_t& mapped = data_.get_deleter().mapped;
  const std::size_t kept = (std::max)(mapped_bytes(), detail::huge_page);
  if (mapped <= kept) return;
  detail::shrink_pages(data(), mapped, kept);
  mapped = kept;
}

WORDLOOM_FUNCTION void RowMatrix::allocate() {
  if (bytes() >= detail::huge_page) {
    Array none;
    return map(none);
  }
  data_.reset(static_cast<float*>(detail::allocate_aligned(bytes())));
  std::memset(data_.get(), 0, bytes());
}

WORDLOOM_FUNCTION void RowMatrix::map(Array& moved) {
  const std::size_t size = mapped_bytes();
  void* const pages = detail::map_pages(size, moved.get(), moved.get_deleter().mapped);
  static_cast<void>(moved.release());
  data_ = Array(static_cast<float*>(pages), Free{size});
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
