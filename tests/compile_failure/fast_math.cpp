// What compilers define for -ffast-math and -Ofast.
#ifdef WORDLOOM_EXPECT_FAILURE
// expect: compile without -ffast-math
#define __FAST_MATH__ 1
#endif
#include <wordloom/model/model.hpp>
