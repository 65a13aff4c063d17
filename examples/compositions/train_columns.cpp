#include "train_columns.hpp"

#include <optional>
#include <utility>
#include <wordloom/registry.hpp>
#include <wordloom/train/trainer.hpp>

#include "any_optimizer.hpp"

using namespace wordloom;

namespace {

template <class Sampler, class Kernel>
TrainReport train_matrix(const WordContextMatrix& matrix, const Job& job,
                         const Kernel& kernel = {}) {
  std::optional<Cluster::ColumnSync> sync;
  if (job.cluster.is_joined()) sync.emplace(*job.cluster.ranks());
  Trainer<Sampler, Kernel, OptionalSync<Cluster::ColumnSync>, AnySchedule> trainer(
      without_contexts(job.composition.parameters), make_sampler<Sampler>(job.composition), kernel,
      OptionalSync<Cluster::ColumnSync>(std::move(sync)),
      AnySchedule(job.composition.schedule, job.composition.parameters));
  return train_with(trainer, matrix, job);
}

}  // namespace

WordContextMatrix contexts_of(const Job& job) {
  const Composition& how = job.composition;
  return WordContextMatrix::from(job.corpus, job.vocabulary,
                                 {.columns = how.context_size,
                                  .window = how.parameters.window,
                                  .subsample = how.parameters.subsample,
                                  .seed = how.parameters.seed,
                                  .threads = how.parameters.threads,
                                  .file = how.contexts});
}

TrainReport train_columns(const Job& job) {
  const Composition& how = job.composition;
  const auto matrix = contexts_of(job);
#if WORDLOOM_HAS_BLAS
  if (how.char_cnn > 0)
    return train_matrix<Encoded<UniformMatrix, CharCnn>, FusedKernel>(matrix, job);
#endif
  TrainReport report;
  ColumnSamplers::with(how.sampler, [&]<class Sampler>() {
    Kernels::with(how.kernel, [&]<class Kernel>() {
      if (how.optimizer == "sgd")
        report = train_matrix<Sampler, Kernel>(matrix, job);
      else if (how.optimizer == "row-adagrad")
        report = train_matrix<Sampler, WithOptimizer<Kernel, RowAdaGrad>>(matrix, job);
      else
        report = train_matrix<Sampler>(
            matrix, job,
            WithOptimizer<Kernel, AnyOptimizer>{.optimizer = AnyOptimizer(how.optimizer)});
    });
  });
  return report;
}
