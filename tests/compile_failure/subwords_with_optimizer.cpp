// expect: this UpdateKernel keeps data by row, as an optimizer does

#include <wordloom/kernel/with_optimizer.hpp>
#include <wordloom/optimizer/ada_grad.hpp>
#include <wordloom/sampler/subwords.hpp>

#include "support.hpp"

using namespace wordloom;

using AdaGradKernel = WithOptimizer<DotKernel, AdaGrad>;

#ifdef WORDLOOM_EXPECT_FAILURE
using AnyTrainer = Trainer<Subwords<SharedNegative>, AdaGradKernel>;
#else
using AnyTrainer = Trainer<SharedNegative, AdaGradKernel>;
template void train<Trainer<Subwords<SharedNegative>, DotKernel>>(
    Trainer<Subwords<SharedNegative>, DotKernel>&, const EncodedCorpus&, const Vocabulary&);
#endif
template void train<AnyTrainer>(AnyTrainer&, const EncodedCorpus&, const Vocabulary&);
