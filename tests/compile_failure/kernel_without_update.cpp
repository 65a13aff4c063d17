// expect: the worker of this UpdateKernel lacks 'template <bool with_loss> LossSum update
// expect: IdleKernel

#include "support.hpp"

using namespace wordloom;

struct IdleKernel {
  struct Worker {
#ifndef WORDLOOM_EXPECT_FAILURE
    template <bool with_loss>
    LossSum update(Model&, const Block&, float) {
      return {};
    }
#endif
  };
  Worker worker(const Model&, Block::Shape) const { return {}; }
};

template void compose<Trainer<SharedNegative, IdleKernel>>();
