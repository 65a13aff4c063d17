#pragma once
#include <optional>
#include <type_traits>
#include <utility>
#include <wordloom/registry.hpp>
#include <wordloom/train/trainer.hpp>

#include "composition.hpp"

/// Returns the SyncPolicy of the processes of a job.
[[gnu::noinline]] inline ClusterSync sync_of(const Job& job) {
  std::optional<Cluster::Sync> sync;
  if (job.cluster.is_joined())
    sync.emplace(Cluster::SyncRanks(*job.cluster.ranks(), job.composition.sync_bf16),
                 job.composition.sync_options, job.composition.sync_rule);
  return ClusterSync(std::move(sync));
}

/// Trains with this sampler and kernel.
template <class Sampler, class Kernel>
wordloom::TrainReport train_sampler(const Job& job, const Kernel& kernel) {
  using namespace wordloom;
  const AnySchedule schedule(job.composition.schedule, job.composition.parameters,
                             job.cluster.size());
  Trainer<Sampler, Kernel, ClusterSync, AnySchedule> trainer(job.composition.parameters,
                                                             make_sampler<Sampler>(job.composition),
                                                             kernel, sync_of(job), schedule);
  return train_with(trainer, job.corpus, job);
}

/// Trains with this kernel and the sampler of a registry that the job names.
template <class Kernel, class Registry>
wordloom::TrainReport train_on_host(const Job& job) {
  wordloom::TrainReport report;
  Registry::with(job.composition.sampler,
                 [&]<class Sampler>() { report = train_sampler<Sampler>(job, Kernel()); });
  return report;
}

/// Trains with this kernel, with or without subwords or a character CNN as the job says. Each
/// kernel is compiled in a file of its own, with all samplers.
template <class Kernel>
wordloom::TrainReport train_on_host(const Job& job) {
#if WORDLOOM_HAS_BLAS
  if constexpr (std::is_same_v<Kernel, wordloom::FusedKernel>)
    if (job.composition.char_cnn > 0) return train_on_host<Kernel, wordloom::EncodedSamplers>(job);
#endif
  return job.composition.subwords.maxn > 0 ? train_on_host<Kernel, wordloom::SubwordSamplers>(job)
                                           : train_on_host<Kernel, wordloom::Samplers>(job);
}

/// Trains without subwords and character CNN.
template <>
wordloom::TrainReport
train_on_host<wordloom::WithOptimizer<wordloom::FusedKernel, wordloom::RowAdaGrad>>(const Job& job);

/// Trains with one of AnyOptimizer and a sampler that supports optimizers. Uses DotKernel, whose
/// gradients take less time than those of FusedKernel.
wordloom::TrainReport train_with_optimizer(const Job& job);

/// Trains with one of PublishedSamplers and its kernel, which need CBLAS.
wordloom::TrainReport train_published(const Job& job);

/// Trains with the samplers that this kernel supports, in one process.
template <>
wordloom::TrainReport train_on_host<wordloom::Bf16Kernel>(const Job& job);

extern template wordloom::TrainReport train_on_host<wordloom::FusedKernel>(const Job&);
extern template wordloom::TrainReport train_on_host<wordloom::DotKernel>(const Job&);
#if WORDLOOM_HAS_BLAS
extern template wordloom::TrainReport train_on_host<wordloom::GemmKernel>(const Job&);
#endif
