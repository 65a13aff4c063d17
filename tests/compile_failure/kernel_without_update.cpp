// expect: this UpdateKernel lacks 'template <bool with_loss> LossSum update
// expect: IdleKernel

#include "support.hpp"

using namespace wordloom;

struct IdleKernel {
  using Consumes = Block;
  IdleKernel(const Hyperparameters&, BlockShape) {}
#ifndef WORDLOOM_EXPECT_FAILURE
  template <bool with_loss>
  LossSum update(Model&, const Block&, float) {
    return {};
  }
#endif
};

template void compose<Trainer<SharedNegative, IdleKernel>>();
