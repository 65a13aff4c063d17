// expect: the worker of this UpdateKernel lacks .template <bool with_loss> LossSum gradients
// expect: PlainKernel

#include <wordloom/kernel/with_optimizer.hpp>
#include <wordloom/optimizer/sgd.hpp>

#include "support.hpp"

using namespace wordloom;

#ifdef WORDLOOM_EXPECT_FAILURE
template void compose<Trainer<SharedNegative, WithOptimizer<PlainKernel, Sgd>>>();
#else
template void compose<Trainer<SharedNegative, WithOptimizer<DotKernel, Sgd>>>();
#endif
