// expect: the run of this Optimizer lacks .void step
// expect: StandingStill

#include <wordloom/kernel/with_optimizer.hpp>
#include <wordloom/optimizer/adam.hpp>

#include "support.hpp"

using namespace wordloom;

/// Has no step.
struct StandingStill {
  struct Run {};
  Run start(Model&) const { return {}; }
};

#ifdef WORDLOOM_EXPECT_FAILURE
template void compose<Trainer<SharedNegative, WithOptimizer<DotKernel, StandingStill>>>();
#else
template void compose<Trainer<SharedNegative, WithOptimizer<DotKernel, Adam>>>();
#endif
