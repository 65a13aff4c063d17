// expect: this Sampler weights pairs .Block::weights., which this UpdateKernel does not honour
// expect: GroupedWindow
// expect: PlainKernel

#include <wordloom/sampler/grouped_window.hpp>

#include "support.hpp"

using namespace wordloom;

#ifdef WORDLOOM_EXPECT_FAILURE
template void compose<Trainer<GroupedWindow, PlainKernel>>();
#else
template void compose<Trainer<GroupedWindow, DotKernel>>();
#endif
