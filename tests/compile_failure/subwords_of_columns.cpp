// expect: Subwords does not go with samplers that train columns

#include <wordloom/sampler/subwords.hpp>
#include <wordloom/sampler/uniform_matrix.hpp>

#include "support.hpp"

using namespace wordloom;

#ifdef WORDLOOM_EXPECT_FAILURE
template void compose<Trainer<Subwords<UniformMatrix>, DotKernel>>();
#else
template void compose<Trainer<Subwords<SharedNegative>, DotKernel>>();
template void compose<Trainer<UniformMatrix, DotKernel>>();
#endif
