// expect: this Sampler lacks 'void sample
// expect: MuteSampler

#include "support.hpp"

using namespace wordloom;

struct MuteSampler {
  using Produces = Block;
  MuteSampler(const Hyperparameters&, const Vocabulary&) {}
  BlockShape max_block() const { return {1, 1}; }
#ifndef WORDLOOM_EXPECT_FAILURE
  template <class Sink>
  void sample(std::span<const WordId>, Random&, Sink&&) {}
#endif
};

template void compose<Trainer<MuteSampler, DotKernel>>();
