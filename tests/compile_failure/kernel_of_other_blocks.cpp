// expect: does not consume the block type that this Sampler produces
// expect: SentenceKernel

#include "support.hpp"

using namespace wordloom;

struct Sentences {};

struct SentenceKernel {
#ifdef WORDLOOM_EXPECT_FAILURE
  using Consumes = Sentences;
#else
  using Consumes = Block;
#endif
  SentenceKernel(const Hyperparameters&, BlockShape) {}
  template <bool with_loss>
  LossSum update(Model&, const Consumes&, float) {
    return {};
  }
};

template void compose<Trainer<SharedNegative, SentenceKernel>>();
