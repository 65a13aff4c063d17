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
#include <wordloom/registry.hpp>

#include "gpu.hpp"
#include "train_columns.hpp"

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

/// Calls `use.operator()<Sampler, Kernel>()` with the policies that the composition names. Throws
/// InvalidArgument if the kernel does not implement the sampler.
template <class Use>
void with_composition(const Composition& composition, Use use) {
  if (composition.kernel == "cuda-uniform") {
    if (!ColumnSamplers::contains(composition.sampler))
      throw InvalidArgument("--kernel cuda-uniform is for --sampler " + ColumnSamplers::names());
    Optimizers::with(composition.optimizer, [&]<class Optimizer>() {
      use.template operator()<UniformMatrix, CudaUniformKernel<Optimizer>>();
    });
    return;
  }
  CudaKernels::with(composition.kernel, [&]<class Kernel>() {
    Samplers::with(composition.sampler, [&]<class Sampler>() {
      if constexpr (Kernel::template trains<Sampler>) {
        use.template operator()<Sampler, Kernel>();
      } else {
        const std::string others = kernels_for<Sampler>();
        throw InvalidArgument(
            "--kernel " + std::string(composition.kernel) + " does not train --sampler " +
            std::string(composition.sampler) +
            (others.empty() ? ", no kernel for a GPU does" : ", choose " + others));
      }
    });
  });
}

/// Processes with one GPU each, connected as --sync says.
class GpuRanks {
 public:
  GpuRanks(const Composition& composition, const Cluster& cluster)
      : ranks_(connect(composition, cluster)) {}

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

  static Ranks connect(const Composition& composition, const Cluster& cluster) {
#if WORDLOOM_HAS_NCCL
    if (composition.sync == "nccl")
      return NcclRanks<Cluster::Ranks>(*cluster.ranks(), composition.parameters.device);
#endif
    return StagedRanks<Cluster::SyncRanks>(
        Cluster::SyncRanks(*cluster.ranks(), composition.sync_bf16));
  }

  Ranks ranks_;
};

using GpuAllreduce = Allreduce<GpuRanks, AnyRule, cuda::DeviceRows<cuda::CudaMachine>>;

}  // namespace

void check_gpu(const Composition& composition) {
  with_composition(composition, [&]<class Sampler, class Kernel>() {
    composition.parameters.validate();
    Kernel::from(composition.parameters)
        .check(make_sampler<Sampler>(composition), composition.parameters);
  });
}

std::size_t gpu_of(const Composition& composition, const Cluster& cluster) {
  const std::size_t first = composition.parameters.device;
#if WORDLOOM_HAS_MPI
  // NCCL refuses several ranks on one GPU.
  if (cluster.is_joined()) return cuda::device_of_rank(first, cluster.ranks()->rank_on_machine());
#endif
  return first;
}

TrainReport train_on_gpu(const Job& job) {
  const Composition& how = job.composition;
  TrainReport report;
  with_composition(how, [&]<class Sampler, class Kernel>() {
    // Ranks that train columns take one step together, at the learning rate of one rank.
    constexpr bool columns = ColumnSampler<Sampler>;
    using Ranks =
        std::conditional_t<columns, RowAllgather<GpuRanks, typename Kernel::Replica>, GpuAllreduce>;
    using Sync = OptionalSync<Ranks>;
    std::optional<Ranks> sync;
    if constexpr (columns) {
      if (job.cluster.is_joined()) sync.emplace(GpuRanks(how, job.cluster));
    } else {
      if (job.cluster.is_joined())
        sync.emplace(GpuRanks(how, job.cluster), how.sync_options, how.sync_rule);
    }
    const AnySchedule schedule(how.schedule, how.parameters, columns ? 1 : job.cluster.size());
    Trainer<Sampler, Kernel, Sync, AnySchedule> trainer(
        columns ? without_contexts(how.parameters) : how.parameters, make_sampler<Sampler>(how),
        Kernel::from(how.parameters), Sync(std::move(sync)), schedule);
    if constexpr (columns)
      report = train_with(trainer, contexts_of(job), job);
    else
      report = train_with(trainer, job.corpus, job);
  });
  return report;
}
