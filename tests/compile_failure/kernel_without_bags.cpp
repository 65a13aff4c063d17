// expect: this Sampler makes bags .Block::bag_ends., which this UpdateKernel does not honour
// expect: BasicCbow
// expect: PlainKernel

#include <wordloom/sampler/cbow.hpp>

#include "support.hpp"

using namespace wordloom;

#ifdef WORDLOOM_EXPECT_FAILURE
template void compose<Trainer<Cbow, PlainKernel>>();
#else
template void compose<Trainer<SharedNegative, PlainKernel>>();
template void compose<Trainer<Cbow, DotKernel>>();
#endif
