#pragma once
#include <nccl.h>

#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include <wordloom/core/error.hpp>
#include <wordloom/cuda/detail/device_rows.hpp>
#include <wordloom/cuda/detail/machine.cuh>
#include <wordloom/sync/collective.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Ranks with one GPU each, connected by NCCL. `Bootstrap` are the same ranks on the host: MpiRanks
/// for processes, ThreadRanks for threads with the GPUs of one machine. Sums run in a stream of
/// their own in parallel to training. For columns, `RowAllgather<NcclRanks<Bootstrap>,
/// CudaUniformKernel<Optimizer>::Replica>`. Copies are the same rank.
///
/// Run a program with ThreadRanks with CUDA_MODULE_LOADING=EAGER in its environment. CUDA otherwise
/// loads a kernel when it is first launched; if it then waits for a sum in progress, and the sum
/// for a thread that waits for CUDA, the program hangs.
template <Collective Bootstrap>
class NcclRanks : private Bootstrap {
 public:
  using Rows = cuda::DeviceRows<cuda::CudaMachine>;

  /// Makes `device`, counted from 0, the current one of this thread. The model must be on the same
  /// device (Hyperparameters::device). Throws DeviceError, and SyncError if NCCL does not start,
  /// for example because two ranks have the same GPU.
  NcclRanks(Bootstrap ranks, std::size_t device) : Bootstrap(std::move(ranks)) {
    cuda::use_device(static_cast<int>(device));
    nccl_ = std::make_shared<Communicator>(static_cast<int>(device));
    try {
      connect();
    } catch (const SyncError& error) {
      fail(error.what());  // the others wait for this rank
      throw;
    }
  }

  using Bootstrap::gather, Bootstrap::rank, Bootstrap::size;

  void begin_sum(cuda::DeviceValues values) {
    follow(values);
    accept(ncclAllReduce(values.data(), values.data(), values.size(), ncclFloat, ncclSum,
                         nccl_->handle, nccl_->stream));
    nccl_->over.record(nccl_->stream);
  }
  bool done() {
    if (nccl_->over.is_over()) return true;
    give_up_on_failure();
    return false;
  }
  void wait() {
    while (!done()) std::this_thread::yield();
  }
  void broadcast(cuda::DeviceValues values) {
    follow(values);
    accept(ncclBroadcast(values.data(), values.data(), values.size(), ncclFloat, 0, nccl_->handle,
                         nccl_->stream));
    nccl_->over.record(nccl_->stream);
    wait();
  }
  /// Gathers rows, see RowCollective. Waits for all rows.
  void gather_rows(cuda::DeviceValues rows, std::size_t row_size,
                   std::span<const std::uint64_t> first) {
    follow(rows);
    // In one group, so that NCCL moves the rows of all ranks at once.
    ncclResult_t status = ncclGroupStart();
    for (std::size_t r = 0; r < size(); ++r) {
      float* const own = rows.data() + first[r] * row_size;
      const std::size_t count = (first[r + 1] - first[r]) * row_size;
      if (count == 0 || (status != ncclSuccess && status != ncclInProgress)) continue;
      status = ncclBroadcast(own, own, count, ncclFloat, static_cast<int>(r), nccl_->handle,
                             nccl_->stream);
    }
    const ncclResult_t ended = ncclGroupEnd();
    accept(status == ncclSuccess || status == ncclInProgress ? ended : status);
    nccl_->over.record(nccl_->stream);
    wait();
  }
  void fail(const std::string& cause) noexcept {
    Bootstrap::fail(cause);
    nccl_->abort();
  }

 private:
  struct Communicator {
    explicit Communicator(int number) : device(number) {}
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;
    ~Communicator() {
      if (handle == nullptr) return;
      ncclResult_t state = ncclCommFinalize(handle);
      // Waits for the other ranks, but not for ever: one may have died.
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      while (state == ncclInProgress && std::chrono::steady_clock::now() < end) {
        if (ncclCommGetAsyncError(handle, &state) != ncclSuccess) break;
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
      if (state == ncclSuccess)
        (void)ncclCommDestroy(handle);
      else
        abort();
    }
    /// Aborts the work in flight, which would occupy the device for ever.
    void abort() noexcept {
      if (handle != nullptr) (void)ncclCommAbort(std::exchange(handle, nullptr));
    }

    int device;
    ncclComm_t handle = nullptr;
    // Urgent: a sum takes the multiprocessors that it needs from the short work before a batch,
    // which then fills the device until it has finished.
    cuda::Stream stream{true};
    cuda::Event ready, over;
  };

  static void check(ncclResult_t status, ncclComm_t handle) {
    if (status == ncclSuccess) return;
    const char* const last = ncclGetLastError(handle);
    std::string message = std::string("NCCL: ") + ncclGetErrorString(status);
    if (last != nullptr && *last != '\0') message += std::string(" (") + last + ")";
    throw SyncError(message);
  }

  void connect() {
    using Words = std::array<std::uint64_t, sizeof(ncclUniqueId) / sizeof(std::uint64_t)>;
    ncclUniqueId id{};
    if (rank() == 0) check(ncclGetUniqueId(&id), nullptr);
    Words words = std::bit_cast<Words>(id);
    for (std::uint64_t& word : words) word = gather(word)[0];
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;  // so that it can be aborted when another rank has failed
    accept(ncclCommInitRankConfig(&nccl_->handle, static_cast<int>(size()),
                                  std::bit_cast<ncclUniqueId>(words), static_cast<int>(rank()),
                                  &config));
  }
  /// Makes the stream wait for the values.
  void follow(const cuda::DeviceValues& values) {
    const int current = cuda::current_device();
    if (current != nccl_->device)
      throw InvalidArgument{"the model is on device ", current, ", this rank's NCCL on device ",
                            nccl_->device};
    if (nccl_->handle == nullptr) throw SyncError("NCCL has ended: a rank has failed");
    nccl_->ready.record(values.stream);
    nccl_->ready.hold(nccl_->stream);
  }
  /// Waits until NCCL has accepted a call.
  void accept(ncclResult_t status) {
    while (status == ncclInProgress) {
      give_up_on_failure();
      check(ncclCommGetAsyncError(nccl_->handle, &status), nccl_->handle);
      if (status == ncclInProgress) std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    check(status, nccl_->handle);
  }
  void give_up_on_failure() {
    if constexpr (requires(Bootstrap & ranks) { ranks.throw_if_failed(); }) this->throw_if_failed();
    ncclResult_t status = ncclSuccess;
    if (nccl_->handle == nullptr) throw SyncError("NCCL has ended: a rank has failed");
    check(ncclCommGetAsyncError(nccl_->handle, &status), nccl_->handle);
    if (status != ncclInProgress) check(status, nccl_->handle);
  }

  std::shared_ptr<Communicator> nccl_;
};

}}  // namespace wordloom::WORDLOOM_ABI
