#pragma once
// Products of matrices by cuBLAS, on the streams of the emulated devices.
//   EMU_CUBLAS=n  the status that cublasCreate returns (0)
#include "cuda_runtime.h"

enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_EXECUTION_FAILED = 13
};
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };
namespace emu {
/// The products until one fails; negative: none does. Set by tests.
inline int products_until_failure = -1;
struct Cublas {
  int device;
  Stream* stream = nullptr;
};
}  // namespace emu
using cublasHandle_t = emu::Cublas*;

inline const char* cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
  }
  return "unknown status";
}
inline cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  const auto status = static_cast<cublasStatus_t>(emu::setting("EMU_CUBLAS", 0));
  if (status == CUBLAS_STATUS_SUCCESS) *handle = new emu::Cublas{emu::device};
  return status;
}
inline cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
/// c [m x n] = alpha x op(a) [m x k] x op(b) [k x n] + beta x c, all stored by columns.
inline cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t op_a,
                                                cublasOperation_t op_b, int m, int n, int k,
                                                const float* alpha_at, const float* a, int lda,
                                                long long step_a, const float* b, int ldb,
                                                long long step_b, const float* beta_at, float* c,
                                                int ldc, long long step_c, int products) {
  auto l = emu::lock();
  const bool plain_a = op_a == CUBLAS_OP_N, plain_b = op_b == CUBLAS_OP_N;
  if (m < 0 || n < 0 || k < 0 || products < 0 || lda < std::max(1, plain_a ? m : k) ||
      ldb < std::max(1, plain_b ? k : n) || ldc < std::max(1, m))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (handle->device != emu::device || handle->stream == nullptr ||
      handle->stream->device != emu::device)
    emu::die("cuBLAS without a stream of its device");
  if (emu::products_until_failure-- == 0) return CUBLAS_STATUS_EXECUTION_FAILED;
  if (m == 0 || n == 0 || products == 0) return CUBLAS_STATUS_SUCCESS;
  const float alpha = *alpha_at, beta = *beta_at;
  const auto within = [&](const float* first, long long step, int ld, int rows, int columns) {
    if (rows == 0 || columns == 0) return;
    const long long size =
        step * (products - 1) + static_cast<long long>(ld) * (columns - 1) + rows;
    emu::on_device(first, static_cast<std::size_t>(size) * sizeof(float));
  };
  within(a, step_a, lda, plain_a ? m : k, plain_a ? k : m);
  within(b, step_b, ldb, plain_b ? k : n, plain_b ? n : k);
  within(c, step_c, ldc, m, n);
  handle->stream->push({{}, [=] {
                          for (long long p = 0; p < products; ++p)
                            for (long long j = 0; j < n; ++j)
                              for (long long i = 0; i < m; ++i) {
                                float sum = 0;
                                for (long long t = 0; t < k; ++t)
                                  sum += a[p * step_a + (plain_a ? t * lda + i : i * lda + t)] *
                                         b[p * step_b + (plain_b ? j * ldb + t : t * ldb + j)];
                                float& to = c[p * step_c + j * ldc + i];
                                to = alpha * sum +
                                     (beta == 0 ? 0 : beta * to);  // where beta is 0, c may be NaN
                              }
                        }});
  return CUBLAS_STATUS_SUCCESS;
}
