#include "train_on_host.hpp"

using namespace wordloom;

#if WORDLOOM_HAS_BLAS
template TrainReport train_on_host<GemmKernel>(const Job&);
#endif

TrainReport train_published([[maybe_unused]] const Job& job) {
#if WORDLOOM_HAS_BLAS
  if (job.composition.sampler == "indexed")
    return train_on_host<GemmKernel, Registry<Named<"indexed", IndexedContext>>>(job);
  return train_on_host<PairsApart<GemmKernel>, Registry<Named<"decoupled", DecoupledMinibatch>>>(
      job);
#else
  throw InvalidArgument("this --system needs a build with CBLAS (WORDLOOM_ENABLE_BLAS)");
#endif
}
