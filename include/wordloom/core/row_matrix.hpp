#pragma once
#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <utility>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace wordloom {

namespace detail {

/// Asks for the cache line of a row that is needed in some hundred nanoseconds, in the second-level
/// cache: in the first, trainers were 1.07 to 1.28 times slower (Zen 4, D = 128: see
/// benchmarks/results/experiments.md). Always inlined: GCC takes a function that only prefetches
/// for one without effect and drops calls of it.
[[gnu::always_inline]] inline void prefetch_line(const float* address) noexcept {
  __builtin_prefetch(address, 0, 2);
}

}  // namespace detail

/// A row-major float matrix [rows x columns] whose rows start on 64-byte boundaries: `stride()` is
/// `columns()` rounded up to 16 floats and the padding is always zero. Starts as zeros.
/// Move-only; concurrent reads are safe, writes are the caller's business.
class RowMatrix {
 public:
  using ConstView =
      Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>,
                 Eigen::Aligned64, Eigen::OuterStride<>>;
  using View = Eigen::Map<Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>,
                          Eigen::Aligned64, Eigen::OuterStride<>>;

  RowMatrix() = default;

  /// Throws std::bad_alloc when the matrix does not fit memory.
  RowMatrix(std::size_t rows, std::size_t columns)
      : rows_(rows), columns_(columns), stride_((columns + 15) / 16 * 16) {
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max() / sizeof(float) / 2;
    if (stride_ < columns || (stride_ != 0 && rows > most / stride_)) throw std::bad_alloc();
    if (rows * stride_ != 0) allocate();
  }

  RowMatrix(RowMatrix&& other) noexcept { swap(other); }
  RowMatrix& operator=(RowMatrix&& other) noexcept {
    RowMatrix(std::move(other)).swap(*this);
    return *this;
  }

  /// A deep copy, by name because it may be gigabytes.
  RowMatrix copy() const {
    RowMatrix result(rows_, columns_);
    if (bytes() != 0) std::memcpy(result.data(), data(), bytes());
    return result;
  }

  std::size_t rows() const noexcept { return rows_; }
  std::size_t columns() const noexcept { return columns_; }
  /// Floats from one row to the next.
  std::size_t stride() const noexcept { return stride_; }
  /// Bytes held, padding included.
  std::size_t bytes() const noexcept { return rows_ * stride_ * sizeof(float); }

  float* data() noexcept { return data_.get(); }
  const float* data() const noexcept { return data_.get(); }
  float* row_data(std::size_t i) noexcept { return data_.get() + i * stride_; }
  const float* row_data(std::size_t i) const noexcept { return data_.get() + i * stride_; }
  /// Row i without its padding: [columns()].
  std::span<float> row(std::size_t i) noexcept { return {row_data(i), columns_}; }
  std::span<const float> row(std::size_t i) const noexcept { return {row_data(i), columns_}; }

  /// Asks for row i to be brought into the cache.
  [[gnu::always_inline]] void prefetch(std::size_t i) const noexcept {
    constexpr std::size_t line = 16;  // floats in 64 bytes
    for (std::size_t c = 0; c < stride_; c += line) detail::prefetch_line(row_data(i) + c);
  }

  /// Eigen view [rows x columns], row-major, without the padding.
  View view() noexcept { return {data(), index(rows_), index(columns_), outer_stride()}; }
  ConstView view() const noexcept {
    return {data(), index(rows_), index(columns_), outer_stride()};
  }

 private:
  static Eigen::Index index(std::size_t n) noexcept { return static_cast<Eigen::Index>(n); }
  Eigen::OuterStride<> outer_stride() const noexcept {
    return Eigen::OuterStride<>(index(stride_));
  }

  static constexpr std::size_t huge_page = std::size_t{1} << 21;

  void allocate() {
#ifdef __linux__
    if (bytes() >= huge_page) return map();
#endif
    data_.reset(static_cast<float*>(std::aligned_alloc(64, bytes())));
    if (!data_) throw std::bad_alloc();
    std::memset(data_.get(), 0, bytes());
  }

#ifdef __linux__
  /// Rows are visited at random, so TLB misses cost: asks for 2 MiB pages. They are zero and come
  /// into being where they are first touched, next to the thread that does.
  void map() {
    const std::size_t size = (bytes() + huge_page - 1) / huge_page * huge_page;
    void* const mapped = ::mmap(nullptr, size + huge_page, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    char* const start = static_cast<char*>(mapped);
    const std::size_t before =
        (huge_page - reinterpret_cast<std::uintptr_t>(mapped) % huge_page) % huge_page;
    if (before != 0) ::munmap(start, before);
    if (before != huge_page) ::munmap(start + before + size, huge_page - before);
    ::madvise(start + before, size, MADV_HUGEPAGE);
    data_ = {reinterpret_cast<float*>(start + before), Free{size}};
  }
#endif

  void swap(RowMatrix& other) noexcept {
    std::swap(rows_, other.rows_);
    std::swap(columns_, other.columns_);
    std::swap(stride_, other.stride_);
    data_.swap(other.data_);
  }

  struct Free {
    constexpr Free() noexcept : mapped(0) {}
    explicit constexpr Free(std::size_t bytes) noexcept : mapped(bytes) {}
    std::size_t mapped;  // bytes; 0: from the heap
    void operator()(float* p) const noexcept {
#ifdef __linux__
      if (mapped != 0) {
        ::munmap(p, mapped);
        return;
      }
#endif
      std::free(p);
    }
  };
  std::size_t rows_ = 0, columns_ = 0, stride_ = 0;
  std::unique_ptr<float[], Free> data_;
};

}  // namespace wordloom
