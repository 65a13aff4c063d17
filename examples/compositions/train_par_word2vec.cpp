#include "train_on_host.hpp"

using namespace wordloom;

TrainReport train_par_word2vec(const Job& job) {
#if WORDLOOM_HAS_BLAS
  return train_on_host<PairsApart<GemmKernel>, Registry<Named<"minibatch", DecoupledMinibatch>>>(
      job);
#else
  throw InvalidArgument("--system par-word2vec needs a build with CBLAS (WORDLOOM_ENABLE_BLAS)");
#endif
}
