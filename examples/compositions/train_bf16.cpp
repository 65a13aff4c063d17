#include "train_on_host.hpp"

using namespace wordloom;

template <>
TrainReport train_on_host<Bf16Kernel>(const Job& job) {
  TrainReport report;
  RowSamplers::with(job.composition.sampler, [&]<class Sampler>() {
    Trainer<Sampler, Bf16Kernel, NoSync, AnySchedule> trainer(
        job.composition.parameters, make_sampler<Sampler>(job.composition), Bf16Kernel(), NoSync(),
        AnySchedule(job.composition.schedule, job.composition.parameters, 1));
    report = train_with(trainer, job.corpus, job);
  });
  return report;
}
