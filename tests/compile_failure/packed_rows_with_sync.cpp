// expect: this UpdateKernel packs the rows of the model while it trains, and goes with NoSync alone
// expect: Bf16Kernel

#include <wordloom/kernel/bf16_kernel.hpp>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/thread_ranks.hpp>

#include "support.hpp"

using namespace wordloom;

#ifdef WORDLOOM_EXPECT_FAILURE
template void compose<Trainer<SharedNegative, Bf16Kernel, Allreduce<ThreadRanks>>>();
#else
template void compose<Trainer<SharedNegative, Bf16Kernel>>();
#endif
