// expect: this UpdateKernel lacks 'auto worker.const Model&, Block::Shape. const'
// expect: LonelyKernel

#include "support.hpp"

using namespace wordloom;

struct LonelyKernel {
#ifndef WORDLOOM_EXPECT_FAILURE
  PlainKernel::Worker worker(const Model&, Block::Shape) const { return {}; }
#endif
};

template void compose<Trainer<SharedNegative, LonelyKernel>>();
