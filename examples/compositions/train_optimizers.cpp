#include "any_optimizer.hpp"
#include "train_on_host.hpp"

using namespace wordloom;

TrainReport train_with_optimizer(const Job& job) {
  using Kernel = WithOptimizer<DotKernel, AnyOptimizer>;
  TrainReport report;
  Samplers::with(job.composition.sampler, [&]<class Sampler>() {
    if constexpr (takes_optimizer<Sampler>)
      report = train_sampler<Sampler>(
          job, Kernel{.kernel = {}, .optimizer = AnyOptimizer(job.composition.optimizer)});
    else
      throw InvalidArgument{"--optimizer does not go with --sampler ", job.composition.sampler};
  });
  return report;
}
