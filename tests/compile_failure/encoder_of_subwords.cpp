// expect: Encoded does not go with Subwords

#include <wordloom/encoder/encoded.hpp>
#include <wordloom/sampler/subwords.hpp>

#include "support.hpp"

using namespace wordloom;

struct AnyEncoder {
  struct Embeddings {
    explicit Embeddings(Model&&) {}
  };
};

#ifdef WORDLOOM_EXPECT_FAILURE
template void compose<Trainer<Encoded<Subwords<SharedNegative>, AnyEncoder>, DotKernel>>();
#else
template void compose<Trainer<Encoded<SharedNegative, AnyEncoder>, DotKernel>>();
#endif
