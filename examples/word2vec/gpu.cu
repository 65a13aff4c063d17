#include <wordloom/cuda.hpp>
#if WORDLOOM_HAS_NCCL
#include <wordloom/nccl.hpp>
#endif

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "gpu.hpp"

namespace {

using namespace wordloom;

/// Calls `use.operator()<Sampler, Kernel>()` with those of the two names.
template <class Use>
auto with_composition(const Composition& composition, Use use) {
  const auto with_sampler_of = [&]<class Kernel>() {
    if constexpr (Kernel::template trains<Hogwild>) {
      if (composition.sampler == "hogwild") return use.template operator()<Hogwild, Kernel>();
      if (composition.sampler == "hogwild-fixed")
        return use.template operator()<HogwildFixedWindow, Kernel>();
    } else if constexpr (Kernel::template trains<SentenceMinibatch>) {
      if (composition.sampler == "minibatch")
        return use.template operator()<SentenceMinibatch, Kernel>();
      if (composition.sampler == "minibatch-fixed")
        return use.template operator()<SentenceMinibatchFixedWindow, Kernel>();
    } else {
      if (composition.sampler == "shared") return use.template operator()<SharedNegative, Kernel>();
      if (composition.sampler == "shared-fixed")
        return use.template operator()<SharedNegativeFixedWindow, Kernel>();
    }
    throw InvalidArgument("--kernel " + std::string(composition.kernel) +
                          " cannot stand for --sampler " + std::string(composition.sampler));
  };
  if (composition.kernel == "cuda-sentence")
    return with_sampler_of.template operator()<CudaSentenceKernel>();
  if (composition.kernel == "cuda-register")
    return with_sampler_of.template operator()<CudaRegisterKernel>();
  if (composition.kernel == "cuda-ring")
    return with_sampler_of.template operator()<CudaRingBufferKernel>();
  if (composition.kernel == "cuda-gemm")
    return with_sampler_of.template operator()<CudaGemmKernel>();
  if (composition.kernel == "cuda-warp")
    return with_sampler_of.template operator()<CudaWarpKernel>();
  throw InvalidArgument("unknown kernel '" + std::string(composition.kernel) + "'");
}

/// Processes with a GPU each, connected as --sync says.
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

using GpuAllreduce = Allreduce<GpuRanks, CoherentSum, cuda::DeviceRows<cuda::CudaMachine>>;

template <class Corpus>
Trained train(const Composition& composition, const Cluster& cluster, const Corpus& corpus,
              const Vocabulary& vocabulary, const ProgressCallback& callback,
              double callback_seconds) {
  return with_composition(composition, [&]<class Sampler, class Kernel>() {
    std::optional<GpuAllreduce> sync;
    if (cluster.is_joined()) sync.emplace(GpuRanks(composition, cluster), composition.sync_options);
    using Sync = OptionalSync<GpuAllreduce>;
    Trainer<Sampler, Kernel, Sync, RankScaledDecay> trainer(composition.parameters,
                                                            Sync(std::move(sync)));
    return composition.train(trainer, corpus, vocabulary, callback, callback_seconds);
  });
}

}  // namespace

void check_gpu(const Composition& composition) {
  with_composition(composition, [&]<class Sampler, class Kernel>() {
    composition.parameters.validate();
    Kernel::check(composition.parameters);
  });
}

std::size_t gpu_of(const Composition& composition, const Cluster& cluster) {
  const std::size_t first = composition.parameters.device;
#if WORDLOOM_HAS_MPI
  if (cluster.is_joined()) {
    const std::size_t own = first + cluster.ranks()->rank_on_machine();
    int count = 0;
    cuda::check(cudaGetDeviceCount(&count));
    // NCCL wants a GPU for each; by way of the host they may be shared.
    return composition.sync == "nccl" || count == 0 ? own : own % static_cast<std::size_t>(count);
  }
#endif
  return first;
}

Trained train_on_gpu(const Composition& composition, const Cluster& cluster,
                     const RankCorpus<EncodedCorpus>& corpus, const Vocabulary& vocabulary,
                     const ProgressCallback& callback, double callback_seconds) {
  return train(composition, cluster, corpus, vocabulary, callback, callback_seconds);
}

Trained train_on_gpu(const Composition& composition, const Cluster& cluster,
                     const RankCorpus<TextCorpus>& corpus, const Vocabulary& vocabulary,
                     const ProgressCallback& callback, double callback_seconds) {
  return train(composition, cluster, corpus, vocabulary, callback, callback_seconds);
}
