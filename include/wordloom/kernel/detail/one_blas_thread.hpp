#pragma once
#include <mutex>

#include <wordloom/core/detail/abi.hpp>

// Weak, so that a CBLAS without these functions links as well.
extern "C" {
void openblas_set_num_threads(int) __attribute__((weak));
int openblas_get_num_threads(void) __attribute__((weak));
}

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Makes OpenBLAS compute on the calling thread only while any OneBlasThread lives; the last
/// destructor restores the number of threads that the host application had set. The number is one
/// for the whole process, so calls of the host's own threads meanwhile run on one thread as well.
/// Does nothing without OpenBLAS. Thread-safe.
class OneBlasThread {
 public:
  OneBlasThread() {
    if (!available()) return;
    const std::lock_guard lock(state().guard);
    if (state().alive++ > 0) return;
    state().threads_of_host = openblas_get_num_threads();
    openblas_set_num_threads(1);
  }
  OneBlasThread(const OneBlasThread&) : OneBlasThread() {}
  OneBlasThread& operator=(const OneBlasThread&) noexcept { return *this; }
  ~OneBlasThread() {
    if (!available()) return;
    const std::lock_guard lock(state().guard);
    if (--state().alive == 0) openblas_set_num_threads(state().threads_of_host);
  }

 private:
  static bool available() noexcept {
    return openblas_set_num_threads != nullptr && openblas_get_num_threads != nullptr;
  }

  struct State {
    std::mutex guard;
    int alive = 0;
    int threads_of_host = 1;
  };
  static State& state() {
    static State instance;
    return instance;
  }
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
