#include <wordloom/cuda.hpp>
#if WORDLOOM_HAS_NCCL
#include <wordloom/nccl.hpp>
#endif

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>
#include <wordloom/any_trainer.hpp>
#include <wordloom/registry.hpp>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/any_sync.hpp>
#include <wordloom/sync/row_allgather.hpp>

#include "gpu.hpp"

namespace {

using namespace wordloom;

using CudaKernels =
    Registry<Named<"cuda-sentence", CudaSentenceKernel>, Named<"cuda-word", CudaWordKernel>,
             Named<"cuda-register", CudaRegisterKernel>, Named<"cuda-ring", CudaRingBufferKernel>,
             Named<"cuda-gemm", CudaGemmKernel>, Named<"cuda-wombat", CudaWombatKernel>,
             Named<"cuda-bidmach", CudaBidMachKernel>, Named<"cuda-warp", CudaWarpKernel>>;

/// Returns the names of the kernels that train a sampler.
template <class Sampler>
std::string kernels_for() {
  std::string names;
  CudaKernels::for_each([&]<class Kernel>(std::string_view name) {
    if constexpr (Kernel::template trains<Sampler>)
      names.append(names.empty() ? "" : ", ").append(name);
  });
  return names;
}

/// Calls `use.operator()<Sampler, Kernel>()` with the policies that the options name. Throws
/// InvalidArgument if the kernel does not implement the sampler.
template <class Use>
void with_composition(const TrainingOptions& options, Use use) {
  if (options.kernel == "cuda-uniform") {
    if (!Policies::ColumnSamplers::contains(options.sampler))
      throw InvalidArgument("--kernel cuda-uniform is for --sampler " +
                            Policies::ColumnSamplers::names());
    Policies::Optimizers::with(options.optimizer, [&]<class Optimizer>() {
      use.template operator()<UniformMatrix, CudaUniformKernel<Optimizer>>();
    });
    return;
  }
  CudaKernels::with(options.kernel, [&]<class Kernel>() {
    Policies::Samplers::with(options.sampler, [&]<class Sampler>() {
      if constexpr (Kernel::template trains<Sampler>) {
        use.template operator()<Sampler, Kernel>();
      } else {
        const std::string others = kernels_for<Sampler>();
        throw InvalidArgument(
            "--kernel " + options.kernel + " does not train --sampler " + options.sampler +
            (others.empty() ? ", no kernel for a GPU does" : ", choose " + others));
      }
    });
  });
}

/// Processes with one GPU each, connected as --sync says.
class GpuRanks {
 public:
  GpuRanks(const TrainingOptions& options, const Cluster& cluster)
      : ranks_(connect(options, cluster)) {}

  std::size_t rank() const {
    return std::visit([](const auto& r) { return r.rank(); }, ranks_);
  }
  std::size_t size() const {
    return std::visit([](const auto& r) { return r.size(); }, ranks_);
  }
  std::size_t bytes_of_value() const {
    if (const auto* const staged = std::get_if<0>(&ranks_)) return staged->bytes_of_value();
    return sizeof(float);
  }
  void begin_sum(cuda::DeviceValues values) {
    std::visit([&](auto& r) { r.begin_sum(values); }, ranks_);
  }
  bool done() {
    return std::visit([](auto& r) { return r.done(); }, ranks_);
  }
  void wait() {
    std::visit([](auto& r) { r.wait(); }, ranks_);
  }
  void broadcast(cuda::DeviceValues values) {
    std::visit([&](auto& r) { r.broadcast(values); }, ranks_);
  }
  void gather_rows(const cuda::DeviceValues& rows, std::size_t row_size,
                   std::span<const std::uint64_t> first) {
    std::visit([&](auto& r) { r.gather_rows(rows, row_size, first); }, ranks_);
  }
  std::vector<std::uint64_t> gather(std::uint64_t value) {
    return std::visit([&](auto& r) { return r.gather(value); }, ranks_);
  }
  void fail(const std::string& cause) {
    std::visit([&](auto& r) { r.fail(cause); }, ranks_);
  }

 private:
#if WORDLOOM_HAS_NCCL
  using Ranks = std::variant<StagedRanks<Cluster::SyncRanks>, NcclRanks<Cluster::Ranks>>;
#else
  using Ranks = std::variant<StagedRanks<Cluster::SyncRanks>>;
#endif

  static Ranks connect(const TrainingOptions& options, const Cluster& cluster) {
#if WORDLOOM_HAS_NCCL
    if (options.sync == "nccl")
      return NcclRanks<Cluster::Ranks>(*cluster.ranks(), options.parameters.device);
#endif
    return StagedRanks<Cluster::SyncRanks>(Cluster::SyncRanks(*cluster.ranks(), options.sync_format == "bf16"));
  }

  Ranks ranks_;
};

using GpuAllreduce = Allreduce<GpuRanks, SyncOptions::Rule, cuda::DeviceRows<cuda::CudaMachine>>;

}  // namespace

void check_gpu(const TrainingOptions& options) {
  with_composition(options, [&]<class Sampler, class Kernel>() {
    options.parameters.validate();
    Kernel::from(options.parameters)
        .check(policy_from<Sampler>(options.parameters), options.parameters);
  });
}

std::size_t gpu_of(const TrainingOptions& options, const Cluster& cluster) {
  const std::size_t first = options.parameters.device;
#if WORDLOOM_HAS_MPI
  // NCCL refuses several ranks on one GPU.
  if (cluster.is_joined()) return cuda::device_of_rank(first, cluster.ranks()->rank_on_machine());
#endif
  return first;
}

AnyTrainer make_gpu_trainer(const TrainingOptions& options, const Cluster& cluster) {
  std::optional<AnyTrainer> trainer;
  with_composition(options, [&]<class Sampler, class Kernel>() {
    // Ranks that train columns take one step together, at the learning rate of one rank.
    constexpr bool columns = ColumnSampler<Sampler>;
    using Replica = typename Kernel::Replica;
    AnySync<Replica, columns> sync;
    if (cluster.is_joined()) {
      if constexpr (columns)
        sync = RowAllgather<GpuRanks, Replica>(GpuRanks(options, cluster));
      else
        sync = GpuAllreduce(GpuRanks(options, cluster), options.sync_options, rule_of(options));
    }
    Hyperparameters parameters = options.parameters;
    WordContextMatrix::Options contexts;
    if constexpr (columns) {
      contexts = {.columns = options.context_size,
                  .window = std::exchange(parameters.window, Hyperparameters().window),
                  .subsample = std::exchange(parameters.subsample, Hyperparameters().subsample),
                  .seed = parameters.seed,
                  .threads = parameters.threads,
                  .file = options.contexts};
    }
    trainer.emplace(
        Trainer<Sampler, Kernel, AnySync<Replica, columns>, AnySchedule>(
            parameters, policy_from<Sampler>(parameters), Kernel::from(parameters), std::move(sync),
            AnySchedule(options.schedule, options.parameters, columns ? 1 : cluster.size())),
        contexts);
  });
  return std::move(*trainer);
}
