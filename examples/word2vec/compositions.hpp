#pragma once
#include <optional>
#include <string_view>
#include <utility>
#include <wordloom/wordloom.hpp>

#include "cluster.hpp"
#include "gpu.hpp"

/// Calls `use.template operator()<Sampler>()` with the sampler of that name.
template <class Use>
auto with_sampler(std::string_view name, Use use) {
  using namespace wordloom;
  if (name == "hogwild") return use.template operator()<Hogwild>();
  if (name == "shared") return use.template operator()<SharedNegative>();
  if (name == "hogwild-fixed") return use.template operator()<HogwildFixedWindow>();
  if (name == "shared-fixed") return use.template operator()<SharedNegativeFixedWindow>();
  if (name == "split") return use.template operator()<SplitSharedNegative>();
  if (name == "minibatch") return use.template operator()<SentenceMinibatch>();
  if (name == "minibatch-fixed") return use.template operator()<SentenceMinibatchFixedWindow>();
  if (name == "combined") return use.template operator()<CombinedContext>();
  if (name == "combined-fixed") return use.template operator()<CombinedContextFixedWindow>();
  if (name == "grouped") return use.template operator()<GroupedWindow>();
  throw InvalidArgument("unknown sampler '" + std::string(name) + "'");
}

template <class Use>
auto with_kernel(std::string_view name, Use use) {
  using namespace wordloom;
  if (name == "fused") return use.template operator()<FusedKernel<>>();
  if (name == "dot") return use.template operator()<DotKernel>();
  if (name == "gemm") {
#if WORDLOOM_HAS_BLAS
    return use.template operator()<GemmKernel>();
#else
    throw InvalidArgument("--kernel gemm needs a build with BLAS (WORDLOOM_ENABLE_BLAS)");
#endif
  }
  throw InvalidArgument("unknown kernel '" + std::string(name) + "'");
}

/// Trains with the composition that the two names mean, together with the other processes.
template <class Corpus>
Trained train(const Composition& composition, const Cluster& cluster, const Corpus& corpus,
              const wordloom::Vocabulary& vocabulary, const wordloom::ProgressCallback& callback,
              double callback_seconds) {
  if (is_for_gpu(composition.kernel))
    return train_on_gpu(composition, cluster, corpus, vocabulary, callback, callback_seconds);
  return with_sampler(composition.sampler, [&]<class Sampler>() {
    return with_kernel(composition.kernel, [&]<class Kernel>() {
      std::optional<Cluster::Sync> sync;
      if (cluster.is_joined())
        sync.emplace(Cluster::SyncRanks(*cluster.ranks(), composition.sync_bf16),
                     composition.sync_options);
      wordloom::Trainer<Sampler, Kernel, ClusterSync, wordloom::RankScaledDecay> trainer(
          composition.parameters, ClusterSync(std::move(sync)));
      return composition.train(trainer, corpus, vocabulary, callback, callback_seconds);
    });
  });
}
