#include "train_on_host.hpp"

using namespace wordloom;

#if WORDLOOM_HAS_BLAS
template TrainReport train_on_host<GemmKernel>(const Job&);
#endif

TrainReport train_par_word2vec([[maybe_unused]] const Job& job) {
#if WORDLOOM_HAS_BLAS
  return train_on_host<PairsApart<GemmKernel>, Registry<Named<"minibatch", DecoupledMinibatch>>>(
      job);
#else
  throw InvalidArgument("--system par-word2vec needs a build with CBLAS (WORDLOOM_ENABLE_BLAS)");
#endif
}
