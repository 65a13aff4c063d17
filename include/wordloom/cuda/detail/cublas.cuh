#pragma once
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <source_location>
#include <string>

#include <wordloom/core/error.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// Throws DeviceError if a call of cuBLAS has failed; the message says where, and what to do.
inline void check(cublasStatus_t status,
                  std::source_location place = std::source_location::current()) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  std::string message = std::string("cuBLAS: ") + cublasGetStatusString(status);
  if (status == CUBLAS_STATUS_ALLOC_FAILED)
    message +=
        ": not enough memory on the device for its workspace; train a smaller model, or end "
        "what else uses the device";
  else if (status == CUBLAS_STATUS_NOT_INITIALIZED)
    message +=
        ": it does not start; the driver may be too old for this cuBLAS, or the memory of "
        "the device full";
  else if (status == CUBLAS_STATUS_ARCH_MISMATCH)
    message += ": it has no code for this GPU; install one that has";
  const std::string path = place.file_name();
  throw DeviceError{message, " (", path.substr(path.rfind('/') + 1), ":", place.line(), ")"};
}

/// A factor of products of matrices on a device, row-major without gaps between rows.
struct DeviceFactor {
  const float* data;
  bool is_transposed = false;
  bool is_shared = false;  // by all products; else each has its own, one after the other
};

/// Products of matrices on the current device, in the order of a stream. cuBLAS gives equal bits on
/// GPUs of one architecture and number of multiprocessors, as long as a handle serves one stream
/// and atomics are not allowed, which is its default.
class Cublas {
 public:
  /// Throws DeviceError.
  explicit Cublas(cudaStream_t stream) {
    check(cublasCreate(&handle_));
    const cublasStatus_t status = cublasSetStream(handle_, stream);
    if (status != CUBLAS_STATUS_SUCCESS) (void)cublasDestroy(handle_);
    check(status);
  }
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;
  ~Cublas() { (void)cublasDestroy(handle_); }

  /// Computes c = a x b + keep x c for matrices a [rows x inner] and b [inner x columns],
  /// `products` times: the results follow each other in `c`. Throws DeviceError.
  void multiply(const DeviceFactor& a, const DeviceFactor& b, float keep, float* c,
                std::size_t rows, std::size_t inner, std::size_t columns,
                std::size_t products = 1) const {
    // cuBLAS stores matrices by columns: it sees all matrices, and the product, as transposed.
    const auto how = [](const DeviceFactor& factor) {
      return factor.is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    };
    const auto number = [](std::size_t n) { return static_cast<int>(n); };
    const auto step = [](const DeviceFactor& factor, std::size_t size) {
      return static_cast<long long>(factor.is_shared ? 0 : size);
    };
    const float one = 1;
    check(cublasSgemmStridedBatched(
        handle_, how(b), how(a), number(columns), number(rows), number(inner), &one, b.data,
        number(b.is_transposed ? inner : columns), step(b, inner * columns), a.data,
        number(a.is_transposed ? rows : inner), step(a, rows * inner), &keep, c, number(columns),
        static_cast<long long>(rows * columns), number(products)));
  }

 private:
  cublasHandle_t handle_ = nullptr;
};

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
