// expect: this LearningRateSchedule lacks 'double rate.double progress. const'
// expect: NoRate

#include "support.hpp"

using namespace wordloom;

struct NoRate {
#ifndef WORDLOOM_EXPECT_FAILURE
  double rate(double) const { return 0.01; }
#endif
};

template void compose<Trainer<Hogwild, DotKernel, NoSync, NoRate>>();
