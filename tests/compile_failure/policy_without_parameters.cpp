// expect: this policy holds values and lacks visit_parameters.visit.
// expect: SecretiveSampler

#include "support.hpp"

using namespace wordloom;

struct SecretiveSampler {
  SharedNegative base = {};
  auto start(const Vocabulary& vocabulary) const { return base.start(vocabulary); }
#ifndef WORDLOOM_EXPECT_FAILURE
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    base.visit_parameters(visit);
  }
#endif
};

template void train(Trainer<SecretiveSampler, DotKernel>&, const EncodedCorpus&, const Vocabulary&);
