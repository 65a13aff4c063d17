// expect: this Sampler lacks 'auto start
// expect: DotKernel

#include "support.hpp"

using namespace wordloom;

#ifdef WORDLOOM_EXPECT_FAILURE
template void compose<Trainer<DotKernel, Hogwild>>();
#else
template void compose<Trainer<Hogwild, DotKernel>>();
#endif
